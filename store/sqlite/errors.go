package sqlite

import (
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
)

// sentinels translates what SQLite says into the errors of the contract.
var sentinels = map[int]error{
	lite.Full:     store.ErrFull,
	lite.ReadOnly: store.ErrReadOnly,
	lite.Busy:     store.ErrBusy,
	lite.Corrupt:  store.ErrDamaged,
	lite.NotADB:   store.ErrDamaged,
}

// named adds the sentinel that an error of SQLite stands for.
func named(err error) error {
	var e *lite.Error
	if !errors.As(err, &e) {
		return err
	}
	if s := sentinels[e.Primary()]; s != nil {
		return fmt.Errorf("%w (%w)", s, err)
	}
	return err
}

// failed reports whether err is SQLite's and has this primary code.
func failed(err error, code int) bool {
	var e *lite.Error
	return errors.As(err, &e) && e.Primary() == code
}
