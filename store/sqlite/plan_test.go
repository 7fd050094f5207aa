package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// planned lists the statements that search for something, by name.
var planned = []struct{ name, query string }{
	{"lastTask", lastTask}, {"lastHistory", lastHistory}, {"findTask", findTask},
	{"moveTask", moveTask}, {"dropTask", dropTask}, {"freeUnique", freeUnique},
	{"findUnique", findUnique}, {"keeper", keeper}, {"dropUnique", dropUnique},
	{"keptOver", keptOver}, {"pruneKept", pruneKept},
	{"keyOf", keyOf}, {"holder", holder}, {"freeKey", freeKey},
	{"selectTask", selectTask}, {"selectByKey", selectByKey}, {"selectLive", selectLive},
	{"selectExpired", selectExpired},
	{"selectList", selectList}, {"selectRest", selectRest}, {"selectDue", selectDue},
	{"latestEntry", latestEntry},
	{"selectHistory", selectHistory}, {"countTasks", countTasks}, {"selectToken", selectToken},
	{"pageTasks", pageTasks}, {"pruneTask", pruneTask}, {"pruneSpec", pruneSpec},
	{"trimLog", trimLog}, {"selectNotes", selectNotes},
	{"selectLog", selectLog}, {"selectLogNewest", selectLogNewest},
	{"selectRunLog", selectRunLog}, {"selectRunLogNewest", selectRunLogNewest},
	{"pruneProgress", pruneProgress}, {"pruneLog", pruneLog},
	{"previous", previous}, {"pruneEntry", pruneEntry},
	{"jobByName", jobByName}, {"jobsSince", jobsSince}, {"jobExists", jobExists},
	{"deleteJob", deleteJob}, {"steerJob", steerJob}, {"jobCursor", jobCursor},
	{"moveCursor", moveCursor},
	{"selectKinds", selectKinds}, {"findInstance", findInstance}, {"retireName", retireName},
	{"changeMember", changeMember}, {"renewMember", renewMember}, {"retireMember", retireMember},
	{"isMember", isMember}, {"selectMembers", selectMembers},
	{"insertHistoryTx", insertHistoryTx}, {"findUniqueTx", findUniqueTx},
	{"keeperTx", keeperTx}, {"dropUniqueTx", dropUniqueTx},
	{"findTaskTx", findTaskTx}, {"dropTaskTx", dropTaskTx}, {"recordDoneTx", recordDoneTx},
	{"doneTx", doneTx}, {"freeUniqueTx", freeUniqueTx}, {"freeKeyTx", freeKeyTx},
}

// fill makes 100,000 finished, 2,000 scheduled and 500 running tasks.
const fill = `
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 102500)
INSERT INTO ax_tasks SELECT n, unhex(printf('%032x', n)), 'default', 3, 'kind',
  CASE WHEN n <= 100000 THEN 5 WHEN n <= 102000 THEN 2 ELSE 4 END,
  1, n, n, n, 0, 0, 1, 0, 0, 0, 0, '', 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, '', NULL, NULL
FROM i;
INSERT INTO ax_specs SELECT n, '', NULL, '', 0, 0, 0, 0, '', -1, 0, '', '', '', 0, NULL, NULL,
  NULL, NULL FROM ax_tasks;
INSERT INTO ax_history SELECT n, 0, n, 1, n, 0, 2, 1, 0, 0, 0, 0, '', NULL, '', '' FROM ax_tasks;
INSERT INTO ax_progress SELECT n, id, 1, 1, 2, NULL FROM ax_tasks;
INSERT INTO ax_logs SELECT n, id, 1, 1, 0, 'text' FROM ax_tasks;
ANALYZE;`

// TestPlans compares how SQLite answers each statement with a golden file: an index that is lost
// is a difference there. AX_GOLDEN=1 rewrites it.
func TestPlans(t *testing.T) {
	c, err := prepare(filepath.Join(t.TempDir(), "ax.db"), newOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Without statistics, as in a new file, and with those of a large one.
	var got strings.Builder
	for _, part := range []struct{ title, script string }{
		{"without statistics", ""}, {"with statistics of 102,500 tasks", fill},
	} {
		if err := c.Exec(part.script); err != nil {
			t.Fatal(err)
		}
		got.WriteString("# " + part.title + "\n")
		for _, p := range planned {
			explain(t, c, &got, p.name, p.query)
		}
	}
	path := filepath.Join("testdata", "plans.golden")
	if os.Getenv("AX_GOLDEN") == "1" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
	if diff != "" {
		t.Errorf("the plans changed (-golden +now); AX_GOLDEN=1 rewrites the file:\n%s", diff)
	}
}

func explain(t *testing.T, c *lite.Conn, out *strings.Builder, name, query string) {
	t.Helper()
	out.WriteString(name + "\n")
	err := each(c, "EXPLAIN QUERY PLAN "+query, nothing, func(s *lite.Stmt) error {
		out.WriteString("  " + s.ColText(3) + "\n")
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestStatesAreChecked: the constraint on ax_tasks allows the states that a row can rest in, and
// no other; that of ax_history allows those that an entry can have.
func TestStatesAreChecked(t *testing.T) {
	c, err := prepare(filepath.Join(t.TempDir(), "ax.db"), newOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(fill); err != nil {
		t.Fatal(err)
	}
	history := make(map[task.State]bool)
	for _, s := range task.States() {
		history[s] = true
	}
	for s := range task.State(20) {
		rests := s.Resting() && history[s]
		for query, allowed := range map[string]bool{
			"UPDATE ax_tasks SET state = ?1 WHERE n = 1":                 rests,
			"UPDATE ax_history SET to_state = ?1 WHERE h = 1":            history[s],
			"UPDATE ax_history SET from_state = ?1 WHERE h = 1":          history[s] || s == task.None,
			"UPDATE ax_tasks SET bucket = ?1 WHERE n = 1":                task.Bucket(s).Valid(),
			"UPDATE ax_tasks SET id = zeroblob(?1) WHERE n = 1 AND 0<?1": s == 16 || s == 0,
		} {
			st, err := c.Stmt(query)
			if err != nil {
				t.Fatal(err)
			}
			st.Int(1, int64(s))
			if err := st.Run(); (err == nil) != allowed {
				t.Errorf("%s with %d: %v; want allowed %t", query, s, err, allowed)
			}
		}
	}
}
