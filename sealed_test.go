package ax_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

func sealKey(id string, b byte) seal.Key {
	return seal.Key{ID: id, Secret: bytes.Repeat([]byte{b}, 32)}
}

func box(t *testing.T, primary seal.Key, older ...seal.Key) *seal.Box {
	t.Helper()
	b, err := seal.New(primary, older...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// payloads notes what handlers got, by key or, of jobs, by name.
type payloads struct {
	mu  sync.Mutex
	got map[string]string
}

func (p *payloads) handle(_ context.Context, t *ax.Task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.got == nil {
		p.got = map[string]string{}
	}
	p.got[t.Job+t.Key] += string(t.Payload)
	return nil
}

func (p *payloads) of(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got[name]
}

// raw reads the rows of tasks and jobs as the store has them.
func raw(t *testing.T, st ax.Store) (ps [][]byte) {
	t.Helper()
	list, err := st.List(t.Context(), store.Query{})
	must(t, err)
	for _, row := range list {
		full, err := st.Tasks(t.Context(), []task.ID{row.ID})
		must(t, err)
		ps = append(ps, full[0].Payload)
	}
	js, err := st.Jobs(t.Context(), 0)
	must(t, err)
	for _, j := range js {
		ps = append(ps, j.Payload)
	}
	return ps
}

// TestSealed: on both databases, whatever way a payload goes in, the rows hold none of it, and the
// handler, the typed one too, and Get and Jobs see it.
func TestSealed(t *testing.T) {
	bothShops(t, ax.Config{Seal: box(t, sealKey("k1", 1))}, func(x *shop) {
		var p payloads
		must(x.T, x.Handle("k", p.handle))
		must(x.T, ax.HandleFunc(x.Scheduler, func(ctx context.Context, t *ax.TaskOf[closeOrder]) error {
			return p.handle(ctx, &ax.Task{Key: "typed", Payload: fmt.Append(nil, t.Args.OrderID)})
		}))
		x.start()
		const secret = "the secret of "
		ids := map[string]ax.ID{}
		submit := func(name string, res ax.Result, err error) {
			x.Helper()
			must(x.T, err)
			ids[name] = res.ID
		}
		task := func(key string) ax.NewTask {
			return ax.NewTask{Kind: "k", Key: key, Payload: []byte(secret + key)}
		}
		res, err := x.Submit(x.ctx, task("submit"))
		submit("submit", res, err)
		res, err = x.Delay(x.ctx, "k", "delay", time.Millisecond, []byte(secret+"delay"))
		submit("delay", res, err)
		res, err = x.Submit(x.ctx, ax.NewTask{Args: closeOrder{OrderID: 1007}})
		submit("typed", res, err)
		many, err := x.SubmitMany(x.ctx, []ax.NewTask{task("many1"), task("many2")})
		must(x.T, err)
		ids["many1"], ids["many2"] = many[0].ID, many[1].ID
		tx := x.begin(x.ctx)
		res, err = x.SubmitTx(x.ctx, tx, task("tx"))
		submit("tx", res, errors.Join(err, tx.Commit()))
		must(x.T, x.PutJob(x.ctx, ax.JobSpec{Name: "job", Kind: "k", Schedule: ax.At(time.Now()),
			Payload: []byte(secret + "job")}))
		must(x.T, x.PutJob(x.ctx, ax.JobSpec{Name: "never", Kind: "k", Schedule: ax.Every(time.Hour),
			Overlap: ax.Allow, Payload: []byte(secret + "never")}))
		res, err = x.TriggerJob(x.ctx, "never", ax.JobRun{Key: "other",
			Payload: []byte(secret + "other")}, ax.By{})
		submit("neverother", res, err)
		res, err = x.TriggerJob(x.ctx, "never", ax.JobRun{}, ax.By{})
		submit("never", res, err)

		for name, want := range map[string]string{"submit": secret + "submit",
			"delay": secret + "delay", "typed": "1007", "many1": secret + "many1",
			"many2": secret + "many2", "tx": secret + "tx", "job": secret + "job",
			"never": secret + "never" + secret + "other"} {
			if name == "never" { // two runs, in any order
				x.await("both runs", func() bool { return len(p.of(name)) == len(want) })
				continue
			}
			x.await(name, func() bool { return p.of(name) == want })
		}
		rows := raw(x.T, x.st)
		for _, row := range rows {
			if id, ok := seal.KeyID(row); !ok || id != "k1" || bytes.Contains(row, []byte("secret")) ||
				bytes.Contains(row, []byte("1007")) {
				x.Errorf("stored %q", row)
			}
		}
		if len(rows) != 11 {
			x.Errorf("%d rows", len(rows))
		}
		row, err := x.Get(x.ctx, ids["submit"])
		if err != nil || string(row.Payload) != secret+"submit" {
			x.Errorf("Get: %q, %v", row.Payload, err)
		}
		js, err := x.Jobs(x.ctx)
		if err != nil || len(js) != 2 || string(js[1].Payload) != secret+"never" {
			x.Errorf("Jobs: %+v, %v", js, err)
		}
		// A duplicate is found without opening anything.
		res, err = x.Delay(x.ctx, "k", "dup", time.Hour, []byte("a"))
		must(x.T, err)
		if again, err := x.Delay(x.ctx, "k", "dup", time.Hour, []byte("b")); err != nil ||
			!again.Duplicate || again.ID != res.ID {
			x.Errorf("%+v, %v", again, err)
		}
	})
}

// TestSealedLimit: the limit is that of the plaintext, and the stores take what sealing adds.
func TestSealedLimit(t *testing.T) {
	if seal.MaxOverhead > task.MaxStored-max(task.MaxPayload, task.MaxResult) {
		t.Error("stores need not keep the largest sealed payload")
	}
	b := box(t, sealKey(strings.Repeat("k", 64), 1))
	bothShops(t, ax.Config{Seal: b}, func(x *shop) {
		full := bytes.Repeat([]byte{0xff}, task.MaxPayload)
		res, err := x.Submit(x.ctx, ax.NewTask{Kind: "k", Payload: full})
		must(x.T, err)
		tx := x.begin(x.ctx)
		inTx, err := x.SubmitTx(x.ctx, tx, ax.NewTask{Kind: "k", Payload: full})
		must(x.T, errors.Join(err, tx.Commit()))
		for _, id := range []ax.ID{res.ID, inTx.ID} {
			if row, err := x.Get(x.ctx, id); err != nil || !bytes.Equal(row.Payload, full) {
				x.Errorf("%d bytes, %v", len(row.Payload), err)
			}
		}
		must(x.T, x.PutJob(x.ctx, ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Every(time.Hour),
			Payload: full}))
		_, err = x.Submit(x.ctx, ax.NewTask{Kind: "k", Payload: append(full, 0)})
		wantField(x.T, "one more byte", err, "payload")
		_, err = x.TriggerJob(x.ctx, "j", ax.JobRun{Payload: append(full, 0)}, ax.By{})
		wantField(x.T, "one more byte for a job", err, "payload")
	})
}

// TestSealedJobPutAgain: the same payload is no change, from another process neither; a new key
// is one, and owes no fire.
func TestSealedJobPutAgain(t *testing.T) {
	k1, k2 := sealKey("k1", 1), sealKey("k2", 2)
	put := func(x *shop, b *seal.Box, name, payload string) (versions int64, key string) {
		x.Helper()
		a, err := ax.New(x.st, ax.Config{Logger: quiet, Seal: b})
		must(x.T, err)
		must(x.T, a.PutJob(x.ctx, ax.JobSpec{Name: name, Kind: "k", Schedule: ax.Every(time.Hour),
			Payload: []byte(payload)}))
		js, err := x.st.Jobs(x.ctx, 0)
		must(x.T, err)
		i := slices.IndexFunc(js, func(j task.Job) bool { return j.Name == name })
		key, _ = seal.KeyID(js[i].Payload)
		return js[i].Version, key
	}
	bothShops(t, ax.Config{}, func(x *shop) {
		for i, step := range []struct {
			b       *seal.Box
			payload string
			version int64
			key     string
		}{
			{nil, "a", 1, ""},
			{nil, "a", 1, ""},
			{box(t, k1), "a", 2, "k1"}, // sealed at the next put
			{box(t, k1), "a", 2, "k1"},
			{box(t, k1, k2), "a", 2, "k1"}, // the new key is known
			{box(t, k2, k1), "a", 3, "k2"}, // and seals
			{box(t, k2), "a", 3, "k2"},
			{box(t, k2), "b", 4, "k2"},
		} {
			if v, key := put(x, step.b, "j", step.payload); v != step.version || key != step.key {
				x.Errorf("step %d: version %d, key %q; want %+v", i, v, key, step)
			}
		}
		if _, key := put(x, box(t, k2), "other", "b"); key != "k2" {
			x.Errorf("key %q", key)
		}
		js, err := x.st.Jobs(x.ctx, 0)
		must(x.T, err)
		if bytes.Equal(js[0].Payload, js[1].Payload) {
			x.Error("two jobs show that their payloads are the same")
		}
	})
}

// TestSealedWithoutKey: a payload that cannot be opened holds up its own task and nothing else. A
// key may come later, so it costs no retry, and what may be called once only is called then; the
// log says it once. Damage stays.
func TestSealedWithoutKey(t *testing.T) {
	k1, k2 := sealKey("k1", 1), sealKey("k2", 2)
	synctest.Test(t, func(t *testing.T) {
		var p payloads
		st := memory.New(memory.Options{})
		setup := func(a *ax.Scheduler) {
			must(t, a.Handle("k", p.handle, ax.Retry(retry.Policy{Kind: retry.Fixed,
				DelayMS: 60_000})))
			must(t, a.Handle("other", p.handle))
			must(t, a.Handle("once", p.handle, ax.AtMostOnce()))
		}
		// These three are in the table before somebody runs, so one claim takes them together.
		old, err := ax.New(st, ax.Config{Clock: time.Now, Logger: quiet, Seed: 7, Seal: box(t, k1)})
		must(t, err)
		sealed, err := old.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "sealed",
			Payload: []byte("a")})
		must(t, err)
		once, err := old.Submit(t.Context(), ax.NewTask{Kind: "once", Key: "once",
			Payload: []byte("c")})
		must(t, err)
		row, err := st.Tasks(t.Context(), []task.ID{sealed.ID})
		must(t, err)
		plain, err := ax.New(st, ax.Config{Clock: time.Now, Logger: quiet, Seed: 8})
		must(t, err)
		damaged, err := plain.SubmitMany(t.Context(), []ax.NewTask{
			{Kind: "other", Key: "moved", Payload: row[0].Payload}, // sealed for another kind
			{Kind: "k", Key: "plain", Payload: []byte("b")},
		})
		must(t, err)

		for i, b := range []*seal.Box{nil, box(t, k2)} {
			var log bytes.Buffer
			x := start(t, st, ax.Config{Seal: b, Seed: uint64(i + 1),
				Logger: slog.New(slog.NewTextHandler(&log, nil))}, setup)
			time.Sleep(50 * time.Second)
			for _, id := range []ax.ID{sealed.ID, once.ID} {
				got, err := x.Get(t.Context(), id)
				if err != nil || got.State != task.Scheduled || got.Failures != 0 ||
					got.LastOutcome != task.OutSnoozed || got.Attempt < 2 ||
					got.Error != `payload: sealed with key "k1", which this process does not have` ||
					!seal.Sealed(got.Payload) {
					t.Errorf("start %d: %s after attempt %d and %d failures: %q, %v", i, got.State,
						got.Attempt, got.Failures, got.Error, err)
				}
			}
			if p.of("plain") != "b" || p.of("sealed") != "" {
				t.Errorf("start %d: handlers got %v", i, p.got)
			}
			x.stop()
			if n := strings.Count(log.String(), "a payload cannot be opened here"); n != 1 {
				t.Errorf("start %d: %d warnings in\n%s", i, n, &log)
			}
		}
		x := start(t, st, ax.Config{Seal: box(t, k2, k1), Seed: 3}, setup)
		time.Sleep(time.Minute)
		if p.of("sealed") != "a" || p.of("once") != "c" {
			t.Errorf("with the key: %v", p.got)
		}
		must(t, x.Retry(t.Context(), damaged[0].ID, ax.By{}))
		synctest.Wait()
		got, err := x.Get(t.Context(), damaged[0].ID)
		if err != nil || got.State != task.Dead || got.Reason != task.Permanent || p.of("moved") != "" ||
			!strings.Contains(got.Error, "payload: the sealed value is damaged") ||
			!seal.Sealed(got.Payload) {
			t.Errorf("damaged: %s %s: %q, %v", got.State, got.Reason, got.Error, err)
		}
		x.stop()
	})
}

// TestSealedStrict: a strict process refuses rows from before, and takes those without a payload.
func TestSealedStrict(t *testing.T) {
	var p payloads
	bubble(t, ax.Config{Seal: box(t, sealKey("k1", 1)).Strict()}, func(a *ax.Scheduler) {
		must(t, a.Handle("k", p.handle))
	}, func(x *fixture) {
		plain, err := ax.New(x.store, ax.Config{Clock: time.Now, Logger: quiet, Seed: 2})
		must(t, err)
		old, err := plain.Submit(t.Context(), ax.NewTask{Kind: "k", Payload: []byte("a")})
		must(t, err)
		ids := []ax.ID{old.ID, x.submit(ax.NewTask{Kind: "k"}),
			x.submit(ax.NewTask{Kind: "k", Payload: []byte("b")})}
		time.Sleep(10 * time.Second)
		for i, want := range []task.State{task.Dead, task.Succeeded, task.Succeeded} {
			if row, err := x.Get(t.Context(), ids[i]); err != nil || row.State != want {
				t.Errorf("task %d is %s: %q, %v", i, row.State, row.Error, err)
			}
		}
	})
}

// TestSealedOutput: an output is sealed while the handler runs and as the result of its task, also
// at the limit, which is that of the plaintext; Progress and Get open it.
func TestSealedOutput(t *testing.T) {
	full := bytes.Repeat([]byte("secret "), task.MaxOutput/7+1)[:task.MaxOutput]
	bothShops(t, ax.Config{Seal: box(t, sealKey("k1", 1))}, func(x *shop) {
		said, release := make(chan error, 1), make(chan struct{})
		must(x.T, x.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			if err := ax.Output(ctx, append(full, 0)); !errors.Is(err, ax.ErrTooLarge) {
				return fmt.Errorf("one more byte: %w", err)
			}
			said <- ax.Output(ctx, full)
			<-release
			return nil
		}, ax.MaxRetries(0)))
		x.start()
		res, err := x.Submit(x.ctx, ax.NewTask{Kind: "k"})
		must(x.T, err)
		must(x.T, <-said)
		x.await("the output", func() bool {
			p, err := x.Progress(x.ctx, res.ID)
			return err == nil && bytes.Equal(p.Output, full)
		})
		without, err := ax.New(x.st, ax.Config{Logger: quiet})
		must(x.T, err)
		p, err := without.Progress(x.ctx, res.ID)
		if id, ok := seal.KeyID(p.Output); err != nil || !ok || id != "k1" ||
			bytes.Contains(p.Output, []byte("secret")) {
			x.Errorf("stored an output of %d bytes, %.30q, %v", len(p.Output), p.Output, err)
		}
		close(release)
		x.await("the end", func() bool {
			row, err := x.Get(x.ctx, res.ID)
			return err == nil && row.State == task.Succeeded && bytes.Equal(row.Result, full)
		})
		if row, err := without.Get(x.ctx, res.ID); err != nil || !seal.Sealed(row.Result) {
			x.Errorf("stored the result %.30q, %v", row.Result, err)
		}
	})
}
