//go:build unix && !linux

package command

import "syscall"

// endWithParent is for Linux only: elsewhere a command goes on when this process is killed.
func endWithParent(*syscall.SysProcAttr) {}
