package engine

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// snake turns the name of a method into the verb of its calls.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// TestEveryCallIsTold: each method of the store, the leases and the registry is told of once, by
// its name. One that is added to a contract is passed through untold by the embedded interface, and
// fails here.
func TestEveryCallIsTold(t *testing.T) {
	var told []observe.StoreCall
	st := &withTx{Store: memory.New(memory.Options{})}
	w := Watch(st, func(c observe.StoreCall) { told = append(told, c) })
	noter, _ := store.As[store.Noter](w)
	expirer, _ := store.As[store.Expirer](w)
	steerer, _ := store.As[store.JobSteerer](w)
	writer := store.Writer(w)
	for _, x := range []struct {
		prefix string
		v      reflect.Value
	}{
		{"", reflect.ValueOf(&w).Elem()}, {"lease_", reflect.ValueOf(w.Leases())},
		{"executor_", reflect.ValueOf(w.Registry())}, {"", reflect.ValueOf(&noter).Elem()},
		{"", reflect.ValueOf(&expirer).Elem()}, {"", reflect.ValueOf(&steerer).Elem()},
		{"", reflect.ValueOf(&writer).Elem()},
	} {
		prefix, v := x.prefix, x.v
		typ := v.Type()
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			switch {
			case prefix == "" && (name == "Close" || name == "Leases" || name == "Registry"),
				name == "Unwrap":
				continue
			}
			told = nil
			call(t, v.Method(i))
			want := prefix + snake(name)
			if len(told) != 1 || told[0].Verb != want {
				t.Errorf("%s%s: told %v, want one %q", prefix, name, told, want)
			}
		}
	}
}

// withTx is a store that knows transactions.
type withTx struct {
	*memory.Store
	store.TxWriter
}

// call calls a method with zero values. What it answers, and whether the store likes it, is of no
// interest here.
func call(t *testing.T, m reflect.Value) {
	t.Helper()
	defer func() { _ = recover() }()
	args := make([]reflect.Value, m.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(m.Type().In(i))
		if i == 0 {
			args[i] = reflect.ValueOf(t.Context())
		}
	}
	m.Call(args)
}

// slow takes a second for each call, and fails them.
type slow struct {
	*memory.Store
	err error
}

func (s *slow) Apply(context.Context, store.Fence, []*task.Transition) ([]store.Result, error) {
	time.Sleep(time.Second)
	return nil, s.err
}

// Listen makes it a store.Hinter.
func (s *slow) Listen(context.Context, func(task.Time)) error { return s.err }

// TestCallsAreTimed: the time and the error are those of the call, and the caller gets the error.
func TestCallsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []observe.StoreCall
		st := &slow{memory.New(memory.Options{}), errors.New("no answer")}
		w := Watch(st, func(c observe.StoreCall) { told = append(told, c) })
		_, err := w.Apply(t.Context(), store.Fence{}, nil)
		want := observe.StoreCall{Verb: "apply", Took: time.Second, Err: st.err}
		if !errors.Is(err, st.err) || len(told) != 1 || told[0] != want {
			t.Errorf("%v, told %v, want %v", err, told, want)
		}
	})
}

// TestAbilitiesOfAWatchedStore: what a store can do beyond the contract is found through the
// wrapper, and what it cannot do is not made up.
func TestAbilitiesOfAWatchedStore(t *testing.T) {
	tell := func(observe.StoreCall) {}
	st := &slow{memory.New(memory.Options{}), errors.New("gone")}
	h, ok := store.As[store.Hinter](Watch(st, tell))
	if !ok || h != store.Hinter(st) {
		t.Errorf("the hints of a watched store: %v, %t", h, ok)
	}
	if _, ok := store.As[store.TxWriter](Watch(st, tell)); ok {
		t.Error("a watched store in memory takes transactions")
	}
	if _, ok := store.As[interface{ Fly() }](Watch(st, tell)); ok {
		t.Error("a watched store can fly")
	}
	if _, ok := store.As[store.Hinter](nil); ok {
		t.Error("no store gives hints")
	}
}
