package command

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// Account is a user a command can run as.
type Account struct {
	Name   string
	Home   string
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary
	// Own is set for the user of this process: then nothing is switched.
	Own bool
}

// ErrNotRoot is the reason why a process cannot run commands as somebody else.
var ErrNotRoot = errors.New("only root can run commands as another user")

// Lookup finds a user by name and checks that this process can run commands as it.
func Lookup(name string) (*Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("user %q is unknown here", name)
	}
	a, err := account(u)
	if err != nil {
		return nil, err
	}
	if !a.Own && os.Geteuid() != 0 {
		return nil, fmt.Errorf("user %q: %w", name, ErrNotRoot)
	}
	return a, nil
}

// Own returns the user of this process. One without an entry in the user database, as containers
// have them, is named by its number and lives where HOME says.
func Own() *Account {
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		if a, err := account(u); err == nil {
			return a
		}
	}
	home := os.Getenv("HOME")
	if home == "" {
		home = "/"
	}
	return &Account{Name: strconv.Itoa(os.Geteuid()), Home: home, Own: true}
}

func account(u *user.User) (*Account, error) {
	a := &Account{Name: u.Username, Home: u.HomeDir}
	var err error
	if a.UID, err = number(u.Uid); err != nil {
		return nil, fmt.Errorf("user %q: %w", u.Username, err)
	}
	if a.GID, err = number(u.Gid); err != nil {
		return nil, fmt.Errorf("user %q: %w", u.Username, err)
	}
	a.Own = int64(a.UID) == int64(os.Geteuid())
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of user %q: %w", u.Username, err)
	}
	for _, id := range ids {
		g, err := number(id)
		if err != nil {
			return nil, fmt.Errorf("groups of user %q: %w", u.Username, err)
		}
		a.Groups = append(a.Groups, g)
	}
	return a, nil
}

func number(id string) (uint32, error) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("id %q is not a number", id)
	}
	return uint32(n), nil
}
