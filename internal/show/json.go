package show

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ax-sched/ax/task"
)

// Stamp is the form of all times: UTC, RFC 3339 with milliseconds.
const Stamp = "2006-01-02T15:04:05.000Z07:00"

// Time is an instant as all commands print it, "" if it is not set.
func Time(t task.Time) string {
	if t == 0 {
		return ""
	}
	return t.Go().Format(Stamp)
}

// Task is a task as every --json prints it. Times that are not set are null, and so are options
// that the kind decides.
type Task struct {
	ID           string            `json:"id"`
	Run          int               `json:"run"`
	Kind         string            `json:"kind"`
	Key          string            `json:"key"`
	State        string            `json:"state"`
	LastOutcome  string            `json:"last_outcome"`
	Priority     string            `json:"priority"`
	Group        string            `json:"group"`
	Job          string            `json:"job"`
	OwnerService string            `json:"owner_service"`
	Labels       map[string]string `json:"labels"`
	Attempt      int               `json:"attempt"`
	MaxRetries   *int              `json:"max_retries"`
	Failures     int               `json:"failures"`
	Dispatches   int               `json:"dispatch_retry_count"`
	Recoveries   int               `json:"recoveries"`
	Reason       string            `json:"reason"`
	Error        string            `json:"error"`
	Executor     string            `json:"executor"`
	ExecutionID  string            `json:"execution_id"`
	Token        int64             `json:"token"`
	Version      int64             `json:"version"`
	TimeoutMS    *int64            `json:"timeout_ms"`      // 0 is none
	OnUnknown    string            `json:"on_unknown"`      // "" as the kind says
	MaxLateMS    *int64            `json:"max_lateness_ms"` // these two: null as the kind says
	MaxLifeMS    *int64            `json:"max_lifetime_ms"`
	ExpiresAt    *string           `json:"expires_at"`
	FireTime     *string           `json:"fire_time"`
	FireFrom     *string           `json:"fire_from"`  // first of the fires it stands for
	FireCount    int               `json:"fire_count"` // how many these are; 0: not of a job
	CancelAsked  *string           `json:"cancel_requested_at"`
	StopAsked    *string           `json:"stop_requested_at"`
	RunAt        *string           `json:"run_at"`
	DispatchedAt *string           `json:"dispatched_at"`
	StartedAt    *string           `json:"started_at"`
	FinishedAt   *string           `json:"finished_at"`
	LastRetryAt  *string           `json:"last_retry_at"`
	TriggeredAt  *string           `json:"triggered_at"`
	CreatedAt    *string           `json:"created_at"`
	UpdatedAt    *string           `json:"updated_at"`
}

// Entry is one row of a history.
type Entry struct {
	Version     int64   `json:"version"`
	At          *string `json:"at"`
	From        string  `json:"from"`
	To          string  `json:"to"`
	Event       string  `json:"event"`
	Actor       string  `json:"actor"`
	Reason      string  `json:"reason"`
	ExecutionID string  `json:"execution_id"`
	Attempt     int     `json:"attempt"`
	Executor    string  `json:"executor"`
	Token       int64   `json:"token"`
	Detail      string  `json:"detail"`
}

// Row is a task in its JSON shape.
func Row(t *task.Task) Task {
	j := Task{ID: t.ID.String(), Run: t.Run, Kind: t.Kind, Key: t.Key,
		State: t.State.String(), LastOutcome: t.LastOutcome.String(), Priority: t.Bucket.String(),
		Group: t.Group, Job: t.Job, OwnerService: t.OwnerService, Labels: t.Labels,
		Attempt: t.Attempt, Failures: t.Failures, Dispatches: t.Dispatches,
		Recoveries: t.Recoveries, Reason: t.Reason.String(), Error: t.Error,
		Executor: t.Executor, ExecutionID: t.ExecutionID.String(), Token: t.Token,
		Version: t.Version, FireTime: timeJSON(t.FireTime), RunAt: timeJSON(t.RunAt),
		FireFrom: timeJSON(t.FireFrom), FireCount: t.FireCount,
		CancelAsked: timeJSON(t.CancelAsked), StopAsked: timeJSON(t.StopAsked),
		DispatchedAt: timeJSON(t.DispatchedAt), StartedAt: timeJSON(t.StartedAt),
		FinishedAt: timeJSON(t.FinishedAt), LastRetryAt: timeJSON(t.LastRetryAt),
		TriggeredAt: timeJSON(t.TriggeredAt), CreatedAt: timeJSON(t.CreatedAt),
		UpdatedAt: timeJSON(t.UpdatedAt)}
	if j.Labels == nil {
		j.Labels = map[string]string{}
	}
	if n := t.MaxRetries; n >= 0 {
		j.MaxRetries = &n
	}
	j.OnUnknown, j.ExpiresAt = t.OnUnknown.String(), timeJSON(t.ExpiresAt)
	j.TimeoutMS, j.MaxLateMS = spanJSON(t.Timeout), spanJSON(t.MaxLateness)
	j.MaxLifeMS = spanJSON(t.MaxLifetime)
	return j
}

// spanJSON is a duration that may not be set; NoTimeout is 0.
func spanJSON(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := max(d.Milliseconds(), 0)
	return &ms
}

func entries(es []task.Entry) []Entry {
	out := make([]Entry, len(es))
	for i, e := range es {
		from := ""
		if e.From != task.None {
			from = e.From.String()
		}
		out[i] = Entry{Version: e.Version, At: timeJSON(e.At), From: from,
			To: e.To.String(), Event: e.Event.String(), Actor: e.Actor,
			Reason: e.Reason.String(), ExecutionID: e.ExecutionID.String(), Attempt: e.Attempt,
			Executor: e.Executor, Token: e.Token, Detail: e.Detail}
	}
	return out
}

func timeJSON(t task.Time) *string {
	if t == 0 {
		return nil
	}
	s := Time(t)
	return &s
}

// JSON writes a value on one line, with < > & as they are.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
