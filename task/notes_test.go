package task

import "testing"

func TestProgressString(t *testing.T) {
	for _, tt := range []struct {
		p    Progress
		want string
	}{
		{Progress{}, ""}, {Progress{Done: 3}, "3"}, {Progress{Total: 4}, "0 of 4 (0 %)"},
		{Progress{Done: 3, Total: 4}, "3 of 4 (75 %)"}, {Progress{Done: 5, Total: 4}, "5 of 4 (125 %)"},
	} {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("%d of %d is %q; want %q", tt.p.Done, tt.p.Total, got, tt.want)
		}
	}
}

// TestPrintable: a terminal obeys nothing of what is printed.
func TestPrintable(t *testing.T) {
	const in = "a\x1b[31m\r\x00\u0085\x7f\té\n"
	if got, want := Printable(in), "a\u241b[31m\u240d\u2400\ufffd\ufffd\té\n"; got != want {
		t.Errorf("%q is printed as %q; want %q", in, got, want)
	}
}
