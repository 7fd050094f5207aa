//go:build !unix

package command

import (
	"os"
	"syscall"
)

// attributes has nothing to set: there are no sessions and no users to switch to.
func attributes(*Account) *syscall.SysProcAttr { return nil }

// signalGroup knows only how to end the process itself, at once.
func signalGroup(pid int, _ syscall.Signal) bool {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended
	}
	return false
}
