package sim

import (
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// waits inserts a task that is due and wants the key "o".
func (h *history) waits(o task.Overlap) *shadow {
	t := task.Task{ID: h.id(), Kind: "quick", OverlapKey: "o", Overlap: o, MaxRetries: -1,
		FireTime: h.now()}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, h.now()
	h.insert(t)
	return h.rows[t.ID]
}

// badLines break the order of those who wait for one key.
func badLines() []badHistory {
	return []badHistory{
		{"I25", "claimed between two attempts of another one", func(h *history) {
			first, second := h.waits(task.OverlapQueue), h.waits(task.OverlapQueue)
			h.claim(first)
			x := h.begin(first)
			h.finished(x, verdict{kind: fails})
			h.report(first, task.Report{Outcome: task.OutFailed})
			delete(h.holds, "o") // the store has let it go
			h.claim(second)
		}},
		{"I25", "claimed before one that waits", func(h *history) {
			first := h.waits(task.OverlapQueue)
			h.wait(time.Millisecond)
			second := h.waits(task.OverlapQueue)
			tr := complete.Claim(&first.Task, h.id(), "n0", epochOne, h.token)
			holder := &shadow{}
			h.holds["o"] = holder
			h.applied(h.p, h.fence(), []*task.Transition{tr},
				[]store.Result{{Status: store.KeyBusy, At: h.now()}})
			delete(h.holds, "o")
			h.claim(second)
		}},
		{"I25", "ended for a task that replaces nothing", func(h *history) {
			first, second := h.waits(task.OverlapReplace), h.waits(task.OverlapSkip)
			h.claim(first)
			h.apply(h.fence(), complete.Cancel(&first.Task, "",
				"replaced by task "+second.ID.String()))
		}},
		{"I1", "superseded although it queues", func(h *history) {
			h.apply(h.fence(), complete.Supersede(&h.waits(task.OverlapQueue).Task))
		}},
	}
}
