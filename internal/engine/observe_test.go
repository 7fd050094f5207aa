package engine

import (
	"bytes"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/task"
)

// TestGuard: a panic in any function of an observer goes no further and is logged once, the
// function is called again, and nil stays nil. A function that is forgotten in Guard fails here.
func TestGuard(t *testing.T) {
	var log bytes.Buffer
	calls := 0
	var o observe.Observer
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			calls++
			panic("broken metrics")
		}))
	}
	g := reflect.ValueOf(Guard(o, slog.New(slog.NewTextHandler(&log, nil))))
	for i := range g.NumField() {
		name, f := g.Type().Field(i).Name, g.Field(i)
		if f.IsNil() {
			t.Errorf("%s is not called", name)
			continue
		}
		calls = 0
		log.Reset()
		for range 3 {
			f.Call([]reflect.Value{reflect.Zero(f.Type().In(0))})
		}
		event := "event=" + snake(name) + " "
		if n := strings.Count(log.String(), "broken metrics"); calls != 3 || n != 1 ||
			!strings.Contains(log.String(), event) {
			t.Errorf("%s: %d calls; want one line with %q, got %s", name, calls, event, log.String())
		}
	}
	none := reflect.ValueOf(Guard(observe.Observer{}, slog.New(slog.DiscardHandler)))
	for i := range none.NumField() {
		if !none.Field(i).IsNil() {
			t.Errorf("%s: a function that nobody asked for costs a call", none.Type().Field(i).Name)
		}
	}
}

// TestObservingIsFree: telling an event makes no garbage, and neither does telling nobody.
func TestObservingIsFree(t *testing.T) {
	row := &task.Task{Kind: "k", Mutable: task.Mutable{State: task.Scheduled,
		LastOutcome: task.OutFailed}}
	told := 0
	o := observe.Observer{Ended: func(observe.Ended) { told++ },
		Retried: func(observe.Retried) { told++ }}
	for name, o := range map[string]observe.Observer{"nobody": {}, "somebody": o} {
		e := &Engine{cfg: Config{Observer: Guard(o, slog.New(slog.DiscardHandler))}}
		if n := testing.AllocsPerRun(100, func() { e.ended(row, task.Report{}) }); n != 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
	}
	if told == 0 {
		t.Error("nothing was told")
	}
}
