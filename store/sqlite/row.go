package sqlite

import (
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// hotColumns is the number of parameters that bindHot binds, counted from ?1.
const hotColumns = 25

// bindHot binds the changing part of a task, with its version and its latest history row.
func bindHot(s *lite.Stmt, m *task.Mutable, version, hist int64, now task.Time) {
	s.Int(1, int64(m.State))
	s.Int(2, version)
	s.Int(3, hist)
	s.Int(4, int64(m.RunAt))
	s.Int(5, int64(now))
	s.Int(6, int64(m.LastOutcome))
	s.Int(7, int64(m.Reason))
	s.Int(8, int64(m.Run))
	s.Int(9, int64(m.Attempt))
	s.Int(10, int64(m.Failures))
	s.Int(11, int64(m.Dispatches))
	s.Int(12, int64(m.Recoveries))
	s.Text(13, m.Executor)
	s.Int(14, m.Epoch)
	bindID(s, 15, &m.ExecutionID)
	s.Int(16, m.Token)
	s.Int(17, int64(m.DispatchedAt))
	s.Int(18, int64(m.StartedAt))
	s.Int(19, int64(m.FinishedAt))
	s.Int(20, int64(m.LastRetryAt))
	s.Int(21, int64(m.TriggeredAt))
	s.Int(22, int64(m.CancelAsked))
	s.Int(23, int64(m.StopAsked))
	s.Text(24, m.Error)
	s.Blob(25, m.Result)
}

// bindID binds an id; the zero id is NULL.
func bindID(s *lite.Stmt, i int, id *task.ID) {
	if id.IsZero() {
		s.Null(i)
		return
	}
	s.Blob(i, id[:])
}

// readID reads an id; NULL is the zero id.
func readID(s *lite.Stmt, i int) (id task.ID) {
	s.CopyBlob(i, id[:])
	return id
}

// bindSpec binds what is fixed when a task is made.
func bindSpec(s *lite.Stmt, n int64, t *task.Task, labels string, now task.Time) {
	s.Int(1, n)
	s.Text(2, t.Key)
	bindID(s, 3, &t.JobID)
	s.Text(4, t.Job)
	s.Int(5, int64(t.FireTime))
	s.Int(6, int64(t.FireFrom))
	s.Int(7, int64(t.FireCount))
	s.Int(8, int64(t.Overlap))
	s.Text(9, t.OverlapKey)
	s.Int(10, int64(t.MaxRetries))
	s.Int(11, int64(t.Timeout))
	s.Text(12, t.RetryPolicy)
	s.Text(13, t.OwnerService)
	s.Text(14, labels)
	s.Int(15, int64(now))
	s.Blob(16, t.Payload)
	bindOption(s, 17, int64(t.OnUnknown))
	bindOption(s, 18, int64(t.MaxLateness))
	bindOption(s, 19, int64(t.MaxLifetime))
}

// bindOption binds what most rows do not have: 0 is NULL, which takes no room.
func bindOption(s *lite.Stmt, i int, v int64) {
	if v == 0 {
		s.Null(i)
		return
	}
	s.Int(i, v)
}

// readTask reads a row of one of the select statements of whole rows.
func readTask(s *lite.Stmt) (task.Task, error) {
	labels, err := store.ParseLabels(s.ColText(42))
	return task.Task{
		Mutable: readMutable(s),
		Version: s.ColInt(1), UpdatedAt: task.Time(s.ColInt(4)),
		ID: readID(s, 26), Group: s.ColText(27), Bucket: task.Bucket(s.ColInt(28)),
		Kind: s.ColText(29), Key: s.ColText(30), JobID: readID(s, 31), Job: s.ColText(32),
		FireTime: task.Time(s.ColInt(33)), FireFrom: task.Time(s.ColInt(34)),
		FireCount: int(s.ColInt(35)), Overlap: task.Overlap(s.ColInt(36)),
		OverlapKey: s.ColText(37), MaxRetries: int(s.ColInt(38)),
		Timeout: time.Duration(s.ColInt(39)), RetryPolicy: s.ColText(40),
		OwnerService: s.ColText(41), Labels: labels, CreatedAt: task.Time(s.ColInt(43)),
		Payload: s.ColBlob(44), ExpiresAt: task.Time(s.ColInt(45)),
		OnUnknown:   task.Unknown(s.ColInt(46)),
		MaxLateness: time.Duration(s.ColInt(47)), MaxLifetime: time.Duration(s.ColInt(48)),
	}, err
}

func readMutable(s *lite.Stmt) task.Mutable {
	return task.Mutable{
		State: task.State(s.ColInt(0)), RunAt: task.Time(s.ColInt(3)),
		LastOutcome: task.Outcome(s.ColInt(5)), Reason: task.Reason(s.ColInt(6)),
		Run: int(s.ColInt(7)), Attempt: int(s.ColInt(8)), Failures: int(s.ColInt(9)),
		Dispatches: int(s.ColInt(10)), Recoveries: int(s.ColInt(11)), Executor: s.ColText(12),
		Epoch: s.ColInt(13), ExecutionID: readID(s, 14), Token: s.ColInt(15),
		DispatchedAt: task.Time(s.ColInt(16)), StartedAt: task.Time(s.ColInt(17)),
		FinishedAt: task.Time(s.ColInt(18)), LastRetryAt: task.Time(s.ColInt(19)),
		TriggeredAt: task.Time(s.ColInt(20)), CancelAsked: task.Time(s.ColInt(21)),
		StopAsked: task.Time(s.ColInt(22)), Error: s.ColText(23), Result: s.ColBlob(24),
	}
}
