package wire

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"

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

// Size is about how many bytes the row takes in a statement.
func (r *NewRow) Size() int { return len(r.Payload) + len(r.Result) + len(r.RetryPolicy) }

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
	KeepFor      int64     `json:"keep_for,omitempty"`
}

// given is the JSON array of rows.
func given(rows []*NewRow) (string, error) {
	out := make([]givenRow, len(rows))
	for i, r := range rows {
		out[i] = givenRow{N: i + 1, ID: r.ID.String(), Kind: r.Kind, Group: r.Group, Key: r.Key,
			Payload: r.Payload, Bucket: int(r.Bucket), FireTime: r.FireTime, RunAt: r.RunAt,
			RunIn: r.RunIn.Microseconds(), Run: r.Run, Overlap: int(r.Overlap),
			OverlapKey: r.OverlapKey, MaxRetries: r.MaxRetries, Timeout: int64(r.Timeout),
			RetryPolicy: r.RetryPolicy, OwnerService: r.OwnerService, Labels: LabelText(r.Labels),
			ExpiresAt: r.ExpiresAt, MaxLateness: int64(r.MaxLateness),
			MaxLifetime: int64(r.MaxLifetime), OnUnknown: int(r.OnUnknown), KeepFor: KeepFor(r.Unique)}
	}
	b, err := json.Marshal(out)
	return string(b), err
}

// Inserts are the statements of an insert, those of keys that are kept beyond the life of a task,
// and the channel of the hint, "" for none.
type Inserts struct {
	Insert, Existing    string
	Keep, Drop, Keepers string
	Channel             string
}

// Insert makes one statement's worth of rows and answers them. What a task kept from being made
// that became final meanwhile is inserted once more.
func (c Caller) Insert(ctx context.Context, q Inserts, rows []*NewRow) error {
	in := insertion{Caller: c, q: q}
	for len(rows) > 0 {
		ready, err := in.keep(ctx, rows)
		if err != nil {
			return err
		}
		made, err := in.send(ctx, ready)
		if rows = Without(rows, made); err != nil || len(rows) == 0 {
			return err
		}
		if rows, err = in.explain(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// insertion is one Insert on its way.
type insertion struct {
	Caller
	q    Inserts
	now  task.Time // 0 until the first statement has read the clock
	kept []*NewRow // those that keep has just given a key
}

// keep keeps the keys of rows that ask for it beyond the life of their task, and returns the rows
// whose insert may go on: those that do not ask, and the first of each key that was free.
func (in *insertion) keep(ctx context.Context, rows []*NewRow) (ready []*NewRow, err error) {
	in.kept = nil
	want := FirstOfKey(Keeping(rows))
	if len(want) == 0 {
		return rows, nil
	}
	got := make(map[task.ID]bool, len(want))
	err = in.each(ctx, in.q.Keep, want, func(scan scan) error {
		var at task.Time
		var text string
		if err := scan(&at, &text); err != nil || at != 0 {
			in.now = at
			return err
		}
		id, err := task.ParseID(text)
		got[id] = true
		return err
	}, in.time())
	ready, in.kept = Kept(rows, want, got)
	return ready, err
}

// send inserts rows, and answers and returns those that were made.
func (in *insertion) send(ctx context.Context, rows []*NewRow) (map[*NewRow]bool, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	times, made := make(map[string]task.Time, len(rows)), make(map[*NewRow]bool, len(rows))
	err := in.each(ctx, in.q.Insert, rows, func(scan scan) error {
		var id string
		var runAt task.Time
		var quiet bool
		err := scan(&in.now, &id, &runAt, &quiet)
		times[id] = runAt
		return err
	}, in.q.Channel, in.time())
	for _, r := range rows {
		if runAt, ok := times[r.ID.String()]; ok {
			made[r] = true
			*r.Out = store.Inserted{ID: r.ID, State: r.State, Version: 1, RunAt: runAt, At: in.now}
		}
	}
	return made, err
}

// explain answers rows that exist or whose key is taken, after it has given back what was kept for
// rows that were not made. It returns those for which neither is so.
func (in *insertion) explain(ctx context.Context, rows []*NewRow) ([]*NewRow, error) {
	found, err := in.find(ctx, in.q.Existing, rows)
	if err == nil && len(in.kept) > 0 {
		err = in.each(ctx, in.q.Drop, in.kept, func(scan) error { return nil }, in.time())
	}
	rows = Without(rows, found)
	if want := Keeping(rows); err == nil && len(want) > 0 {
		found, err = in.find(ctx, in.q.Keepers, want, in.time())
		rows = Without(rows, found)
	}
	return rows, err
}

// find answers rows with what a statement finds in their way.
func (in *insertion) find(
	ctx context.Context, statement string, rows []*NewRow, args ...any,
) (map[*NewRow]bool, error) {
	found := make(map[*NewRow]bool, len(rows))
	return found, in.each(ctx, statement, rows, func(scan scan) error {
		var n, state int
		var id string
		out := store.Inserted{At: in.now}
		err := scan(&n, &id, &state, &out.Version, &out.RunAt)
		if err != nil {
			return err
		}
		out.State = task.State(state)
		if out.ID, err = task.ParseID(id); err != nil {
			return err
		}
		r := rows[n-1]
		out.Duplicate = out.ID != r.ID
		found[r], *r.Out = true, out
		return nil
	}, args...)
}

// each runs a statement over rows.
func (in *insertion) each(ctx context.Context, statement string, rows []*NewRow,
	each func(scan) error, args ...any) error {
	text, err := given(rows)
	if err != nil {
		return err
	}
	return in.query(ctx, statement, append([]any{text}, args...), each)
}

func (in *insertion) time() string { return strconv.FormatInt(int64(in.now), 10) }

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
