package retry

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestValidateNamesTheField(t *testing.T) {
	for _, c := range []struct {
		p    Policy
		want []string // fields, in the order of the message
	}{
		{Policy{}, nil},
		{Default(), nil},
		{Policy{Kind: Fixed}, nil},
		{Policy{Kind: List, DelaysMS: []int64{0}}, nil},
		{Policy{DelayMS: MaxDelayMS, BudgetMS: MaxDelayMS}, nil},
		{Policy{Kind: "linear"}, []string{"kind"}},
		{Policy{DelayMS: -1}, []string{"delay_ms"}},
		{Policy{DelayMS: MaxDelayMS + 1}, []string{"delay_ms"}},
		{Policy{Factor: 0.5}, []string{"factor"}},
		{Policy{Factor: math.NaN()}, []string{"factor"}},
		{Policy{Factor: math.Inf(1)}, []string{"factor"}},
		{Policy{CapMS: math.MinInt64}, []string{"cap_ms"}},
		{Policy{DelayMS: 10, CapMS: 9}, []string{"cap_ms"}},
		{Policy{JitterPct: 101}, []string{"jitter_pct"}},
		{Policy{JitterPct: math.NaN()}, []string{"jitter_pct"}},
		{Policy{JitterMS: -1}, []string{"jitter_ms"}},
		{Policy{BudgetMS: -1}, []string{"budget_ms"}},
		{Policy{Kind: Fixed, Factor: 2, CapMS: 1}, []string{"factor", "cap_ms"}},
		{Policy{Kind: List}, []string{"delays_ms"}},
		{Policy{Kind: List, DelaysMS: make([]int64, 101)}, []string{"delays_ms"}},
		{Policy{Kind: List, DelaysMS: []int64{1, -1}}, []string{"delays_ms[1]"}},
		{Policy{Kind: List, DelaysMS: []int64{1}, DelayMS: 5}, []string{"delay_ms"}},
		{Policy{DelaysMS: []int64{1}}, []string{"delays_ms"}},
		{Policy{DelayMS: -1, Factor: -1, JitterPct: -1}, []string{"delay_ms", "factor", "jitter_pct"}},
	} {
		err := c.p.Validate()
		var got []string
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				field, _, _ := strings.Cut(line, ":")
				got = append(got, field)
			}
			var fe *FieldError
			if !errors.As(err, &fe) || fe.Field != c.want[0] {
				t.Errorf("%+v: not a FieldError: %v", c.p, err)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: error %v, want fields %v", c.p, err, c.want)
		}
	}
}

func TestFieldErrorSaysTheFix(t *testing.T) {
	err := Policy{Kind: "linear"}.Validate()
	want := `kind: "linear" is unknown; use exponential, fixed or list`
	if err == nil || err.Error() != want {
		t.Fatalf("error %v, want %s", err, want)
	}
}
