package wire

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

// Caller is a transaction of the caller's, whatever its driver. Its statements have texts as
// parameters and answer with bigints and texts, because that is what all drivers can do.
type Caller struct {
	// query hands each row of a result to each.
	query func(ctx context.Context, text string, args []any, each func(scan) error) error
}

// scan reads the columns of a row.
type scan func(dest ...any) error

// rows is what the results of database/sql and pgx have in common.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}

// CallerOf returns the caller's transaction, or false if tx is none that PostgreSQL can have.
func CallerOf(tx store.Tx) (Caller, bool) {
	read := func(rs rows, each func(scan) error) error {
		for rs.Next() {
			if err := each(rs.Scan); err != nil {
				return err
			}
		}
		return rs.Err()
	}
	switch tx := tx.(type) {
	case *sql.Tx:
		return Caller{func(ctx context.Context, text string, args []any, each func(scan) error) error {
			rs, err := tx.QueryContext(ctx, text, args...)
			if err != nil {
				return err
			}
			defer func() { _ = rs.Close() }() // Err says what went wrong
			return read(rs, each)
		}}, tx != nil
	case pgx.Tx:
		return Caller{func(ctx context.Context, text string, args []any, each func(scan) error) error {
			rs, err := tx.Query(ctx, text, args...)
			if err != nil {
				return err
			}
			defer rs.Close()
			return read(rs, each)
		}}, true
	}
	return Caller{}, false
}

// NewRow is a task and where its answer goes.
type NewRow struct {
	*task.Task
	Out *store.Inserted
}

// givenRow is a row as the statements read it; what is not set is left out and becomes NULL.
type givenRow struct {
	N            int       `json:"n"`
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`
	Group        string    `json:"grp"`
	Key          string    `json:"key,omitempty"`
	Payload      []byte    `json:"payload"`
	Bucket       int       `json:"bucket"`
	FireTime     task.Time `json:"fire_time,omitempty"`
	RunAt        task.Time `json:"run_at"`
	RunIn        int64     `json:"run_in"`
	Run          int       `json:"run"`
	Overlap      int       `json:"overlap"`
	OverlapKey   string    `json:"overlap_key,omitempty"`
	MaxRetries   int       `json:"max_retries"`
	Timeout      int64     `json:"timeout,omitempty"`
	RetryPolicy  string    `json:"retry_policy,omitempty"`
	OwnerService string    `json:"owner_service,omitempty"`
	Labels       string    `json:"labels,omitempty"`
	ExpiresAt    task.Time `json:"expires_at,omitempty"`
	MaxLateness  int64     `json:"max_lateness,omitempty"`
	MaxLifetime  int64     `json:"max_lifetime,omitempty"`
	OnUnknown    int       `json:"on_unknown,omitempty"`
}

// given is the JSON array of rows.
func given(rows []NewRow) (string, error) {
	out := make([]givenRow, len(rows))
	for i, r := range rows {
		out[i] = givenRow{N: i + 1, ID: r.ID.String(), Kind: r.Kind, Group: r.Group, Key: r.Key,
			Payload: r.Payload, Bucket: int(r.Bucket), FireTime: r.FireTime, RunAt: r.RunAt,
			RunIn: r.RunIn.Microseconds(), Run: r.Run, Overlap: int(r.Overlap),
			OverlapKey: r.OverlapKey, MaxRetries: r.MaxRetries, Timeout: int64(r.Timeout),
			RetryPolicy: r.RetryPolicy, OwnerService: r.OwnerService, Labels: LabelText(r.Labels),
			ExpiresAt: r.ExpiresAt, MaxLateness: int64(r.MaxLateness),
			MaxLifetime: int64(r.MaxLifetime), OnUnknown: int(r.OnUnknown)}
	}
	b, err := json.Marshal(out)
	return string(b), err
}

// Inserts are the statements of an insert, and the channel of its hint, "" for none.
type Inserts struct{ Insert, Existing, Channel string }

// Insert makes one statement's worth of rows and answers them. What a task kept from being made
// that became final meanwhile is inserted once more.
func (c Caller) Insert(ctx context.Context, q Inserts, rows []NewRow) error {
	for len(rows) > 0 {
		text, err := given(rows)
		if err != nil {
			return err
		}
		var now task.Time
		made := make(map[string]task.Time, len(rows))
		err = c.query(ctx, q.Insert, []any{text, q.Channel}, func(scan scan) error {
			var id string
			var runAt task.Time
			var quiet bool
			err := scan(&now, &id, &runAt, &quiet)
			made[id] = runAt
			return err
		})
		if err != nil {
			return err
		}
		var rest []NewRow
		for _, r := range rows {
			if runAt, ok := made[r.ID.String()]; ok {
				*r.Out = store.Inserted{ID: r.ID, State: r.State, Version: 1, RunAt: runAt, At: now}
			} else {
				rest = append(rest, r)
			}
		}
		if rows, err = c.existing(ctx, q.Existing, rest, now); err != nil {
			return err
		}
	}
	return nil
}

// existing answers rows that exist or whose key is taken, and returns those for which neither is
// so.
func (c Caller) existing(
	ctx context.Context, statement string, rows []NewRow, now task.Time,
) (again []NewRow, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	text, err := given(rows)
	if err != nil {
		return nil, err
	}
	found := make([]bool, len(rows))
	err = c.query(ctx, statement, []any{text}, func(scan scan) error {
		var n, state int
		var id string
		in := store.Inserted{At: now}
		if err := scan(&n, &id, &state, &in.Version, &in.RunAt); err != nil {
			return err
		}
		in.State = task.State(state)
		if in.ID, err = task.ParseID(id); err != nil {
			return err
		}
		r := rows[n-1]
		found[n-1], in.Duplicate = true, in.ID != r.ID
		*r.Out = in
		return nil
	})
	for i, ok := range found {
		if !ok {
			again = append(again, rows[i])
		}
	}
	return again, err
}

// Complete ends an execution as succeeded, if it is the one that runs.
func (c Caller) Complete(
	ctx context.Context, statement string, id, execution task.ID,
) (res store.Result, err error) {
	res.Status = store.Conflict
	err = c.query(ctx, statement, []any{id.String(), execution.String()},
		func(scan scan) error { return scan(&res.At, &res.Version) })
	if res.Version != 0 {
		res.Status = store.Applied
	}
	return res, err
}
