//go:build unix

package command

import "syscall"

// attributes make a new session, and so a process group of the child's own, and switch the user.
func attributes(as *Account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	endWithParent(attr)
	if as != nil && !as.Own {
		attr.Credential = &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups}
	}
	return attr
}

// signalGroup reports whether there was anybody in the group.
func signalGroup(pid int, sig syscall.Signal) bool { return syscall.Kill(-pid, sig) == nil }
