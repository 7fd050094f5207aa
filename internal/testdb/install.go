package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// install installs PostgreSQL with apt.
func install() error {
	return installWith("PostgreSQL", aptPostgres, func() bool {
		return findPrograms(os.Getenv("PATH"), serverFolders) != ""
	})
}

// installWith installs a server by a script for apt. Test binaries run side by side, so all but the
// first wait for it and then find the work done.
func installWith(what, script string, there func() bool) (err error) {
	if os.Geteuid() != 0 {
		return fmt.Errorf("install %s (only root can do it from here)", what)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install %s (there is no apt-get to do it from here)", what)
	}
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "ax-testdb-install.lock"),
		os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // gives the lock back
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for another install: %w", err)
	}
	if there() {
		return nil
	}
	return aptInstall(script)
}

// aptPostgres keeps Debian from starting a server of its own: the tests want the programs,
// and a machine that runs tests did not ask for a database on the well-known port.
const aptPostgres = `
apt-get update
apt-get install -y --no-install-recommends postgresql-common
sed -i 's/^#*\s*create_main_cluster.*/create_main_cluster = false/' \
	/etc/postgresql-common/createcluster.conf
apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 postgresql
`

func aptInstall(script string) error {
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		const most = 2000
		return fmt.Errorf("apt-get: %w: %s", err, out[max(0, len(out)-most):])
	}
	return nil
}
