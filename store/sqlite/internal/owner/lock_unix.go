//go:build unix

package owner

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f without waiting. The lock belongs to the open file, not to the process, so two
// stores of one process exclude each other too.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
