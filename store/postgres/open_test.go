package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestManyProgramsMigrateAtOnce(t *testing.T) {
	dsn := testdb.Postgres(t)
	done := make(chan error, 6)
	for range cap(done) {
		go func() {
			s, err := postgres.Open(soon(t), dsn)
			if err == nil {
				_, err = s.Insert(soon(t), store.Fence{}, []task.Task{plainTask()})
				err = errors.Join(err, s.Close())
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	n, err := openStore(t, dsn).Count(t.Context(), 0)
	if err != nil || n[task.Scheduled] != int64(cap(done)) {
		t.Errorf("%v tasks, %v", n, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name, setUp, params string
		opts                []postgres.Option
		want                error
		says                string
	}{
		{"newer schema", `CREATE TABLE ax_meta (name text, value text); CREATE TABLE ax_tasks ();
			INSERT INTO ax_meta VALUES ('product', 'ax'), ('schema_version', '999')`, "", nil,
			store.ErrNewer, "999"},
		{"tables of somebody else", "CREATE TABLE ax_tasks (id int)", "", nil, store.ErrDamaged,
			"ax_meta"},
		{"meta of somebody else", "CREATE TABLE ax_meta (name text, value text)", "", nil,
			store.ErrDamaged, "ax_meta"},
		{"meta without our columns", "CREATE TABLE ax_meta (id int)", "", nil,
			store.ErrDamaged, "version"},
		{"read-only", "", "&default_transaction_read_only=on", nil, store.ErrReadOnly, "primary"},
		{"small pool", "", "&pool_max_conns=3", nil, nil, "at least 4"},
		{"no such schema", "", "", []postgres.Option{postgres.Schema(`ne"w`)}, nil,
			`CREATE SCHEMA "ne""w"`},
		{"no schema on the path", "", "&search_path=nowhere", nil, nil, "postgres.Schema"},
		{"bad URL", "", "&sslmode=never", nil, nil, "sslmode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dsn := testdb.Postgres(t)
			exec(t, session(t, dsn), tt.setUp)
			s, err := postgres.Open(soon(t), dsn+tt.params, tt.opts...)
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got: %v", err)
			}
		})
	}
}

func TestOpenWithoutTheRightToCreate(t *testing.T) {
	server := testdb.StartPostgres(t, testdb.Options{Fast: true})
	dsn := server.Database(t)
	admin := session(t, dsn)
	exec(t, admin, "CREATE SCHEMA theirs")
	exec(t, admin, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
	super := session(t, server.AdminDSN())
	exec(t, super, "CREATE ROLE guest LOGIN PASSWORD 'guest'")
	exec(t, admin, "GRANT USAGE ON SCHEMA theirs TO guest")
	guest := "postgres://guest:guest@" + dsn[strings.Index(dsn, "@")+1:]

	_, err := postgres.Open(soon(t), guest, postgres.Schema("theirs"))
	if err == nil || !strings.Contains(err.Error(), "GRANT CREATE ON SCHEMA") {
		t.Errorf("without tables: %v", err)
	}
	openStore(t, dsn, postgres.Schema("theirs"))
	_, err = postgres.Open(soon(t), guest, postgres.Schema("theirs"))
	if err == nil || !strings.Contains(err.Error(), "grant SELECT, INSERT") {
		t.Errorf("without rights on the tables: %v", err)
	}
	exec(t, admin, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA theirs TO guest")
	s := openStore(t, guest, postgres.Schema("theirs"))
	if _, err := s.Insert(t.Context(), store.Fence{}, []task.Task{plainTask()}); err != nil {
		t.Errorf("with rights on the tables alone: %v", err)
	}
}

func TestTwoSchemasOfOneDatabase(t *testing.T) {
	dsn := testdb.Postgres(t)
	exec(t, session(t, dsn), `CREATE SCHEMA "Bill's"`)
	pool, err := pgxpool.New(t.Context(), dsn+"&pool_max_conns=4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var stores []*postgres.Store
	for _, opts := range [][]postgres.Option{nil, {postgres.Schema("Bill's")}} {
		s, err := postgres.New(t.Context(), pool, opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	tk := stored(t, stores[0], makeTasks(1, keyedTask))[0]
	if _, err := stores[1].ByKey(t.Context(), tk.Kind, tk.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the task of one schema is in the other: %v", err)
	}
	if _, err := stores[0].ByKey(t.Context(), tk.Kind, tk.Key); err != nil {
		t.Error(err)
	}
}

// S14: whatever takes the connections of the pool, the lease is renewed on time.
func TestS14LeasesNeedNoPoolSlot(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), testdb.Postgres(t)+"&pool_max_conns=4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 4 {
		c, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	l := s.Leases()
	if err := l.Acquire(soon(t), 0, "me", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(soon(t), 0, "me", time.Minute); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Now(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the pool had a connection left: %v", err)
	}
}

// A lost connection is an error of the calls that used it, and of no later one.
func TestLostConnections(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	if _, err := s.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, session(t, dsn), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = 'ax' AND datname = current_database()`)
	lost := 0
	for range 20 {
		if _, err := s.Now(soon(t)); err != nil {
			lost++
		}
	}
	if lost > 1 {
		t.Errorf("%d calls failed", lost)
	}
}

// What was acknowledged before a crash of the server is there after it, once.
func TestServerCrash(t *testing.T) {
	server := testdb.StartPostgres(t, testdb.Options{})
	s := openStore(t, server.Database(t))
	acked := make(chan task.ID, 100_000)
	done := make(chan struct{}, 8)
	ctx, cancel := context.WithCancel(t.Context())
	for range cap(done) {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				rows, err := s.Insert(ctx, store.Fence{}, []task.Task{plainTask()})
				if err == nil {
					acked <- rows[0].ID
				}
			}
		}()
	}
	var ids []task.ID
	for len(ids) < 200 {
		ids = append(ids, <-acked)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	before := len(acked)
	for range before + 200 { // it works again without our help
		ids = append(ids, <-acked)
	}
	cancel()
	for range cap(done) {
		<-done
	}
	close(acked)
	for id := range acked {
		ids = append(ids, id)
	}
	got, err := s.Tasks(t.Context(), ids)
	if err != nil || len(got) != len(ids) {
		t.Errorf("%d of %d acknowledged tasks are there, %v", len(got), len(ids), err)
	}
}
