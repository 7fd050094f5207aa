package aside

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// PutKinds implements store.KindStore. Of two with one name the last counts.
func (call Call) PutKinds(ctx context.Context, ks []task.Kind) error {
	byName := make(map[string]int, len(ks))
	var rows []task.Kind
	for _, k := range ks {
		if !wire.Plain(k.Name) || !wire.Plain(k.RetryPolicy) || k.Name == "" {
			return &task.InputError{Field: "kind",
				Reason: fmt.Sprintf("%q is empty, has a NUL or is not valid UTF-8", k.Name)}
		}
		if i, ok := byName[k.Name]; ok {
			rows[i] = k
			continue
		}
		byName[k.Name] = len(rows)
		rows = append(rows, k)
	}
	n := len(rows)
	a := &wire.Args{}
	a.Places(n)
	a.Texts(n, func(i int) string { return rows[i].Name })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].Timeout) })
	a.Int4s(n, func(i int) int { return rows[i].MaxRetries })
	a.Texts(n, func(i int) string { return rows[i].RetryPolicy })
	a.Int2s(n, func(i int) int { return int(rows[i].OnUnknown) })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].MaxLifetime) })
	return call(ctx, "put kinds", putKinds, a, nil)
}

// Kinds implements store.KindStore; they come in the order of their names.
func (call Call) Kinds(ctx context.Context) ([]task.Kind, error) {
	out := []task.Kind{}
	err := call(ctx, "read kinds", readKinds, &wire.Args{}, func(r *wire.Row) {
		out = append(out, task.Kind{Name: r.Text(), Timeout: time.Duration(r.Int8()),
			MaxRetries: r.Int4(), RetryPolicy: r.Text(), UpdatedAt: r.Time(),
			OnUnknown: task.Unknown(r.Int2()), MaxLifetime: time.Duration(r.Int8())})
	})
	return out, err
}
