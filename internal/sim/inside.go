package sim

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/dispatch"
	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/task"
)

// inMemory tells what a running scheduler holds in memory for tasks, "" for nothing. A scheduler
// has no such method of its own, because nobody but this test asks; so its fields are read by
// their names.
func inMemory(a *ax.Scheduler) string {
	e := load(reflect.ValueOf(a).Elem(), "engine")
	if !e.IsValid() {
		return ""
	}
	var left string
	used, zombies := field[*executor.Local](e, "local").Load()
	if used+zombies > 0 {
		left += fmt.Sprintf(" %d slots and %d zombies", used, zombies)
	}
	if n := field[*complete.Completer](e, "completer").Backlog(); n > 0 {
		left += fmt.Sprintf(" %d outcomes", n)
	}
	t := load(e, "term")
	if !t.IsValid() {
		return left
	}
	if n := field[*trigger.Trigger](t, "trigger").Loaded(); n > 0 {
		left += fmt.Sprintf(" %d tasks in the window (%s)", n, window(t))
	}
	if n := field[*dispatch.Dispatcher](t, "dispatch").Waiting(); n > 0 {
		left += fmt.Sprintf(" %d tasks in the queue", n)
	}
	return left
}

// window names the tasks in the window of a term, and whether they wait for a slot. Its scheduler
// has come to rest, so nobody changes it meanwhile.
func window(term reflect.Value) string {
	var b strings.Builder
	win := open(open(term, "trigger").Elem(), "win").Elem()
	for it := open(win, "known").MapRange(); it.Next(); {
		id := it.Key().Interface().(task.ID)
		fmt.Fprintf(&b, " %s due %d queued %v", shortID(id), it.Value().FieldByName("runAt").Int(),
			it.Value().FieldByName("queued").Bool())
	}
	return b.String()
}

// open makes an unexported field readable.
func open(v reflect.Value, name string) reflect.Value {
	f := v.FieldByName(name)
	if !f.IsValid() {
		panic(fmt.Sprintf("sim: %s has no field %s any more; adapt inMemory", v.Type(), name))
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// load reads a field that is an atomic.Pointer and returns what it points to, or the zero Value.
func load(v reflect.Value, name string) reflect.Value {
	p := open(v, name).Addr().MethodByName("Load").Call(nil)[0]
	return p.Elem()
}

func field[T any](v reflect.Value, name string) T { return open(v, name).Interface().(T) }
