package observe_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/task"
)

// recorder is an observer, all of whose functions add their name, with a mark, to a list.
func recorder(mark string, told *[]string) observe.Observer {
	var o observe.Observer
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			*told = append(*told, mark+name)
			return nil
		}))
	}
	return o
}

// TestAnd: each function of both is called, in order, and nil ones are passed over. A function that
// is added to Observer and forgotten in And fails here.
func TestAnd(t *testing.T) {
	var told []string
	first, second := recorder("1", &told), recorder("2", &told)
	for name, c := range map[string]struct {
		o    observe.Observer
		want []string
	}{
		"both":       {first.And(second), []string{"1", "2"}},
		"first only": {first.And(observe.Observer{}), []string{"1"}},
		"other only": {observe.Observer{}.And(second), []string{"2"}},
		"none":       {observe.Observer{}.And(observe.Observer{}), nil},
	} {
		v := reflect.ValueOf(c.o)
		for i := range v.NumField() {
			told = nil
			if f := v.Field(i); !f.IsNil() {
				f.Call([]reflect.Value{reflect.Zero(f.Type().In(0))})
			}
			var want []string
			for _, mark := range c.want {
				want = append(want, mark+v.Type().Field(i).Name)
			}
			if !slices.Equal(told, want) {
				t.Errorf("%s: told %q, want %q", name, told, want)
			}
		}
	}
}

// TestOf: an event says which task it is about, field by field.
func TestOf(t *testing.T) {
	row := &task.Task{ID: task.ID{1}, Kind: "k", Key: "o-1", Job: "nightly", Bucket: task.High,
		Mutable: task.Mutable{State: task.Dead, Run: 2, Attempt: 3, ExecutionID: task.ID{4}}}
	want := observe.Task{ID: task.ID{1}, Kind: "k", Key: "o-1", Job: "nightly",
		Priority: task.High, Run: 2, Attempt: 3, Execution: task.ID{4}, State: task.Dead}
	if got := observe.Of(row); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
