package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/store/sqlite"
)

// talker runs a task whose first attempt fails and whose second one waits, after it has said
// something, until goOn.
func talker(t *testing.T, path string) (id ax.ID, goOn func()) {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ax.New(st, ax.Config{NodeID: "talker", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	wait, said := make(chan bool), make(chan bool, 1)
	err = s.Handle("talk", func(ctx context.Context, tk *ax.Task) error {
		log := ax.Logger(ctx)
		if tk.Attempt == 1 {
			log.Warn("first attempt", "n", 1)
			return ax.RetryIn(time.Millisecond, errors.New("not yet"))
		}
		log.Info("red \x1b[31m\nand a second line")
		ax.Progress(ctx, 3, 4)
		err := ax.Output(ctx, map[string]string{"file": "a.csv"})
		said <- true
		<-wait
		log.Error("the end")
		return err
	}, ax.Timeout(ax.NoTimeout))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, st.Close()); err != nil {
			t.Error(err)
		}
	})
	res, err := s.Submit(t.Context(), ax.NewTask{Kind: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	<-said
	return res.ID, func() { close(wait) }
}

// TestLogsAndShow: what a handler says is seen from another process while it runs and afterwards.
func TestLogsAndShow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ax.db")
	id, goOn := talker(t, path)
	db := []string{id.String(), "--db", "sqlite:" + path}
	ax := func(args ...string) result {
		t.Helper()
		r := runAx(t, "", append([]string{"tasks", args[0]}, append(args[1:], db...)...)...)
		if r.code != 0 {
			t.Fatalf("ax tasks %q: %+v", args, r)
		}
		return r
	}
	follow := start(t, append([]string{"tasks", "logs", "--follow"}, db...)...)
	follow.await("WARN  first attempt n=1")
	follow.await("INFO  red \u241b[31m")
	follow.await("    and a second line")

	text := strings.Join(strings.Fields(ax("show").out), " ")
	for _, want := range []string{"progress 3 of 4 (75 %), said at 20", `output {"file":"a.csv"}`,
		"RUN ATTEMPT EXECUTOR STARTED TOOK OUTCOME EXECUTION ERROR 1 1 talker ", " failed ",
		" not yet 1 2 talker ", " WARN first attempt n=1 ", " INFO red \u241b[31m and a second"} {
		if !strings.Contains(text, want) {
			t.Errorf("ax tasks show: no %q in %s", want, text)
		}
	}
	var v show.Detail
	if err := json.Unmarshal([]byte(ax("show", "--json").out), &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Executions) != 2 || len(v.Log) != 2 || v.Progress == nil || v.Progress.Done != 3 ||
		v.Progress.Total != 4 || string(v.Output) != `{"file":"a.csv"}` || v.Result != nil {
		t.Fatalf("ax tasks show --json: %+v", v)
	}
	first, second := v.Executions[0], v.Executions[1]
	if first.Outcome != "failed" || first.Class != "retryable" || first.Error != "not yet" ||
		first.DurationMS == nil || second.Outcome != "" || second.FinishedAt != nil ||
		second.ID != v.Progress.Execution || second.ID != v.Task.ExecutionID {
		t.Errorf("executions: %+v", v.Executions)
	}
	r := ax("logs", "--execution", first.ID, "--json")
	var l show.Line
	if err := json.Unmarshal([]byte(r.out), &l); err != nil || l.Text != "first attempt n=1" ||
		l.Level != "WARN" || l.Execution != first.ID || l.At == nil || l.Seq != 1 {
		t.Errorf("ax tasks logs --json: %s, %v", r.out, err)
	}
	if r := ax("logs", "--last", "1"); strings.Contains(r.out, "first") ||
		!strings.Contains(r.out, "second line") {
		t.Errorf("ax tasks logs --last 1: %q", r.out)
	}

	goOn()
	follow.await("ERROR the end")
	if code := follow.wait(); code != 0 {
		t.Errorf("--follow ended with status %d: %s", code, follow.errs.String())
	}
	text = strings.Join(strings.Fields(ax("show").out), " ")
	if !strings.Contains(text, `result {"file":"a.csv"}`) || strings.Contains(text, "output {") {
		t.Errorf("ax tasks show of a task that has ended: %s", text)
	}
}
