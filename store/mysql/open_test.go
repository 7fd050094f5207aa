package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql"
	"github.com/ax-sched/ax/task"
	driver "github.com/go-sql-driver/mysql"
)

func TestManyProgramsMigrateAtOnce(t *testing.T) {
	dsn := testdb.MySQL(t)
	done := make(chan error, 6)
	for range cap(done) {
		go func() {
			s, err := mysql.Open(soon(t), dsn)
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

// run runs statements as another program.
func run(t *testing.T, db *sql.DB, script string) {
	t.Helper()
	for text := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	const meta = "CREATE TABLE ax_meta (name VARBINARY(64), value VARBINARY(64));\n"
	for _, tt := range []struct {
		name, setUp string
		dsn         func(string) string
		opts        []mysql.Option
		want        error
		says        string
	}{
		{"newer schema", meta + `CREATE TABLE ax_tasks (id INT);
INSERT INTO ax_meta VALUES ('product', 'ax'), ('schema_version', '999')`, nil, nil,
			store.ErrNewer, "999"},
		{"tables of somebody else", "CREATE TABLE ax_tasks (id INT)", nil, nil, store.ErrDamaged,
			"TablePrefix"},
		{"meta of somebody else", meta, nil, nil, store.ErrDamaged, "ax_meta"},
		{"meta without our columns", "CREATE TABLE ax_meta (id INT)", nil, nil, store.ErrDamaged,
			"version"},
		{"no migration", "", nil, []mysql.Option{mysql.NoMigrate()}, store.ErrOlder, "migrate up"},
		{"prefix", "", nil, []mysql.Option{mysql.TablePrefix("a`b")}, nil, "table prefix"},
		{"no database", "", func(dsn string) string { return dsn[:strings.LastIndex(dsn, "/")+1] },
			nil, nil, "names no database"},
		{"no URL", "", func(string) string { return "mysql://h:p:q/x" }, nil, nil, "mysql://USER"},
		{"nonsense", "", func(string) string { return "nonsense" }, nil, nil, "mysql://USER"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dsn := testdb.MySQL(t)
			run(t, handle(t, dsn), tt.setUp)
			if tt.dsn != nil {
				dsn = tt.dsn(dsn)
			}
			s, err := mysql.Open(soon(t), dsn, tt.opts...)
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got: %v", err)
			}
		})
	}
}

// TestHalfAMigration: one that died in the middle is made whole.
func TestHalfAMigration(t *testing.T) {
	dsn := testdb.MySQL(t)
	openStore(t, dsn)
	run(t, handle(t, dsn), `DELETE FROM ax_meta WHERE name = 'schema_version';
DROP TABLE ax_jobs`)
	s := openStore(t, dsn)
	if in, err := s.Inspect(soon(t)); err != nil || len(in.Faults) > 0 ||
		in.Schema.Installed != in.Schema.Newest {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestStatus(t *testing.T) {
	dsn := testdb.MySQL(t)
	prefix := mysql.TablePrefix("shop_")
	if v, err := mysql.Status(soon(t), dsn, prefix); err != nil || v.Installed != 0 || v.Newest < 1 {
		t.Errorf("an empty database: %+v, %v", v, err)
	}
	openStore(t, dsn, prefix)
	openStore(t, dsn, prefix, mysql.NoMigrate())
	if v, err := mysql.Status(soon(t), dsn, prefix); err != nil || v.Installed != v.Newest {
		t.Errorf("after Open: %+v, %v", v, err)
	}
	if v, err := mysql.Status(soon(t), dsn); err != nil || v.Installed != 0 {
		t.Errorf("without the prefix: %+v, %v", v, err)
	}
	run(t, handle(t, dsn), "UPDATE shop_ax_meta SET value = '999' WHERE name = 'schema_version'")
	if v, err := mysql.Status(soon(t), dsn, prefix); err != nil || v.Installed != 999 {
		t.Errorf("a newer database: %+v, %v", v, err)
	}
}

// TestDump: what the script makes by hand is what Open makes.
func TestDump(t *testing.T) {
	for _, prefix := range []string{"", "shop_"} {
		dsn := testdb.MySQL(t)
		script, err := mysql.Dump(0, mysql.TablePrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		db := handle(t, dsn)
		run(t, db, script)
		s := openStore(t, dsn, mysql.NoMigrate(), mysql.TablePrefix(prefix))
		if in, err := s.Inspect(soon(t)); err != nil || len(in.Faults) > 0 {
			t.Errorf("%q, made by hand: %+v, %v", prefix, in, err)
		}
		stored(t, s, []task.Task{plainTask()})
		run(t, db, "DROP TABLE "+prefix+"ax_keys;\nALTER TABLE "+prefix+"ax_tasks DROP KEY "+prefix+
			"ax_tasks_rest")
		in, err := s.Inspect(soon(t))
		want := []store.SchemaFault{{Object: "table", Name: prefix + "ax_keys", Problem: "missing"},
			{Object: "index", Name: prefix + "ax_tasks_rest", Problem: "missing"}}
		if err != nil || len(in.Faults) != 2 || in.Faults[0] != want[0] || in.Faults[1] != want[1] {
			t.Errorf("%q: %+v, %v", prefix, in.Faults, err)
		}
	}
	if script, err := mysql.Dump(1); err != nil || script != "" {
		t.Errorf("from the newest version: %q, %v", script, err)
	}
}

func TestTwoServicesInOneDatabase(t *testing.T) {
	dsn := testdb.MySQL(t)
	a, b := openStore(t, dsn), openStore(t, dsn, mysql.TablePrefix("b_"))
	tk := stored(t, a, makeTasks(1, keyedTask))[0]
	if _, err := b.ByKey(t.Context(), tk.Kind, tk.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the task of one service is in the other: %v", err)
	}
	for _, s := range []*mysql.Store{a, b} {
		if _, err := s.Install(soon(t), 0, 0, "me"); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignSettings: whatever the sessions of a program are set to, the store works, and they are
// as before when it gives them back.
func TestForeignSettings(t *testing.T) {
	cfg, err := driver.ParseDSN(testdb.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Params = map[string]string{"time_zone": "'+05:45'", "innodb_lock_wait_timeout": "7",
		"sql_mode": "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"}
	cfg.ClientFoundRows, cfg.ParseTime, cfg.Collation = true, true, "latin1_general_ci"
	dsn := cfg.FormatDSN()
	db := handle(t, dsn)
	over, err := mysql.New(context.WithoutCancel(t.Context()), db)
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	for name, s := range map[string]*mysql.Store{"over": over, "own": openStore(t, dsn)} {
		tk := keyedTask()
		tk.Key += `'"\ü%` + "\x00\xff"
		stored(t, s, []task.Task{tk})
		rows, err := s.Tasks(t.Context(), []task.ID{tk.ID})
		if err != nil || len(rows) != 1 || rows[0].Key != tk.Key {
			t.Fatalf("%s: %+v, %v", name, rows, err)
		}
		rs, err := s.Apply(t.Context(), store.Fence{}, claims(rows, 0))
		if err != nil || rs[0].Status != store.Applied {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
	}
	var wait int
	var mode, zone string
	if err := db.QueryRowContext(t.Context(), `SELECT @@innodb_lock_wait_timeout, @@sql_mode,
		@@time_zone`).Scan(&wait, &mode, &zone); err != nil || wait != 7 || zone != "+05:45" ||
		!strings.Contains(mode, "ANSI_QUOTES") {
		t.Errorf("after the store a session has %d, %s, %s, %v", wait, mode, zone, err)
	}
}

func TestNewNeedsConnections(t *testing.T) {
	db := handle(t, testdb.MySQL(t))
	db.SetMaxOpenConns(4)
	if _, err := mysql.New(soon(t), db); err == nil || !strings.Contains(err.Error(), "needs 5") {
		t.Errorf("got %v", err)
	}
}

// TestReadOnly: a replica is refused, and so are writes when the server becomes one.
func TestReadOnly(t *testing.T) {
	server := testdb.StartMariaDB(t, testdb.Options{Fast: true})
	dsn := server.Database(t)
	db := handle(t, dsn)
	run(t, db, "CREATE USER shop IDENTIFIED BY 'p:/@';\nGRANT ALL ON *.* TO shop;\n"+
		"REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM shop")
	cfg, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	guest := "mariadb://shop:p%3A%2F%40@localhost/" + cfg.DBName + "?socket=" + cfg.Addr +
		"&timeout=10s"
	s := openStore(t, guest)
	run(t, db, "SET GLOBAL read_only = 1")
	if _, err := s.Insert(soon(t), store.Fence{}, makeTasks(1, plainTask)); !errors.Is(err,
		store.ErrReadOnly) {
		t.Errorf("a write gave %v", err)
	}
	if s, err := mysql.Open(soon(t), guest); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Open gave %v, %v", s, err)
	}
	run(t, db, "SET GLOBAL read_only = 0")
	stored(t, s, makeTasks(1, plainTask))
}
