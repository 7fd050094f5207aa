package aside

import (
	"context"
	"slices"
	"strings"

	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// PutKinds implements store.KindStore. Kinds are written in the order of their names, which is that
// of locks; of several with one name the last counts.
func (l Line) PutKinds(ctx context.Context, ks []task.Kind) error {
	last := map[string]task.Kind{}
	for _, k := range ks {
		if err := wire.Fits("kind", k.Name, wire.LongName); err != nil {
			return err
		}
		last[k.Name] = k
	}
	sorted := make([]task.Kind, 0, len(last))
	for _, k := range last {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b task.Kind) int { return strings.Compare(a.Name, b.Name) })
	return l.Tx(ctx, "put kinds", func(c *wire.Conn) error {
		for part := range slices.Chunk(sorted, wire.MostRows) {
			a := &wire.Args{}
			a.Rows(len(part))
			for _, k := range part {
				a.Text(k.Name)
				a.Int(int64(k.Timeout))
				a.Int(int64(k.MaxRetries))
				a.Text(k.RetryPolicy)
				a.Time(c.Now)
				a.Int(int64(k.OnUnknown))
				a.Int(int64(k.MaxLifetime))
			}
			if _, err := c.Exec(ctx, putKinds, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// Kinds implements store.KindStore; they come in the order of their names.
func (l Line) Kinds(ctx context.Context) ([]task.Kind, error) {
	out := []task.Kind{}
	err := l.each(ctx, "read kinds", readKinds, &wire.Args{}, func(r *wire.Row) {
		out = append(out, task.Kind{Name: r.Text(), Timeout: r.Duration(),
			MaxRetries: int(r.Int()), RetryPolicy: r.Text(), UpdatedAt: r.Time(),
			OnUnknown: task.Unknown(r.Int()), MaxLifetime: r.Duration()})
	})
	return out, err
}
