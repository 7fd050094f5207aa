package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store/postgres/internal/aside"
	"github.com/jackc/pgx/v5"
)

// planned are the statements whose plan must not change unseen, with the number of their
// parameters.
var planned = []struct {
	name string
	verb verb
	args int
}{
	{"readTasks", readTasks, 1},
	{"readByKey", readByKey, 2},
	{"listTasks", listTasks, 5},
	{"listRest", listRest, 5},
	{"listJob", listJob, 6},
	{"readHistory", readHistory, 1},
	{"scanDue", scanDue, 7},
	{"liveTasks", liveTasks, 3},
	{"liveOfEpoch", liveOfEpoch, 4},
	{"existing", existing, 6},
	{"refused", refused, 2},
	{"lockFree", lockFree, 2},
	{"applyMoves", applyMoves, 48},
	{"insertTasks", insertTasks, 53},
	{"insertOne", insertOne, 18},
	{"takeKeys", takeKeys, 3},
	{"ownKeys", ownKeys, 3},
	{"freeKeys", freeKeys, 3},
	{"keepKeys", keepKeys, 6},
	{"dropKeys", dropKeys, 5},
	{"keepers", keepers, 4},
	{"pruneKept", pruneKept, 4},
	{"keepKeysTx", keepKeysTx, 2},
	{"dropKeysTx", dropKeysTx, 2},
	{"keepersTx", keepersTx, 2},
	{"insertTx", insertTx, 3},
	{"existingTx", existingTx, 1},
	{"completeTx", completeTx, 2},
	{"expiredTasks", expiredTasks, 1},
	{"pageTasks", pageTasks, 4},
	{"pruneTasks", pruneTasks, 6},
	{"countTasks", countTasks, 1},
	{"writeNotes", aside.WriteNotes, 16},
	{"readNotes", aside.ReadNotes, 1},
	{"readLog", aside.ReadLog, 4},
	{"readLogNewest", aside.ReadLogNewest, 4},
	{"readRunLog", aside.ReadRunLog, 5},
	{"readRunLogNewest", aside.ReadRunLogNewest, 5},
}

// fill makes 120,000 tasks, of which most have succeeded, with their history.
const fill = `
INSERT INTO schema.ax_tasks (id, kind, grp, key, job, job_id, fire_time, run_at, version,
    created_at, updated_at, epoch, state, bucket, ukey)
SELECT ('0197f3a2-7c1e-7b6a-9f00-' || lpad(to_hex(n), 12, '0'))::uuid, 'kind-' || n % 20,
       'group-' || n % 3, CASE WHEN n % 2 = 0 THEN 'key-' || n END,
       CASE WHEN n % 10 = 0 THEN 'job-' || n % 100 END,
       CASE WHEN n % 10 = 0
            THEN ('0197f3a2-7c1e-7b6a-9f01-' || lpad(to_hex(n % 100), 12, '0'))::uuid END,
       n, 1000000 + n, 3, n, n, n % 7, s.state, 1 + n % 4, n % 2 = 0 AND s.state IN (2, 4)
  FROM generate_series(1, 120000) AS n,
       LATERAL (SELECT CASE WHEN n % 100 = 0 THEN 8 WHEN n % 50 = 1 THEN 4 WHEN n % 10 = 2 THEN 2
                       ELSE 5 END AS state) s;
INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event)
SELECT id, v, 1, 2, 4, 11 FROM schema.ax_tasks, generate_series(1, 3) AS v;
INSERT INTO schema.ax_kept_keys
SELECT kind, key, id, nullif(run_at % 1000, 0)
  FROM (SELECT *, row_number() OVER (PARTITION BY kind, key) AS r FROM schema.ax_tasks
         WHERE key IS NOT NULL) t WHERE r = 1;
INSERT INTO schema.ax_progress
SELECT id, id, 1, 1, 2 FROM schema.ax_tasks;
INSERT INTO schema.ax_logs
SELECT id, id, n, 1, 0, 'text' FROM schema.ax_tasks, generate_series(1, 3) AS n;
INSERT INTO schema.ax_keys
SELECT 'key-' || n, gen_random_uuid() FROM generate_series(1, 5000) AS n;
ANALYZE;`

// TestPlans compares the generic plans, which the store asks for, with a golden file. AX_GOLDEN=1
// rewrites it.
func TestPlans(t *testing.T) {
	dsn := testdb.StartPostgres(t, testdb.Options{Fast: true}).Database(t)
	s, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	exec := func(sql string) {
		if _, err := c.PgConn().Exec(t.Context(), s.render(sql)).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	exec(fill)
	exec("SET plan_cache_mode = force_generic_plan; SET jit = off")
	var got strings.Builder
	for _, p := range planned {
		exec("PREPARE " + p.name + " AS " + string(p.verb))
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", p.args), ", ")
		rows, err := c.Query(t.Context(),
			fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE %s (%s)", p.name, nulls),
			pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		fmt.Fprintf(&got, "-- %s\n%s\n\n", p.name, structure(lines))
		// SUCCEEDED has no index: it is counted from the first page on, up to the limit.
		if n := strings.Count(strings.Join(lines, "\n"), "Seq Scan on ax_tasks"); n > 1 ||
			n == 1 && p.name != "countTasks" {
			t.Errorf("%s reads the whole table", p.name)
		}
	}
	golden(t, "testdata/plans.golden", got.String())
}

// structure keeps the nodes and index conditions of a plan, and drops what only repeats the
// statement: long lists of expressions.
func structure(lines []string) string {
	var keep []string
	for _, l := range lines {
		s := strings.TrimSpace(l)
		if strings.HasPrefix(s, "Filter:") || strings.HasPrefix(s, "Output:") {
			continue
		}
		keep = append(keep, strings.TrimRight(l, " "))
	}
	return strings.Join(keep, "\n")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("AX_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the plans differ from %s (AX_GOLDEN=1 rewrites it):\n%s", file, got)
	}
}
