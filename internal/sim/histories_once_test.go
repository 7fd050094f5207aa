package sim

import (
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// badOnce are tasks that run again although nobody may decide that but a person.
func badOnce() []badHistory {
	die := func(h *history) {
		h.died(h.p)
		h.wait(time.Minute)
		h.declaredLost(epochOne)
	}
	return []badHistory{
		{"I24", "recovered", func(h *history) {
			r, _ := h.start(onceKind, "")
			die(h)
			h.apply(h.fence(), complete.Lose([]task.Task{r.Task}, h.now(), retries)[0])
		}},
		{"I24", "begins twice", func(h *history) {
			r, _ := h.start(onceKind, "")
			die(h)
			tr := complete.Claim(&r.Task, h.id(), "n0", epochOne, h.token)
			h.tasks[r.ID] = append(h.tasks[r.ID], &run{id: tr.Set.ExecutionID, task: r.ID})
			h.atMostOnce(h.tasks[r.ID][1], &r.Task)
		}},
		{"I24", "held against its policy", func(h *history) {
			r, _ := h.start("quick", "")
			die(h)
			held := func(*task.Task) complete.Policy {
				return complete.Policy{OnUnknown: task.UnknownHold}
			}
			h.apply(h.fence(), complete.Lose([]task.Task{r.Task}, h.now(), held)[0])
		}},
		{"I6", "handed back after it had begun", func(h *history) {
			r, x := h.start(onceKind, "")
			h.toldToStop(x, ax.ErrShutdown)
			h.finished(x, verdict{kind: fails})
			h.report(r, task.Report{Outcome: task.OutReleased, Error: "stopped"})
		}},
	}
}
