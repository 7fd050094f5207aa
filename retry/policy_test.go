package retry

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func seconds(p Policy, n int) []float64 {
	var list []float64
	for i := 1; i <= n; i++ {
		list = append(list, p.Base(i).Seconds())
	}
	return list
}

func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Policy
		want []float64
	}{
		{"zero", Policy{}, []float64{5, 25, 125, 625, 3125, 3600, 3600}},
		{"default", Default(), []float64{5, 25, 125, 625, 3125, 3600, 3600}},
		{"doubling", Doubling(time.Second, time.Hour, 500*time.Millisecond),
			[]float64{1, 2, 4, 8, 16}},
		{"fixed", Policy{Kind: Fixed, DelayMS: 1500}, []float64{1.5, 1.5, 1.5}},
		{"fixed, unset", Policy{Kind: Fixed}, []float64{5, 5}},
		{"list", Policy{Kind: List, DelaysMS: []int64{0, 2000, 500}}, []float64{0, 2, .5, .5}},
		{"constant", Policy{DelayMS: 2000, Factor: 1}, []float64{2, 2, 2}},
		{"fraction", Policy{DelayMS: 1000, Factor: 1.5}, []float64{1, 1.5, 2.25, 3.375}},
		{"long first delay", Policy{DelayMS: 7_200_000}, []float64{7200, 7200}},
		{"short cap", Policy{CapMS: 1000}, []float64{1, 1}},
		{"custom", Policy{Func: func(n int, _ float64) time.Duration {
			return time.Duration(n*n) * time.Second
		}}, []float64{1, 4, 9}},
		{"custom, negative", Policy{Func: func(int, float64) time.Duration { return -1 }},
			[]float64{0}},
	} {
		if got := seconds(c.p, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJitterIsAdded(t *testing.T) {
	for _, c := range []struct {
		p    Policy
		rnd  float64
		want time.Duration
	}{
		{Policy{}, 0.5, 5500 * time.Millisecond},
		{Policy{BudgetMS: 9}, 1, 6 * time.Second},
		{Policy{DelayMS: 5000}, 1, 5 * time.Second},
		{Policy{Kind: Fixed, DelayMS: 60_000, JitterPct: 20}, 1, 72 * time.Second},
		{Policy{Kind: List, DelaysMS: []int64{1000}, JitterMS: 300}, 0.5, 1150 * time.Millisecond},
		{Policy{Kind: Fixed, DelayMS: 1000, JitterPct: 10, JitterMS: 100}, 1, 1200 * time.Millisecond},
		{Doubling(time.Second, time.Hour, 500*time.Millisecond), 1, 1500 * time.Millisecond},
		{Policy{}, math.NaN(), 5 * time.Second},
		{Policy{}, -3, 5 * time.Second},
		{Policy{}, 7, 6 * time.Second},
	} {
		if got := c.p.Delay(1, c.rnd); got != c.want {
			t.Errorf("%+v with %v: %v, want %v", c.p, c.rnd, got, c.want)
		}
	}
}

// R01: no attempt number turns the delay negative or makes it shrink.
func TestR01NoOverflow(t *testing.T) {
	p := Policy{DelayMS: 1000, Factor: 2, CapMS: 3_600_000, JitterPct: 20}
	numbers := []int{math.MaxInt32, math.MaxInt}
	for n := range 10_000 {
		numbers = append(numbers, n+1)
	}
	slices.Sort(numbers)
	for _, rnd := range []float64{0, 0.5, 1} {
		last := time.Duration(0)
		for _, n := range numbers {
			d := p.Delay(n, rnd)
			if d <= 0 || d < last || d > 72*time.Minute {
				t.Fatalf("retry %d, rnd %v: %v after %v", n, rnd, d, last)
			}
			last = d
		}
	}
}

// R02: tasks that fail together come back spread out, and none before its base delay.
func TestR02Spread(t *testing.T) {
	p := Policy{Kind: Fixed, DelayMS: 60_000, JitterPct: 20}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var at []time.Duration
		bucket := map[int64]int{}
		for range 1000 {
			failed := time.Duration(r.Int64N(int64(100 * time.Millisecond)))
			d := p.Delay(1, r.Float64())
			if d < time.Minute {
				t.Fatalf("seed %d: a retry after %v", seed, d)
			}
			at = append(at, failed+d)
			bucket[int64((failed+d)/time.Second)]++
		}
		if spread := slices.Max(at) - slices.Min(at); spread < 10*time.Second {
			t.Errorf("seed %d: all retries within %v", seed, spread)
		}
		for s, n := range bucket {
			if n > 150 {
				t.Errorf("seed %d: %d of 1000 retries in second %d", seed, n, s)
			}
		}
	}
}

// R07: exponential delays stop at the cap, and there is a cap without asking for one.
func TestR07Cap(t *testing.T) {
	want := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
	for len(want) < 30 {
		want = append(want, 900)
	}
	if got := seconds(Policy{DelayMS: 1000, Factor: 2, CapMS: 900_000}, 30); !slices.Equal(got, want) {
		t.Errorf("delays %v\nwant %v", got, want)
	}
	if got := (Policy{DelayMS: 1000, Factor: 10}).Base(30); got != time.Hour {
		t.Errorf("without a cap retry 30 waits %v", got)
	}
}

// drawPolicy makes any policy, valid or not.
func drawPolicy(rt *rapid.T, valid bool) Policy {
	number := rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64())
	factor := rapid.OneOf(rapid.Float64Range(0, 10), rapid.Float64())
	if valid {
		number = rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, MaxDelayMS))
		factor = rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1000))
	}
	p := Policy{
		Kind:      rapid.SampledFrom([]Kind{"", Exponential, Fixed, List}).Draw(rt, "kind"),
		JitterMS:  number.Draw(rt, "jitter_ms"),
		JitterPct: rapid.Float64Range(0, 100).Draw(rt, "jitter_pct"),
		BudgetMS:  number.Draw(rt, "budget_ms"),
	}
	if p.Kind == List || !valid {
		p.DelaysMS = rapid.SliceOfN(number, 1, 5).Draw(rt, "delays_ms")
	}
	if p.Kind != List || !valid {
		p.DelayMS = number.Draw(rt, "delay_ms")
	}
	if p.Kind == "" || p.Kind == Exponential || !valid {
		p.Factor = factor.Draw(rt, "factor")
		p.CapMS = number.Draw(rt, "cap_ms")
		if valid && p.CapMS > 0 {
			p.DelayMS = min(p.DelayMS, p.CapMS)
		}
	}
	return p
}

// TestDelayProperties: whatever the policy, a delay is within its bounds; with a valid one it is
// never below its base, grows with the random number and, if exponential, with n.
func TestDelayProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPolicy(rt, false)
		n, rnd := rapid.Int().Draw(rt, "n"), rapid.Float64().Draw(rt, "rnd")
		if d := p.Delay(n, rnd); d < 0 || d > 2*maxDelay {
			rt.Fatalf("%+v: Delay(%d, %v) = %v", p, n, rnd, d)
		}
		p = drawPolicy(rt, true)
		if err := p.Validate(); err != nil {
			rt.Fatalf("%+v: %v", p, err)
		}
		n = rapid.IntRange(1, 200).Draw(rt, "n")
		rnd = rapid.Float64Range(0, 1).Draw(rt, "rnd")
		base, d, most := p.Base(n), p.Delay(n, rnd), p.Delay(n, 1)
		if base < 0 || d < base || most < d {
			rt.Fatalf("%+v, retry %d: base %v, %v with %v, most %v", p, n, base, d, rnd, most)
		}
		if p.Kind != List && p.Base(n+1) < base {
			rt.Fatalf("%+v: retry %d waits %v, the next %v", p, n, base, p.Base(n+1))
		}
	})
}

func TestWithDefaultsIsStable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		once := drawPolicy(rt, true).WithDefaults()
		if d := cmp.Diff(once, once.WithDefaults()); d != "" {
			rt.Fatalf("defaults applied twice differ:\n%s", d)
		}
	})
	if d := cmp.Diff(Default(), Policy{}.WithDefaults()); d != "" {
		t.Fatal(d)
	}
}

// TestJSON: the form is that of the API, and comes back as it was.
func TestJSON(t *testing.T) {
	full := Policy{Kind: List, DelayMS: 1, Factor: 2.5, CapMS: 3, JitterPct: 4, JitterMS: 5,
		BudgetMS: 6, DelaysMS: []int64{7, 8}, Func: func(int, float64) time.Duration { return 0 }}
	got, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"list","delay_ms":1,"factor":2.5,"cap_ms":3,"jitter_pct":4,"jitter_ms":5,` +
		`"budget_ms":6,"delays_ms":[7,8]}`
	if string(got) != want {
		t.Fatalf("JSON %s\nwant %s", got, want)
	}
	var back Policy
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	full.Func = nil
	if d := cmp.Diff(full, back); d != "" {
		t.Fatal(d)
	}
	if got, _ := json.Marshal(Policy{}); string(got) != "{}" {
		t.Fatalf("the zero policy is %s", got)
	}
}
