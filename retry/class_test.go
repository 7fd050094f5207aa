package retry

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

type odd struct{}

func (odd) Error() string { return "odd" }
func (odd) Class() Class  { return "strange" }

func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Class
	}{
		{nil, ""},
		{io.EOF, ClassRetryable},
		{Permanent(io.EOF), ClassPermanent},
		{fmt.Errorf("charge: %w", Permanent(io.EOF)), ClassPermanent},
		{errors.Join(io.EOF, Permanent(io.EOF)), ClassPermanent},
		{odd{}, ClassRetryable},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("%v: class %q, want %q", c.err, got, c.want)
		}
	}
	if Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
	if err := Permanent(io.EOF); !errors.Is(err, io.EOF) || err.Error() != "EOF" {
		t.Errorf("Permanent hides its error: %v", err)
	}
	for c, want := range map[Class]bool{
		ClassRetryable: true, ClassPermanent: true, "": false, "x": false,
	} {
		if c.Valid() != want {
			t.Errorf("%q: Valid is %v", c, c.Valid())
		}
	}
}
