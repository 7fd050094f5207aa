package postgres

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/ax-sched/ax/task"
)

// TestStatesInSQL compares the numbers written in SQL with package task.
func TestStatesInSQL(t *testing.T) {
	b, err := fs.ReadFile(migrations, "migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema := string(b)
	list := func(want func(task.State) bool) string {
		var nums []string
		for _, s := range task.States() {
			if want(s) {
				nums = append(nums, fmt.Sprint(uint8(s)))
			}
		}
		return "(" + strings.Join(nums, ", ") + ")"
	}
	for name, tt := range map[string]struct{ in, want string }{
		"check":      {schema, "CHECK (state IN " + list(task.State.Resting) + ")"},
		"due index":  {schema, fmt.Sprintf("WHERE state = %d", task.Scheduled)},
		"live index": {schema, "WHERE state IN " + list(task.State.Live)},
		"rest index": {schema, "WHERE state IN " + list(rests)},
		"list":       {string(listRest), "state IN " + list(rests)},
		"live":       {string(liveTasks), "state IN " + list(task.State.Live)},
		"epoch":      {string(liveOfEpoch), "state IN " + list(task.State.Live)},
		"unique key": {string(applyMoves), "NOT IN " + list(task.State.Final)},
		"prune":      {string(pruneTasks), "state IN " + list(task.State.Final)},
		"count rest": {string(countTasks), "state = 11 AND state IN " + list(rests)},
		"count live": {string(countTasks), "state = 4 AND state IN " + list(task.State.Live)},
		"due":        {string(scanDue), fmt.Sprintf("state = %d", task.Scheduled)},
		"claimed": {string(insertTasks), fmt.Sprintf("WHEN state = %d THEN %d ELSE %d",
			task.Running, task.SubmitClaimed, task.Submit)},
		"latest": {string(insertTasks), fmt.Sprint(int64(task.MaxTime))},
	} {
		if !strings.Contains(tt.in, tt.want) {
			t.Errorf("%s: there is no %q", name, tt.want)
		}
	}
	if m := regexp.MustCompile(`schema\.ax_\w+`).FindAllString(schema, -1); len(m) < 10 {
		t.Errorf("only %d qualified names", len(m))
	}
}
