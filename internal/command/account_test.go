package command

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"
)

func TestUnknownUser(t *testing.T) {
	for _, name := range []string{"no-such-user-here", "", "root:wheel", "../x"} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), "is unknown here") {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

func TestOwn(t *testing.T) {
	a := Own()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != u.Username || a.Home != u.HomeDir || !a.Own {
		t.Errorf("%+v, want that of %+v", a, u)
	}
	b, err := Lookup(a.Name)
	if err != nil || !b.Own {
		t.Errorf("%+v, error %v: everybody can be themselves", b, err)
	}
}

// TestOtherUser runs as somebody else, with the groups of that user, where this process may, and
// is refused where it may not.
func TestOtherUser(t *testing.T) {
	const name = "daemon"
	if os.Geteuid() != 0 {
		if _, err := Lookup(name); !errors.Is(err, ErrNotRoot) {
			t.Errorf("error %v, want %v", err, ErrNotRoot)
		}
		return
	}
	a, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	a.Groups = append(a.Groups, 54321) // more than the user's own, to see them passed on
	s := sh(t, "id -u; id -g; id -G")
	s.As, s.Dir = a, "/"
	out, err := run(t, s)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 3 {
		t.Fatalf("output %q, error %v", out, err)
	}
	if lines[0] != fmt.Sprint(a.UID) || lines[1] != fmt.Sprint(a.GID) {
		t.Errorf("user %s, group %s; want %d, %d", lines[0], lines[1], a.UID, a.GID)
	}
	groups := strings.Fields(lines[2])
	for _, g := range a.Groups {
		if !slices.Contains(groups, fmt.Sprint(g)) {
			t.Errorf("groups %v lack %d", groups, g)
		}
	}
	if slices.Contains(groups, "0") {
		t.Errorf("groups %v: that of root was kept", groups)
	}
}
