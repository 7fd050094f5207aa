package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
)

// TestThroughput: tasks are counted by their outcomes, and figures are medians of the runs.
func TestThroughput(t *testing.T) {
	var out bytes.Buffer
	opened := 0
	e := &Env{Out: &out, Open: func(_ context.Context, dsn string) (ax.Store, error) {
		if opened++; !strings.HasPrefix(dsn, "sqlite:") {
			t.Errorf("opened %s", dsn)
		}
		return memory.New(memory.Options{}), nil
	}}
	c := &throughputCmd{target: target{Runs: 3, JSON: true, Dir: t.TempDir()}, Tasks: 50}
	if err := c.Run(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	var f figure
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if opened != 3 || f.Runs != 3 || f.Min <= 0 || f.Value < f.Min || f.Value > f.Max ||
		f.Unit != "tasks/s" {
		t.Errorf("%d databases, %+v", opened, f)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{1234.5: "1234", 12.345: "12.35", 0.5: "0.500"} {
		if got := number(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	l := latencies{1, 2, 3, 4}
	if l.at(.5) != 3 || l.at(1) != 4 || latencies(nil).at(.5) != 0 || median([]int{3, 1, 2}) != 2 {
		t.Errorf("%v %v", l.at(.5), l.at(1))
	}
}
