package retry

import (
	"encoding/json"
	"testing"
)

// FuzzPolicy: any JSON that is a policy either is refused by Validate or has sane delays; and no
// policy at all, refused or not, gives a delay out of bounds.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"kind":"exponential","delay_ms":1000,"factor":2,"cap_ms":3600000,"jitter_pct":20}`,
		`{"kind":"fixed","delay_ms":60000,"jitter_ms":500,"budget_ms":1}`,
		`{"kind":"list","delays_ms":[0,1,9223372036854775807]}`,
		`{"factor":1e308,"cap_ms":-9223372036854775808}`,
	} {
		f.Add([]byte(s), 1, 0.5)
		f.Add([]byte(s), int(^uint(0)>>1), 1.0)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int, rnd float64) {
		var p Policy
		if json.Unmarshal(data, &p) != nil {
			return
		}
		d := p.Delay(n, rnd)
		if d < 0 || d > 2*maxDelay {
			t.Fatalf("%+v: Delay(%d, %v) = %v", p, n, rnd, d)
		}
		least, worst := p.Total(n)
		if least < 0 || worst < least {
			t.Fatalf("%+v: Total(%d) = %v, %v", p, n, least, worst)
		}
		if m, ok := p.Fits(n); !ok && (m.Fit < 0 || m.Fit >= n) {
			t.Fatalf("%+v: Fits(%d) = %+v", p, n, m)
		}
		if p.Validate() != nil {
			return
		}
		base := p.Base(n)
		if d < base || p.Kind != List && base <= 0 {
			t.Fatalf("%+v: retry %d: base %v, delay %v", p, n, base, d)
		}
		if p.WithDefaults().Delay(n, rnd) != d {
			t.Fatalf("%+v: the delay changes with the defaults", p)
		}
	})
}
