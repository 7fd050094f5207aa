package guides

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

func sealed(st ax.Store, file string) (*ax.Scheduler, error) {
	box, err := seal.ReadFile(file) // the first key seals, all open
	if err != nil {
		return nil, err
	}
	return ax.New(st, ax.Config{Seal: box})
}

// The keys of the test, in the order in which they were made.
const (
	oldKey = "2026-05 nXJH0f5UO4cz2qTRwLJGxkqU4nAmaFMNEJsB9rq2x1s=\n"
	newKey = "2026-11 a6oO7PV0b8ryfOaAo0NnXEd6fXuUcbNAzLBYw5mfkXo=\n"
)

// TestRotation goes through a rotation on both databases, and counts as the guide says.
func TestRotation(t *testing.T) {
	queries := sqlBlocks(read(t, "embed.md"))
	if len(queries) != 2 {
		t.Fatalf("the guide has %d queries", len(queries))
	}
	path := filepath.Join(t.TempDir(), "ax.db")
	onFile, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer onFile.Close()
	dsn := testdb.Postgres(t)
	onServer, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer onServer.Close()
	for i, c := range []struct {
		st          ax.Store
		driver, dsn string
	}{
		{onFile, "sqlite", "file:" + path},
		{onServer, "pgx", dsn},
	} {
		t.Run(c.driver, func(t *testing.T) {
			db, err := sql.Open(c.driver, c.dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			plain, err := ax.New(c.st, ax.Config{})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, plain, "0")
			rotate(t, c.st, func(want string) {
				t.Helper()
				if got := count(t, db, queries[i]); got != want {
					t.Errorf("the query counts %q, want %q", got, want)
				}
			})
		})
	}
}

// fill submits a task and puts two jobs, one of which has no payload.
func fill(t *testing.T, a *ax.Scheduler, key string) {
	t.Helper()
	ctx := t.Context()
	_, err := a.Delay(ctx, "charge", key, time.Hour, []byte("4111 1111 1111 1111"))
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{"bare": nil, "full": []byte("all of it")} {
		if err := a.PutJob(ctx, ax.JobSpec{Name: name, Kind: "report", Schedule: ax.Every(time.Hour),
			Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
}

func rotate(t *testing.T, st ax.Store, want func(counts string)) {
	t.Helper()
	ctx := t.Context()
	for i, step := range []struct{ keys, counts string }{
		{"", "not sealed 2"},
		{oldKey, "2026-05 2, not sealed 1"},
		{oldKey + newKey, "2026-05 3, not sealed 1"},
		{newKey + oldKey, "2026-05 2, 2026-11 2, not sealed 1"},
	} {
		if step.keys == "" {
			want(step.counts)
			continue
		}
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(step.keys), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := sealed(st, file)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, a, fmt.Sprint(i))
		want(step.counts)
		rows, err := a.List(ctx, ax.Filter{Kind: "charge"})
		if err != nil || len(rows) != i+1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for _, row := range rows {
			row, err := a.Get(ctx, row.ID)
			if err != nil || string(row.Payload) != "4111 1111 1111 1111" {
				t.Errorf("step %d: %q, %v", i, row.Payload, err)
			}
		}
	}
}

// count runs a query of the guide.
func count(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %d", id, n))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, ", ")
}

func sqlBlocks(text string) (blocks []string) {
	for i, part := range strings.Split(text, "```sql\n") {
		if i > 0 {
			block, _, _ := strings.Cut(part, "```")
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// TestSealedFileHasNoPlaintext reads the whole file of a SQLite store.
func TestSealedFileHasNoPlaintext(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte(newKey), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(filepath.Join(dir, "ax.db"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := sealed(st, keys)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, a, "1007")
	ctx, cancel := context.WithCancel(t.Context())
	if err := a.Handle("charge", func(_ context.Context, t *ax.Task) error {
		defer cancel()
		if string(t.Payload) != "now 4111 1111 1111 1111" {
			return fmt.Errorf("%d bytes", len(t.Payload))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Delay(ctx, "charge", "", 0, []byte("now 4111 1111 1111 1111")); err != nil {
		t.Fatal(err)
	}
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "ax.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("4111 1111")) || bytes.Contains(b, []byte("all of it")) {
			t.Errorf("%s has a payload in it", f)
		}
		if f == filepath.Join(dir, "ax.db") && !bytes.Contains(b, []byte("\xffaxseal1 2026-11\n")) {
			t.Errorf("%s has no sealed payload", f)
		}
	}
}
