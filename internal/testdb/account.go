package testdb

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server runs as. PostgreSQL refuses to run as root, so root
// hands its server to somebody with fewer rights; everybody else runs it as themselves.
type account struct {
	credential *syscall.Credential // nil: the user of this process
}

// serverAccount picks the account: the user postgres, which every package of the server
// makes, else nobody.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return &account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, fmt.Errorf("root cannot run PostgreSQL and there is no user postgres or nobody")
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// run makes cmd run as the account, in a process group of its own: an interrupt from the
// keyboard reaches the test binary alone, whose end the watchdog sees.
func (a *account) run(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: a.credential}
}
