package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// PutKinds implements store.KindStore. Kinds are written in the order of their names, which is that
// of locks; of several with one name the last counts.
func (s *Store) PutKinds(ctx context.Context, ks []task.Kind) error {
	last := map[string]task.Kind{}
	for _, k := range ks {
		if err := fits("kind", k.Name, longName); err != nil {
			return err
		}
		last[k.Name] = k
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	sorted := make([]task.Kind, 0, len(last))
	for _, k := range last {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b task.Kind) int { return strings.Compare(a.Name, b.Name) })
	err = s.tx(ctx, s.completer, store.Fence{}, func(c *conn) error {
		for part := range slices.Chunk(sorted, mostRows) {
			a := &args{}
			a.Rows(len(part))
			for _, k := range part {
				a.Text(k.Name)
				a.Int(int64(k.Timeout))
				a.Int(int64(k.MaxRetries))
				a.Text(k.RetryPolicy)
				a.Time(c.now)
				a.Int(int64(k.OnUnknown))
				a.Int(int64(k.MaxLifetime))
			}
			if _, err := c.exec(ctx, putKinds, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put kinds: %w", wire.Explain(err))
	}
	return nil
}

// Kinds implements store.KindStore; they come in the order of their names.
func (s *Store) Kinds(ctx context.Context) ([]task.Kind, error) {
	out := []task.Kind{}
	err := s.read(ctx, "read kinds", readKinds, &args{}, func(r *row) {
		out = append(out, task.Kind{Name: r.Text(), Timeout: r.Duration(),
			MaxRetries: int(r.Int()), RetryPolicy: r.Text(), UpdatedAt: r.Time(),
			OnUnknown: task.Unknown(r.Int()), MaxLifetime: r.Duration()})
	})
	return out, err
}
