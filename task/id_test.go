package task_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/ax-sched/ax/task"
)

func drawRandom(rt *rapid.T, label string) (rnd [10]byte) {
	copy(rnd[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, label))
	return rnd
}

// An id is a UUIDv7 of its millisecond, whatever the random bits; later ones come later.
func TestNewID(t *testing.T) {
	const latest = 1<<48 - 1
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.Int64Range(0, latest-1).Draw(rt, "ms")
		b := rapid.Int64Range(a+1, latest).Draw(rt, "later ms")
		idA, idB := task.NewID(a, drawRandom(rt, "rnd")), task.NewID(b, drawRandom(rt, "rnd2"))
		u := uuid.UUID(idA)
		if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
			rt.Errorf("%s has version %d and variant %s", u, u.Version(), u.Variant())
		}
		if sec, nsec := u.Time().UnixTime(); sec*1000+nsec/1e6 != a {
			rt.Errorf("%s is of %d.%09d; want %d ms", u, sec, nsec, a)
		}
		if bytes.Compare(idA[:], idB[:]) >= 0 || idA.String() >= idB.String() {
			rt.Errorf("%s of %d does not come before %s of %d", idA, a, idB, b)
		}
		back, err := task.ParseID(idA.String())
		if err != nil || back != idA {
			rt.Errorf("%s came back as %s, %v", idA, back, err)
		}
	})
}

// The random bits are all kept: 74 of 80, the others are version and variant.
func TestNewIDKeepsTheRandomBits(t *testing.T) {
	seen := map[task.ID]bool{}
	for bit := range 80 {
		var rnd [10]byte
		rnd[bit/8] = 1 << (bit % 8)
		seen[task.NewID(0, rnd)] = true
	}
	if len(seen) != 75 { // 74 and the one without a bit
		t.Errorf("%d different ids of 80 single bits; want 75", len(seen))
	}
}

func TestZeroID(t *testing.T) {
	var zero task.ID
	if !zero.IsZero() || zero.String() != "" || task.NewID(0, [10]byte{}).IsZero() {
		t.Errorf("the zero id prints as %q", zero)
	}
	one := task.ID{15: 1}
	if one.IsZero() {
		t.Error("an id with one bit is zero")
	}
}

func TestParseIDRefuses(t *testing.T) {
	good := task.NewID(1_700_000_000_000, [10]byte{1}).String()
	for _, s := range []string{"", " ", good[:35], good + "0", " " + good, "{" + good + "}",
		"urn:uuid:" + good, strings.ReplaceAll(good, "-", ""), strings.Replace(good, "0", "g", 1),
		strings.Repeat("-", 36), strings.Repeat("\x00", 36)} {
		if id, err := task.ParseID(s); err == nil {
			t.Errorf("%q was read as %s", s, id)
		}
	}
	if id, err := task.ParseID(strings.ToUpper(good)); err != nil || id.String() != good {
		t.Errorf("upper case was read as %s, %v", id, err)
	}
}

func TestIDInJSON(t *testing.T) {
	type box struct{ ID, None task.ID }
	in := box{ID: task.NewID(1, [10]byte{9: 1})}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"ID":"00000000-0001-7000-8000-000000000001","None":""}`; string(b) != want {
		t.Errorf("json %s; want %s", b, want)
	}
	out := box{None: in.ID}
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("came back as %+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"ID":"x"}`), &out); err == nil || out.ID != in.ID {
		t.Errorf("a bad id gave %v and changed the value to %s", err, out.ID)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("0197f3a2-7c1e-7b6a-9f00-1b2c3d4e5f60")
	f.Add("0197F3A2-7C1E-7B6A-9F00-1B2C3D4E5F60")
	f.Add("0197f3a27c1e7b6a9f001b2c3d4e5f60")
	f.Add("{0197f3a2-7c1e-7b6a-9f00-1b2c3d4e5f}")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := task.ParseID(s)
		if err != nil {
			if !id.IsZero() {
				t.Errorf("%q was refused and gave %s", s, id)
			}
			return
		}
		if got := id.String(); !id.IsZero() && got != strings.ToLower(s) {
			t.Errorf("%q was read as %s", s, got)
		}
	})
}
