package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ax-sched/ax/task"
)

// held: nobody knows how the last attempt ended.
func (e *examiner) held() {
	if len(e.Held) == 0 {
		return
	}
	ids, why, locked := []task.ID{}, map[string]int{}, 0
	for i := range e.Held {
		t := &e.Held[i]
		ids = append(ids, t.ID)
		why[t.Kind+", "+t.Reason.String()]++
		if t.OverlapKey != "" {
			locked++
		}
	}
	oldest := e.Held[len(e.Held)-1]
	f := Finding{Code: "task.held", Severity: Warning, Count: len(ids), IDs: some(ids),
		What: fmt.Sprintf("%s in HELD, the oldest since %s: %s", count(len(ids), "task"),
			e.age(oldest.UpdatedAt), most(why)),
		Why: "nobody knows how far the last attempt came, so a person must look at its effect and " +
			"decide",
		Do: []string{"ax tasks list --state held", "ax tasks resolve " + ids[0].String() +
			" --as rerun|succeeded|dead --reason '...'"}}
	if locked > 0 {
		f.Severity = Error
		f.What += fmt.Sprintf("; %d of them keep an overlap key", locked)
		f.Why += "; until then nothing else with the same overlap key runs"
	}
	e.add(f)
}

// dead: work that was given up. What is older than a day was seen before.
func (e *examiner) dead() {
	ids, why := []task.ID{}, map[string]int{}
	for i := range e.Dead {
		t := &e.Dead[i]
		if e.Now.Sub(t.UpdatedAt) > recently || t.Reason == task.GivenUp {
			continue
		}
		ids = append(ids, t.ID)
		why[t.Kind+", "+t.Reason.String()]++
	}
	if len(ids) == 0 {
		return
	}
	e.add(Finding{Code: "task.dead", Severity: Warning, Count: len(ids), IDs: some(ids),
		What: fmt.Sprintf("%s ended in DEAD in the last day: %s", count(len(ids), "task"), most(why)),
		Why:  "they do not run again by themselves, and retention deletes them in the end",
		Do: []string{"ax tasks show " + ids[0].String(), "when the cause is mended: " +
			"ax tasks retry --state dead --kind KIND --dry-run --reason '...'"}})
}

// timeouts: a kind whose attempts end by their hard time-out again and again.
func (e *examiner) timeouts() {
	type kind struct {
		ids       []task.ID
		worst, ok int
	}
	kinds := map[string]*kind{}
	for _, t := range e.tasks() {
		if e.Now.Sub(t.UpdatedAt) > recently {
			continue
		}
		k := kinds[t.Kind]
		if k == nil {
			k = &kind{}
			kinds[t.Kind] = k
		}
		switch {
		case t.LastOutcome == task.OutTimeout:
			k.ids = append(k.ids, t.ID)
			k.worst = max(k.worst, t.Failures)
		case t.State == task.Succeeded:
			k.ok++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		if len(k.ids) < timeOuts && k.worst < timeOuts {
			continue
		}
		s := Warning
		if k.ok == 0 {
			s = Error
		}
		e.add(Finding{Code: "task.timeouts", Severity: s, Count: len(k.ids), IDs: some(k.ids),
			What: fmt.Sprintf("the last attempt of %s of kind %s timed out, the worst after %s; %d of "+
				"the kind succeeded", count(len(k.ids), "task"), name, count(k.worst, "failure"), k.ok),
			Why: "each attempt costs the whole time-out, and the next one will most likely end alike",
			Do: []string{"ax tasks show " + k.ids[0].String(),
				"raise the kind's time-out (ax.Timeout; timeout: in a file of jobs), or make the " +
					"handler faster or end with its context"}})
	}
}
