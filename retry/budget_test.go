package retry

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// R05: n retries are n+1 executions.
func TestR05Executions(t *testing.T) {
	for _, c := range []struct{ maxRetries, executions int }{{0, 1}, {1, 2}, {3, 4}, {5, 6}} {
		executions, failures := 0, 0
		for again := true; again; again = Allowed(failures, c.maxRetries) {
			executions++
			failures++
		}
		if executions != c.executions {
			t.Errorf("max_retries %d: %d executions, want %d", c.maxRetries, executions, c.executions)
		}
	}
}

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		runAt, deadline, expires int64
		want                     bool
	}{
		{100, 0, 0, true},
		{100, 100, 0, true},
		{101, 100, 0, false},
		{100, 0, 100, true},
		{101, 0, 100, false},
		{101, 200, 100, false},
		{101, 100, 200, false},
		{100, 200, 200, true},
	} {
		if got := Allows(c.runAt, c.deadline, c.expires); got != c.want {
			t.Errorf("Allows(%d, %d, %d) = %v", c.runAt, c.deadline, c.expires, got)
		}
	}
}

func TestDeadline(t *testing.T) {
	if d := (Policy{}).Deadline(5); d != 0 {
		t.Errorf("without a budget: %d", d)
	}
	if d := (Policy{BudgetMS: 60_000}).Deadline(1_000_000); d != 61_000_000 {
		t.Errorf("a minute from 1 s: %d", d)
	}
	if d := (Policy{BudgetMS: math.MaxInt64}).Deadline(math.MaxInt64 - 1); d != math.MaxInt64 {
		t.Errorf("overflow: %d", d)
	}
}

func TestTotal(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name         string
		p            Policy
		n            int
		least, worst time.Duration
	}{
		{"none", Policy{}, 0, 0, 0},
		{"negative", Policy{}, -7, 0, 0},
		{"default", Policy{}, 5, 3905 * s, 4686 * s},
		{"doubling", Doubling(s, time.Hour, 500*time.Millisecond), 5, 31 * s, 33500 * time.Millisecond},
		{"fixed", Policy{Kind: Fixed, DelayMS: 1000}, 1_000_000, 1_000_000 * s, 1_000_000 * s},
		{"list", Policy{Kind: List, DelaysMS: []int64{1000, 5000}}, 4, 16 * s, 16 * s},
		{"custom", Policy{Func: func(int, float64) time.Duration { return s }}, 20_000,
			20_000 * s, 20_000 * s},
		{"all the retries there are", Policy{}, math.MaxInt, math.MaxInt64, math.MaxInt64},
	} {
		least, worst := c.p.Total(c.n)
		if least != c.least || worst != c.worst {
			t.Errorf("%s: %v to %v, want %v to %v", c.name, least, worst, c.least, c.worst)
		}
	}
}

// TestTotalIsTheSum compares with adding up.
func TestTotalIsTheSum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPolicy(rt, true)
		n := rapid.IntRange(0, 60).Draw(rt, "n")
		var least, worst time.Duration
		for i := 1; i <= n; i++ {
			least, worst = plus(least, p.Delay(i, 0)), plus(worst, p.Delay(i, 1))
		}
		gotLeast, gotWorst := p.Total(n)
		if gotLeast != least || gotWorst != worst {
			rt.Fatalf("%+v: %v to %v, want %v to %v", p, gotLeast, gotWorst, least, worst)
		}
	})
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		n, fit int
	}{
		{0, math.MaxInt, math.MaxInt},
		{3905 * time.Second, 5, 5},
		{3904 * time.Second, 5, 4},
		{30 * time.Second, 5, 2},
		{time.Second, 5, 0},
		{24 * time.Hour, 1_000_000, 27},
	} {
		p := Policy{BudgetMS: c.budget.Milliseconds()}
		m, ok := p.Fits(c.n)
		if ok != (c.fit == c.n) {
			t.Errorf("budget %v, %d retries: fits %v", c.budget, c.n, ok)
		}
		if !ok && (m.Fit != c.fit || m.Retries != c.n || m.Budget != c.budget || m.Need <= m.Budget) {
			t.Errorf("budget %v, %d retries: %+v, want %d to fit", c.budget, c.n, m, c.fit)
		}
	}
}

func TestMisfitText(t *testing.T) {
	m, _ := Policy{BudgetMS: 60_000}.Fits(5)
	want := "retry.budget_ms: 5 retries need at least 1h5m5s, the budget is 1m0s: " +
		"at most 2 can be made"
	if m.String() != want {
		t.Fatalf("%s\nwant %s", m, want)
	}
}
