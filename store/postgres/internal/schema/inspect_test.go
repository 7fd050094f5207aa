package schema

import (
	"context"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestTransactions: one that another program has open is found, by its age.
func TestTransactions(t *testing.T) {
	dsn := testdb.Postgres(t)
	c, other := connect(t, dsn), connect(t, dsn+"&application_name=report")
	before := time.Now().Add(-time.Second)
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	found, err := transactions(t.Context(), c, 0)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	x := found[0]
	if x.Program != "report" || x.State != "idle in transaction" || x.Session == 0 || x.Age <= 0 ||
		x.Since.Go().Before(before) {
		t.Errorf("found %+v", x)
	}
	if found, err := transactions(t.Context(), c, time.Hour); err != nil || len(found) > 0 {
		t.Errorf("none is open for an hour: %+v, %v", found, err)
	}
}
