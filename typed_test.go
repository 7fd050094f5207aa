package ax_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

type closeOrder struct {
	OrderID int64     `json:"order_id"`
	Total   *big.Int  `json:"total,omitempty"`
	Due     time.Time `json:"due,omitzero"`
	Note    any       `json:"note,omitempty"`
	Items   []item    `json:"items,omitempty"`
}

type item struct {
	Price uint8 `json:"price"`
}

func (closeOrder) Kind() string { return "order.close" }

// refund has a pointer receiver: it can be submitted, but not handled.
type refund struct{ Amount float64 }

func (*refund) Kind() string { return "refund" }

// TestTyped: what was submitted is what the handler sees, to the last digit, by every way in.
func TestTyped(t *testing.T) {
	var got []*ax.TaskOf[closeOrder]
	huge, _ := new(big.Int).SetString("170141183460469231731687303715884105727", 10)
	want := closeOrder{OrderID: math.MaxInt64, Total: huge, Note: json.Number("9007199254740993"),
		Due: time.Date(2026, 11, 30, 12, 0, 0, 1, time.UTC), Items: []item{{1}, {255}}}
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		if err := ax.HandleFunc(a, func(_ context.Context, x *ax.TaskOf[closeOrder]) error {
			got = append(got, x)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Args: want, Key: "7"})
		synctest.Wait() // one handler at a time: they all append to got
		if _, err := x.SubmitMany(t.Context(), []ax.NewTask{{Args: &want}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := x.PutJob(t.Context(), ax.JobSpec{Name: "j", Args: want,
			Schedule: ax.At(time.Now())}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		raw := []byte(`{"order_id": 9007199254740993, "unknown": 1} `)
		x.submit(ax.NewTask{Kind: "order.close", Payload: raw})
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) != 4 {
			t.Fatalf("%d tasks ran, want 4", len(got))
		}
		if got[0].ID != id || got[0].Key != "7" || got[0].Kind != "order.close" {
			t.Errorf("the task is %+v", got[0].Task)
		}
		for i, g := range got {
			if g.Payload[len(g.Payload)-1] == ' ' { // the raw one: 2^53+1
				if g.Args.OrderID != 9007199254740993 {
					t.Errorf("%d: order %d", i, g.Args.OrderID)
				}
				continue
			}
			a := g.Args
			if a.OrderID != want.OrderID || a.Total.Cmp(huge) != 0 || a.Note != want.Note ||
				!a.Due.Equal(want.Due) || len(a.Items) != 2 || a.Items[1].Price != 255 {
				t.Errorf("%d: %+v", i, a)
			}
		}
	})
}

// TestTypedBadPayload: a payload that no retry can mend is dead at once, and its error says of
// which kind and in which field.
func TestTypedBadPayload(t *testing.T) {
	for payload, want := range map[string]string{
		`{"order_id": "7"}`:                         "payload.order_id: is a JSON string",
		`{"order_id": 1.5}`:                         "payload.order_id: is a JSON number 1.5",
		`{"order_id": 9223372036854775808}`:         "payload.order_id: ",
		`{"items": [{"price": 1}, {"price": 256}]}`: "payload.items.price: ",
		`{"order_id": 1, "due": "yesterday"}`:       "payload.due: ",
		`{"total": 1.5, "order_id": 1}`:             "payload.total: ",
		`[]`:                                        "payload: is a JSON array",
		`{"order_id": 1`:                            "payload: unexpected EOF",
		`{"order_id": 1} {}`:                        "payload: has something behind",
		`{"order_id": 1}}`:                          "payload: has something behind",
		``:                                          "payload: is empty",
	} {
		called := false
		bubble(t, ax.Config{}, func(a *ax.Scheduler) {
			ax.HandleFunc(a, func(context.Context, *ax.TaskOf[closeOrder]) error {
				called = true
				return nil
			})
		}, func(x *fixture) {
			id := x.submit(ax.NewTask{Kind: "order.close", Payload: []byte(payload)})
			synctest.Wait()
			row, err := x.Get(t.Context(), id)
			if err != nil || row.State != task.Dead || row.Reason != task.Permanent ||
				row.Attempt != 1 || called {
				t.Errorf("%s: %s, %s, attempt %d, called %v, %v", payload, row.State, row.Reason,
					row.Attempt, called, err)
			}
			if !strings.Contains(row.Error, `kind "order.close": `+want) {
				t.Errorf("%s: %q, want it to contain %q", payload, row.Error, want)
			}
		})
	}
}

// TestTypedRegistration: what cannot be registered says so, also to who looks only at Run.
func TestTypedRegistration(t *testing.T) {
	pointer := func(a *ax.Scheduler) error {
		return ax.HandleFunc(a, func(context.Context, *ax.TaskOf[*refund]) error { return nil })
	}
	for what, c := range map[string]struct {
		field  string
		handle func(a *ax.Scheduler) error
	}{
		"a pointer": {"Args", pointer},
		"an interface": {"Args", func(a *ax.Scheduler) error {
			return ax.HandleFunc(a, func(context.Context, *ax.TaskOf[ax.Args]) error { return nil })
		}},
		"a nil handler": {"handler", func(a *ax.Scheduler) error {
			return ax.HandleFunc[closeOrder](a, nil)
		}},
	} {
		a, _ := idle(t)
		wantField(t, what, c.handle(a), c.field)
		wantField(t, what+" at Run", a.Run(t.Context()), c.field)
	}
	a, _ := idle(t)
	h := func(context.Context, *ax.TaskOf[closeOrder]) error { return nil }
	first := ax.HandleFunc(a, h)
	if err := ax.HandleFunc(a, h); first != nil || !errors.Is(err, ax.ErrDuplicateKind) {
		t.Errorf("registered twice: %v, %v", first, err)
	}
}

// TestBadArgs: arguments that cannot be stored are refused before anything is written.
func TestBadArgs(t *testing.T) {
	long := strings.Repeat("x", task.MaxPayload)
	for what, c := range map[string]struct {
		field string
		n     ax.NewTask
	}{
		"a kind beside them":    {"args", ax.NewTask{Args: closeOrder{}, Kind: "order.close"}},
		"a payload beside them": {"args", ax.NewTask{Args: closeOrder{}, Payload: []byte{}}},
		"a nil pointer":         {"args", ax.NewTask{Args: (*closeOrder)(nil)}},
		"what has no JSON":      {"args", ax.NewTask{Args: &refund{Amount: math.NaN()}}},
		"more than a row keeps": {"payload", ax.NewTask{Args: closeOrder{Note: long}}},
	} {
		st := memory.New(memory.Options{})
		a, err := ax.New(st, ax.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Submit(t.Context(), c.n)
		wantField(t, what, err, c.field)
		_, err = a.SubmitMany(t.Context(), []ax.NewTask{{Kind: "good"}, c.n})
		wantField(t, what+" among many", err, c.field)
		wantField(t, what+" of a job", a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: c.n.Kind,
			Payload: c.n.Payload, Args: c.n.Args, Schedule: ax.Every(time.Hour)}), c.field)
		if rows, err := a.List(t.Context(), ax.Filter{}); err != nil || len(rows) != 0 {
			t.Errorf("%s: rows were written: %v, %v", what, rows, err)
		}
	}
}
