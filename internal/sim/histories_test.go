package sim

import (
	"errors"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// badHistory breaks one promise.
type badHistory struct {
	rule, name string
	feed       func(h *history)
}

func badHistories() []badHistory {
	all := append(badWrites(), badRuns()...)
	all = append(append(all, badSuspects()...), badFires()...)
	all = append(append(all, badOnce()...), badLines()...)
	return append(all, badEnds()...)
}

// retries is a policy that retries what is lost.
func retries(*task.Task) complete.Policy { return complete.Policy{} }

// badWrites are writes that no store should take, and answers that no store should give.
func badWrites() []badHistory {
	return []badHistory{
		{"I7", "stale token", func(h *history) {
			r := h.submit("quick", "")
			old := h.fence()
			h.installed(h.p, 2)
			h.apply(old, complete.Claim(&r.Task, h.id(), "n0", epochOne, 1))
		}},
		{"I7", "claim without a fence", func(h *history) {
			r := h.submit("quick", "")
			h.apply(store.Fence{}, complete.Claim(&r.Task, h.id(), "n0", epochOne, 1))
		}},
		{"I7", "token jumps", func(h *history) { h.installed(h.p, 7) }},
		{"I7", "started without a fence", func(h *history) {
			t := task.Task{ID: h.id(), Kind: "quick", MaxRetries: -1}
			t.State, t.RunAt, t.Run = task.Running, h.now(), 1
			h.insert(t)
		}},
		{"I3", "claimed early", func(h *history) {
			t := task.Task{ID: h.id(), Kind: "quick", MaxRetries: -1}
			t.State, t.Run, t.RunAt = task.Scheduled, 1, h.now().Add(time.Second)
			h.insert(t)
			h.claim(h.rows[t.ID])
		}},
		{"LOOP", "claimed again and again before its time", func(h *history) {
			t := task.Task{ID: h.id(), Kind: "quick", MaxRetries: -1}
			t.State, t.Run, t.RunAt = task.Scheduled, 1, h.now().Add(time.Second)
			h.insert(t)
			for range mostEarly {
				tr := complete.Claim(&h.rows[t.ID].Task, h.id(), "n0", epochOne, h.token)
				h.applied(h.p, h.fence(), []*task.Transition{tr},
					[]store.Result{{Status: store.NotDue, At: h.now()}})
			}
		}},
		{"I8", "batch refused as illegal", func(h *history) { h.failed("apply", task.ErrIllegal) }},
		{"I8", "old version", func(h *history) {
			r, _ := h.start("quick", "")
			tr := complete.Cancel(&r.Task, "me", "")
			tr.Version--
			h.apply(store.Fence{}, tr)
		}},
		{"I8", "illegal move", func(h *history) {
			r := h.submit("quick", "")
			tr := task.Begin(&r.Task)
			tr.Moves = []task.Move{{Event: task.Succeed, From: task.Running, To: task.Succeeded}}
			tr.Set.State = task.Succeeded
			h.apply(store.Fence{}, tr)
		}},
		{"I8", "conflict without a reason", func(h *history) {
			r := h.submit("quick", "")
			h.applied(h.p, store.Fence{}, []*task.Transition{complete.Cancel(&r.Task, "me", "")},
				[]store.Result{{Status: store.Conflict, At: h.now()}})
		}},
		{"I8", "canceled and nobody asked", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutCanceled})
		}},
		{"I10", "repeat made another row", func(h *history) {
			r := h.submit("quick", "")
			h.inserted(h.p, store.Fence{}, []task.Task{r.Task}, []store.Inserted{{ID: h.id()}})
		}},
		{"I11", "two live tasks of one key", func(h *history) {
			h.submit("quick", "k")
			h.submit("quick", "k")
		}},
		{"I11", "duplicate of a finished task", func(h *history) {
			r := h.submit("quick", "k")
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.inserted(h.p, store.Fence{}, []task.Task{{ID: h.id(), Kind: "quick", Key: "k"}},
				[]store.Inserted{{ID: r.ID, Duplicate: true}})
		}},
		{"I11", "two tasks of one window", func(h *history) {
			r := h.keeping(task.UniqueFor(time.Minute))
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.wait(time.Minute - time.Microsecond)
			h.keeping(task.UniqueFor(time.Second))
		}},
		{"I11", "duplicate after the window", func(h *history) {
			r := h.keeping(task.UniqueFor(time.Minute))
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.wait(time.Minute)
			h.inserted(h.p, store.Fence{}, []task.Task{{ID: h.id(), Kind: "quick", Key: "k",
				Unique: task.UniqueForever}}, []store.Inserted{{ID: r.ID, Duplicate: true,
				At: h.now()}})
		}},
		{"I11", "duplicate of a finished task without a scope", func(h *history) {
			r := h.keeping(task.UniqueForever)
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.inserted(h.p, store.Fence{}, []task.Task{{ID: h.id(), Kind: "quick", Key: "k"}},
				[]store.Inserted{{ID: r.ID, Duplicate: true, At: h.now()}})
		}},
		{"I12", "failure not counted", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			tr := task.Begin(&r.Task).Then(task.Fail, 0, "").Then(task.Retry, 0, "")
			tr.Set.RunAt, tr.Set.RunIn = task.StoreNow, 600*time.Millisecond
			h.apply(store.Fence{}, tr)
		}},
		{"I12", "too soon", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutFailed, HasDelay: true})
		}},
		{"I12", "tried again after a permanent error", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: permanent})
			h.report(r, task.Report{Outcome: task.OutFailed})
		}},
		{"I12", "given up with retries left", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutFailed, Permanent: true})
		}},
		{"I17", "two live tasks of one overlap key", func(h *history) {
			for range 2 {
				t := task.Task{ID: h.id(), Kind: "quick", OverlapKey: "o", Overlap: task.OverlapSkip,
					MaxRetries: -1}
				t.State, t.Run, t.RunAt = task.Scheduled, 1, h.now()
				h.insert(t)
				h.claim(h.rows[t.ID])
			}
		}},
	}
}

// badRuns are handlers that should not run, and reports that are not true.
func badRuns() []badHistory {
	return []badHistory{
		{"I2", "claimed late", func(h *history) {
			r := h.submit("quick", "")
			h.wait(5 * time.Second)
			h.claim(r)
		}},
		{"I2", "never claimed", func(h *history) {
			h.submit("quick", "")
			h.wait(6 * time.Second)
			h.look(h.now())
		}},
		{"I6", "unknown execution", func(h *history) {
			r := h.submit("quick", "")
			r.ExecutionID = h.id()
			h.begin(r)
		}},
		{"I6", "started twice", func(h *history) {
			r, _ := h.start("quick", "")
			h.begin(r)
		}},
		{"I6", "started after it was handed back", func(h *history) {
			r := h.submit("quick", "")
			h.claim(r)
			old := *r
			h.report(r, task.Report{Outcome: task.OutReleased})
			h.begin(&old)
		}},
		{"I6", "lost with a live lease", func(h *history) {
			r, _ := h.start("quick", "")
			h.apply(h.fence(), complete.Lose([]task.Task{r.Task}, h.now(), retries)[0])
		}},
		{"I6", "success that was none", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutSucceeded})
		}},
		{"I6", "handed back while it runs", func(h *history) {
			r, _ := h.start("quick", "")
			h.report(r, task.Report{Outcome: task.OutReleased})
		}},
		{"I6", "timed out before its time", func(h *history) {
			r, x := h.start("quick", "")
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutTimeout})
		}},
		{"I6", "second attempt beside the first", func(h *history) {
			r, _ := h.start("quick", "")
			r.State, r.RunAt = task.Scheduled, h.now() // as if the table had forgotten
			h.claim(r)
		}},
		{"I12", "stopped before its time-out", func(h *history) {
			r, _ := h.start("quick", "")
			h.apply(store.Fence{}, complete.Stop(&r.Task))
		}},
		{"I14", "nobody runs it", func(h *history) {
			h.claim(h.submit("quick", ""))
			h.wait(10 * time.Second)
			h.look(h.now())
		}},
		{"I17", "more than the slots", func(h *history) {
			for range 3 {
				h.start("long", "")
			}
		}},
		{"I17", "more than the kind may", func(h *history) {
			h.slots = 9
			for range 3 {
				h.start("narrow", "")
			}
		}},
		{"H11", "started after the lease", func(h *history) {
			r := h.submit("quick", "")
			h.claim(r)
			h.wait(2 * time.Minute)
			h.begin(r)
		}},
		{"D01", "started long after the stop", func(h *history) {
			h.p.stopping, h.p.stopAt = true, h.at
			h.wait(startSlack + time.Second)
			h.start("quick", "")
		}},
		{"D01", "left while handlers run", func(h *history) {
			h.start("quick", "")
			h.left(h.p, epochOne)
		}},
		{"T02", "lost just after a renewal", func(h *history) {
			h.renewed(epochOne)
			h.wait(time.Second)
			h.declaredLost(epochOne)
		}},
		{"H13", "lost although nothing was wrong", func(h *history) {
			h.wait(time.Minute)
			h.declaredLost(epochOne)
		}},
		{"H01", "retired epoch renewed", func(h *history) {
			h.left(h.p, epochOne)
			h.renewed(epochOne)
		}},
		{"I23", "leadership moves for no reason", func(h *history) {
			h.calm = true
			h.installed(h.p, 2)
		}},
	}
}

// badSuspects are tasks that are blamed for the death of an executor.
func badSuspects() []badHistory {
	suspect := func(h *history) (*shadow, *run) {
		t := task.Task{ID: h.id(), Kind: "long", MaxRetries: -1}
		t.State, t.Run, t.RunAt = task.Scheduled, 1, h.now()
		t.Recoveries = complete.MaxRecoveries
		h.insert(t)
		h.claim(h.rows[t.ID])
		return h.rows[t.ID], h.begin(h.rows[t.ID])
	}
	lose := func(h *history, r *shadow) { // as if it had just started
		h.died(h.p)
		h.wait(time.Minute)
		h.declaredLost(epochOne)
		h.apply(h.fence(), complete.Lose([]task.Task{r.Task}, r.StartedAt, retries)[0])
	}
	return []badHistory{
		{"R04", "two at a time", func(h *history) {
			suspect(h)
			h.wait(complete.SuspectTime / 2)
			suspect(h)
		}},
		{"R04", "condemned after hours", func(h *history) {
			r, _ := suspect(h)
			h.wait(time.Hour)
			h.renewed(epochOne)
			lose(h, r)
		}},
		{"R04", "condemned for its follower", func(h *history) {
			r, _ := suspect(h)
			h.wait(complete.SuspectTime)
			h.believes(epochOne, h.at)
			suspect(h)
			lose(h, r)
		}},
	}
}

// badFires are fires that are missing, doubled, early or wrongly collapsed.
func badFires() []badHistory {
	return []badHistory{
		{"I1", "a fire is left out", func(h *history) {
			j := h.job()
			h.wait(25 * time.Second)
			h.fireFor(j, 20*time.Second, 0, 1)
		}},
		{"I1", "counted wrongly", func(h *history) {
			j := h.job()
			h.wait(35 * time.Second)
			h.fireFor(j, 30*time.Second, j.Anchor.Add(10*time.Second), 2)
		}},
		{"I1", "off the schedule", func(h *history) {
			j := h.job()
			h.wait(25 * time.Second)
			h.fireFor(j, 11*time.Second, 0, 1)
		}},
		{"I4", "twice", func(h *history) {
			j := h.job()
			h.wait(15 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
			j.LastFire = j.Anchor
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I3", "in the future", func(h *history) { h.fireFor(h.job(), 10*time.Second, 0, 1) }},
		{"I1", "never", func(h *history) {
			h.job()
			h.wait(time.Minute)
			h.owing(h.now(), 20*time.Second)
		}},
		{"I1", "of a deleted job", func(h *history) {
			j := h.job()
			h.wait(15 * time.Second)
			h.deleted("j", h.now())
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I1", "new schedule owes old fires", func(h *history) {
			j := h.job().Job
			h.wait(time.Minute)
			j.Schedule.Every = time.Second
			h.put(j, h.now())
		}},
		{"I1", "cursor moves back", func(h *history) {
			j := h.job().Job
			j.LastFire--
			h.put(j, h.now())
		}},
		{"I7", "without a fence", func(h *history) { h.fired(h.p, store.Fence{}, nil, nil, 0) }},
		{"I1", "longer after its time than its jitter", func(h *history) {
			j := h.job()
			h.wait(15 * time.Second)
			t := task.Task{ID: h.id(), Kind: j.Kind, FireTime: j.Anchor.Add(10 * time.Second),
				FireCount: 1}
			t.State, t.Run, t.RunAt = task.Scheduled, 1, t.FireTime+1
			h.fired(h.p, h.fence(), []store.Fire{{JobID: j.ID, Version: 1, Task: t}},
				[]store.FireResult{{Status: store.Fired, Row: store.Inserted{ID: t.ID, Version: 1,
					State: t.State, RunAt: t.RunAt, At: h.now()}}}, h.now())
		}},
		{"I1", "steer of an old version", func(h *history) {
			j := h.job().Job
			h.steered(j.ID, 0, j)
		}},
		{"I1", "before the start", func(h *history) {
			j := h.job()
			j.StartsAt = j.Anchor.Add(20 * time.Second)
			h.wait(15 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I20", "paused", func(h *history) {
			j := h.job()
			j.PausedAt = 1
			h.wait(15 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I20", "more than the most", func(h *history) {
			j := h.job()
			j.MaxFires = 1
			h.wait(25 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
			h.fireFor(j, 20*time.Second, 0, 1)
		}},
		{"I20", "runs although it was to be skipped", func(h *history) {
			j := h.job()
			j.SkipUntil = j.Anchor.Add(10 * time.Second)
			h.wait(15 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I20", "a skip takes an earlier fire along", func(h *history) {
			j := h.job()
			j.SkipUntil = j.Anchor.Add(20 * time.Second)
			h.wait(15 * time.Second)
			h.skipFor(j, 10*time.Second, task.ByRequest)
		}},
		{"I20", "a run stands for the one to be skipped", func(h *history) {
			j := h.job()
			j.SkipUntil = j.Anchor.Add(10 * time.Second)
			h.wait(25 * time.Second)
			h.fireFor(j, 20*time.Second, j.Anchor.Add(10*time.Second), 2)
		}},
		{"I20", "skipped and nobody asked", func(h *history) {
			j := h.job()
			h.wait(15 * time.Second)
			h.skipFor(j, 10*time.Second, task.ByRequest)
		}},
		{"I20", "misfired against the policy", func(h *history) {
			j := h.job()
			h.wait(25 * time.Second)
			h.skipFor(j, 10*time.Second, task.Misfired)
		}},
		{"I20", "misfired within the grace", func(h *history) {
			j := h.job()
			j.Misfire, j.MisfireGrace = task.MisfireSkip, time.Minute
			h.wait(15 * time.Second)
			h.skipFor(j, 10*time.Second, task.Misfired)
		}},
		{"I20", "runs too late", func(h *history) {
			j := h.job()
			j.Misfire = task.MisfireSkip
			h.wait(20 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
		{"I20", "one run for several that run all", func(h *history) {
			j := h.job()
			j.Misfire, j.MisfireCap = task.MisfireAll, 3
			h.wait(25 * time.Second)
			h.fireFor(j, 20*time.Second, j.Anchor.Add(10*time.Second), 2)
		}},
		{"I20", "more than the cap", func(h *history) {
			j := h.job()
			j.Misfire = task.MisfireAll
			h.wait(15 * time.Second)
			h.fireFor(j, 10*time.Second, 0, 1)
		}},
	}
}

// badEnds are tables that do not say what was written.
func badEnds() []badHistory {
	return []badHistory{
		{"I9", "gap in the history", func(h *history) {
			r, _ := h.start("quick", "")
			h.row(&r.Task, r.log[1:])
		}},
		{"I9", "history ends elsewhere", func(h *history) {
			r, _ := h.start("quick", "")
			h.row(&r.Task, r.log[:1])
		}},
		{"I9", "another history", func(h *history) {
			r, _ := h.start("quick", "")
			log := append([]task.Entry(nil), r.log...)
			log[0].At++
			h.row(&r.Task, log)
		}},
		{"I8", "row changed behind", func(h *history) {
			r := h.submit("quick", "")
			t := r.Task
			t.Failures++
			h.row(&t, r.log)
		}},
		{"I8", "moved after its end", func(h *history) {
			r := h.submit("quick", "")
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.wait(time.Second)
			r.record(h.now(), task.Move{Event: task.Stop, From: r.State, To: r.State})
			h.row(&r.Task, r.log)
		}},
		{"I10", "acknowledged and missing", func(h *history) { h.ack(h.id()) }},
		{"I10", "acknowledged and never ended", func(h *history) {
			h.ack(h.submit("quick", "").ID)
			h.done(1)
		}},
		{"I10", "rows missing", func(h *history) {
			r := h.submit("quick", "")
			h.apply(store.Fence{}, complete.Cancel(&r.Task, "me", ""))
			h.done(0)
		}},
		{"I8", "cancel forgotten", func(h *history) {
			r, x := h.start("quick", "")
			h.ackCancel(r.ID)
			h.finished(x, verdict{kind: permanent})
			h.report(r, task.Report{Outcome: task.OutFailed, Permanent: true,
				Error: errors.New("x").Error()})
			h.done(1)
		}},
		{"I11", "key never freed", func(h *history) {
			h.keys[[2]string{"quick", "k"}] = h.id()
			h.done(0)
		}},
		{"I17", "overlap key never freed", func(h *history) {
			h.holds["o"] = &shadow{}
			h.done(0)
		}},
	}
}
