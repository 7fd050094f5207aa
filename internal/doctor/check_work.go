package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ax-sched/ax/task"
)

// leader: nobody decides what runs.
func (e *examiner) leader() {
	if !e.Known || e.Leader.Held() {
		return
	}
	overdue, oldest := 0, task.Time(0)
	for _, w := range e.Waiting {
		for _, d := range w.Due {
			if e.Now.Sub(d.RunAt) <= lateAfter {
				break
			}
			if overdue++; oldest == 0 || d.RunAt < oldest {
				oldest = d.RunAt
			}
		}
	}
	late := 0
	for i := range e.Jobs {
		if next := e.missed(&e.Jobs[i].Job); next != 0 {
			late++
			if oldest == 0 || next < oldest {
				oldest = next
			}
		}
	}
	var running []task.ID
	for i := range e.Live {
		if e.Now.Sub(e.Live[i].UpdatedAt) > lateAfter {
			running = append(running, e.Live[i].ID)
		}
	}
	n := overdue + late + len(running)
	if n == 0 && e.Leader.Holder == "" {
		return // nothing waits: a database that is not in use
	}
	f := Finding{Code: "leader.none", Severity: Warning, Count: max(n, 1), IDs: some(running),
		What: "no process leads",
		Why: "nothing starts, and nothing that was cut off is recovered, until a process runs " +
			"(*Scheduler).Run, or `ax run`, on this database",
		Do: []string{"start the service, or find out why it does not lead: its log says so at the " +
			"start", "ax tasks list --state scheduled,running"}}
	if e.Leader.Holder != "" {
		f.What = fmt.Sprintf("no process leads: the lease of %s ended %s ago and nobody took it",
			e.Leader.Holder, span(e.Leader.Left))
	}
	if overdue+late > 0 {
		f.What += fmt.Sprintf("; %s and %s wait, the oldest for %s", count(overdue, "task"),
			count(late, "fire"), e.age(oldest))
	}
	if len(running) > 0 {
		f.What += "; " + count(len(running), "execution") + " may have been cut off"
	}
	if n > 0 {
		f.Severity = Error
	}
	e.add(f)
}

// pile is what is overdue of one kind in one group.
type pile struct {
	kind, group string
	ids         []task.ID
	oldest      task.Time
	moved       int
	running     int // of the same kind
}

// piles sorts what is overdue by kind, without tasks that wait for an overlap key which is busy.
func (e *examiner) piles() []*pile {
	byKind, busy := map[[2]string]*pile{}, e.busyKeys()
	for _, w := range e.Waiting {
		for _, d := range w.Due {
			if e.Now.Sub(d.RunAt) <= lateAfter {
				break
			}
			if busy[w.Keys[d.ID]] {
				continue
			}
			name := [2]string{d.Kind, w.Group}
			p := byKind[name]
			if p == nil {
				p = &pile{kind: d.Kind, group: w.Group, oldest: d.RunAt}
				byKind[name] = p
			}
			p.ids, p.oldest = append(p.ids, d.ID), min(p.oldest, d.RunAt)
			if w.Moved[d.ID] {
				p.moved++
			}
		}
	}
	for i := range e.Live {
		if p := byKind[[2]string{e.Live[i].Kind, e.Live[i].Group}]; p != nil {
			p.running++
		}
	}
	return slices.SortedFunc(maps.Values(byKind), func(a, b *pile) int {
		return int(min(max(a.oldest-b.oldest, -1), 1))
	})
}

// backlog: somebody leads, and tasks are due for long all the same.
func (e *examiner) backlog() {
	if e.Known && !e.Leader.Held() {
		return // one finding says it
	}
	kinds, groups := map[string]bool{}, map[string]bool{}
	for _, k := range e.Kinds {
		kinds[k.Name] = true
	}
	for _, m := range e.Members {
		groups[m.Group] = true
	}
	for _, p := range e.piles() {
		f := Finding{Count: len(p.ids), IDs: some(p.ids), Severity: Error,
			Do: []string{"ax tasks show " + p.ids[0].String()}}
		what := fmt.Sprintf("%s of kind %s, the oldest since %s", count(len(p.ids), "due task"),
			p.kind, e.age(p.oldest))
		switch {
		case !groups[p.group]:
			f.Code = "group.no_executor"
			f.What = fmt.Sprintf("no executor of group %s is there for %s", p.group, what)
			f.Why = "tasks wait until a process with Config.Group of that name leads"
			f.Do = append(f.Do, "start a process of group "+p.group+", or submit to another group")
		case !kinds[p.kind]:
			f.Code = "kind.unknown"
			f.What = "no process has ever had a handler for " + what
			f.Why = "tasks of a kind without a handler wait for ever; the name may be misspelt"
			f.Do = append(f.Do, "deploy a process with Handle(\""+p.kind+"\", ...), or: "+
				"ax tasks cancel --kind "+p.kind+" --state scheduled --reason '...'")
		case p.moved+p.running == 0:
			f.Code = "backlog.stuck"
			f.What = what + " wait; none moves and none runs"
			f.Why = "a process leads, but has no handler for the kind, no free slot, or cannot claim"
			f.Do = append(f.Do, "look into the log of "+e.Leader.Holder+
				" for its kinds, slots and errors")
		case e.Now.Sub(p.oldest) > slowAfter:
			f.Code, f.Severity = "backlog.slow", Warning
			f.What = fmt.Sprintf("%s wait; %d run, and %d moved while this looked", what, p.running,
				p.moved)
			f.Why = "more becomes due than the slots can take"
			f.Do = append(f.Do, "raise Config.Slots, or make the handlers of "+p.kind+" faster")
		default:
			continue
		}
		e.add(f)
	}
}

// executors: those whose lease has ended, and executions that belong to nobody.
func (e *examiner) executors() {
	alive := map[int64]bool{}
	for _, m := range e.Members {
		alive[m.Epoch] = true
		if m.Until == task.MaxTime || e.Now.Sub(m.Until) <= lateAfter {
			continue
		}
		n := 0
		for i := range e.Live {
			if e.Live[i].Epoch == m.Epoch {
				n++
			}
		}
		f := Finding{Code: "executor.expired", Severity: Warning, Count: 1, IDs: []string{m.Name},
			What: fmt.Sprintf("executor %s (epoch %d) was last heard before %s, and %s of it are open",
				m.Name, m.Epoch, e.age(m.Until), count(n, "execution")),
			Why: "the leader hands its work to others when it retires the epoch, within seconds",
			Do:  []string{"see that a process leads; then this goes by itself"}}
		if n > 0 {
			f.Severity = Error
		}
		e.add(f)
	}
	var lost []task.ID
	for i := range e.Live {
		t := &e.Live[i]
		if t.Epoch != 0 && !alive[t.Epoch] && e.Now.Sub(t.UpdatedAt) > lateAfter {
			lost = append(lost, t.ID)
		}
	}
	if len(lost) > 0 {
		e.add(Finding{Code: "execution.orphan", Severity: Error, Count: len(lost), IDs: some(lost),
			What: fmt.Sprintf("%s run on executors that are gone", count(len(lost), "task")),
			Why:  "the leader starts them again or holds them, which takes seconds; nobody does",
			Do: []string{"see that a process leads, and look into its log for errors of the sweep",
				"ax tasks list --state running"}})
	}
}
