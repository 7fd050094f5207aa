package trigger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// firing is a memory store whose Fire can fail or lose its answer.
type firing struct {
	*memory.Store

	mu    sync.Mutex
	down  bool
	lose  int
	calls int
}

func (s *firing) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *firing) Fire(ctx context.Context, f store.Fence, fs []store.Fire) ([]store.FireResult,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.down {
		return nil, errDown
	}
	res, err := s.Store.Fire(ctx, f, fs)
	if s.lose > 0 {
		s.lose--
		return nil, errDown
	}
	return res, err
}

// shop is a table with jobs, in a bubble; leaders come and go.
type shop struct {
	t     *testing.T
	store *firing
	poll  time.Duration
	n     int
	mu    sync.Mutex
}

// jobs runs f in a bubble that begins on Saturday 2000-01-01T00:00Z.
func jobs(t *testing.T, f func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&shop{t: t, store: &firing{Store: memory.New(memory.Options{})}, poll: 2 * time.Second})
	})
}

func (s *shop) newID() task.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return task.ID{1, byte(s.n >> 16), byte(s.n >> 8), byte(s.n)}
}

// put makes or replaces a job whose fires do not exclude each other.
func (s *shop) put(name string, sched task.Schedule) task.Job {
	s.t.Helper()
	return s.putJob(task.Job{Name: name, Schedule: sched})
}

func (s *shop) putJob(j task.Job) task.Job {
	s.t.Helper()
	j.ID, j.Kind, j.Group, j.Bucket, j.MaxRetries = s.newID(), "k", "g", task.Normal, -1
	got, err := s.store.PutJob(s.t.Context(), j)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// lead starts a leader's Jobs; end stops it.
func (s *shop) lead() (j *Jobs, end func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	seen, err := s.store.Token(ctx, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := s.store.Install(ctx, 0, seen, "x")
	if err != nil {
		s.t.Fatal(err)
	}
	j = NewJobs(JobsConfig{Store: s.store, Fence: store.Fence{Token: token},
		Now:   func() task.Time { return task.FromGo(time.Now()) },
		NewID: s.newID, Fired: func(*task.Task) {}, Failed: func(error) {}, Poll: s.poll})
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	synctest.Wait()
	return j, func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrFenced) {
			s.t.Errorf("Run: %v", err)
		}
	}
}

// fires returns the tasks of a job, the oldest first.
func (s *shop) fires(name string) []task.Task {
	s.t.Helper()
	synctest.Wait()
	var out []task.Task
	q := store.Query{Job: name, Limit: 1000}
	for {
		page, err := s.store.List(s.t.Context(), q)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, k := range page {
			out = append([]task.Task{k}, out...)
		}
		if len(page) < 1000 {
			return out
		}
		q.Before = page[len(page)-1].ID
	}
}

// want compares the fires of a job: fire times as offsets from the start of the bubble, with the
// number of fires they stand for where it is not 1.
func (s *shop) want(name string, want ...string) {
	s.t.Helper()
	var got []string
	for _, k := range s.fires(name) {
		text := k.FireTime.Sub(began).String()
		if k.FireCount != 1 {
			text += fmt.Sprintf(" x%d", k.FireCount)
		}
		got = append(got, text)
		if k.RunAt != k.FireTime && k.Failures == 0 || k.CreatedAt < k.FireTime {
			s.t.Errorf("%s: due at %s, made at %s", text, k.RunAt.Sub(began), k.CreatedAt.Sub(began))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("job %s fired at %v, want %v", name, got, want)
	}
}

// began is where fake time begins.
var began = task.FromGo(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

// pass lets fake time go by, and everything that is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func every(d time.Duration) task.Schedule { return task.Schedule{Every: d} }
func crontab(e string) task.Schedule      { return task.Schedule{Cron: e} }

// TestFires: in time, from the definition, one row each.
func TestFires(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("minutes", crontab("*/20 * * * *"))
		s.put("every", every(25*time.Minute))
		_, end := s.lead()
		time.Sleep(61 * time.Minute)
		s.want("minutes", "20m0s", "40m0s", "1h0m0s")
		s.want("every", "25m0s", "50m0s")
		for _, k := range s.fires("minutes") {
			if k.CreatedAt != k.FireTime || k.Kind != "k" || k.Job != "minutes" || k.Key != "" {
				t.Errorf("fire %+v", k)
			}
		}
		end()
	})
}

// TestT13T19T22MisfireOnce: whatever was missed is one run with the latest fire time,
// and the next fire is in the future, however long it took.
func TestT13T19T22MisfireOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		sched task.Schedule
		down  time.Duration
		then  time.Duration
		want  []string
	}{
		{"T13 hourly, 8 h", crontab("0 * * * *"), 8*time.Hour + 30*time.Minute, time.Hour,
			[]string{"8h0m0s x8", "9h0m0s"}},
		{"T19 each minute, 101 min", crontab("* * * * *"), 101*time.Minute + time.Second,
			time.Minute, []string{"1h41m0s x101", "1h42m0s"}},
		{"T19 each minute, 3 days", crontab("* * * * *"), 72*time.Hour + time.Second,
			time.Minute, []string{"72h0m0s x4320", "72h1m0s"}},
		{"T19 each minute, 400 days", crontab("* * * * *"), 9600*time.Hour + time.Second,
			time.Minute, []string{"9600h0m0s x576000", "9600h1m0s"}},
		{"T22 each 15 s, 75 s", every(15 * time.Second), 75 * time.Second, 15 * time.Second,
			[]string{"1m15s x5", "1m30s"}},
		{"nothing missed", every(time.Hour), 30 * time.Minute, time.Hour, []string{"1h0m0s"}},
		{"just missed", every(time.Hour), time.Hour, time.Hour, []string{"1h0m0s", "2h0m0s"}},
	} {
		jobs(t, func(s *shop) {
			s.put(c.name, c.sched)
			time.Sleep(c.down) // nobody leads
			_, end := s.lead()
			s.want(c.name, c.want[:len(c.want)-1]...)
			time.Sleep(c.then)
			s.want(c.name, c.want...)
			end()
		})
	}
}

// TestMissedRange: the row says which fires it stands for.
func TestMissedRange(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		time.Sleep(10 * time.Minute)
		_, end := s.lead()
		k := s.fires("j")[0]
		if k.FireFrom != began.Add(time.Minute) || k.FireTime != began.Add(10*time.Minute) ||
			k.FireCount != 10 {
			t.Errorf("from %s to %s, %d", k.FireFrom.Sub(began), k.FireTime.Sub(began), k.FireCount)
		}
		time.Sleep(time.Minute)
		if k := s.fires("j")[1]; k.FireFrom != 0 || k.FireCount != 1 {
			t.Errorf("an ordinary fire is from %d, count %d", k.FireFrom, k.FireCount)
		}
		end()
	})
}

// TestC34Monthly: a catch-up run carries the missed fire time.
func TestC34Monthly(t *testing.T) {
	jobs(t, func(s *shop) {
		s.poll = 10 * time.Minute // months of polls take long, even in fake time
		s.put("j", crontab("0 9 1 * *"))
		time.Sleep(time.Date(2000, 6, 8, 15, 30, 0, 0, time.UTC).Sub(began.Go()))
		_, end := s.lead()
		time.Sleep(time.Until(time.Date(2000, 8, 2, 0, 0, 0, 0, time.UTC)))
		var got []string
		for _, k := range s.fires("j") {
			got = append(got, fmt.Sprint(k.FireTime.Go().Format("01-02T15:04"), " x", k.FireCount))
		}
		if fmt.Sprint(got) != "[06-01T09:00 x6 07-01T09:00 x1 08-01T09:00 x1]" {
			t.Errorf("fired %v", got)
		}
		end()
	})
}

// TestT10DurableAnchor: restarts each day, and a new leader each hour, do not move an interval.
func TestT10DurableAnchor(t *testing.T) {
	for _, life := range []time.Duration{24 * time.Hour, time.Hour} {
		jobs(t, func(s *shop) {
			s.poll = time.Minute
			s.put("weekly", every(168*time.Hour))
			for lived := time.Duration(0); lived < 340*time.Hour; lived += life {
				_, end := s.lead()
				s.put("weekly", every(168*time.Hour)) // registered again at each start
				time.Sleep(life)
				end()
			}
			s.want("weekly", "168h0m0s", "336h0m0s")
		})
	}
}

// TestH05RegainLeadership: lost and regained twenty times, each fire once.
func TestH05RegainLeadership(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Second))
		time.Sleep(time.Second / 2) // hand-overs between the fires
		for range 20 {
			_, end := s.lead()
			time.Sleep(3 * time.Second)
			end()
		}
		fires := s.fires("j")
		for i, k := range fires {
			if k.FireTime != began.Add(time.Duration(i+1)*time.Second) || k.FireCount != 1 {
				t.Fatalf("fire %d is for %s, count %d", i, k.FireTime.Sub(began), k.FireCount)
			}
		}
		if len(fires) != 60 {
			t.Errorf("%d fires in 60 s", len(fires))
		}
	})
}

// TestH04TwoLeaders: one that was replaced fires nothing any more and ends.
func TestH04TwoLeaders(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(10*time.Second))
		_, endOld := s.lead()
		time.Sleep(25 * time.Second)
		_, endNew := s.lead()
		time.Sleep(25 * time.Second)
		s.want("j", "10s", "20s", "30s", "40s", "50s")
		endOld()
		endNew()
	})
}

// TestH10DefinitionsAreRows: whoever leads fires the jobs of all nodes.
func TestH10DefinitionsAreRows(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("of node 1", every(10*time.Second))
		_, end := s.lead()
		time.Sleep(5 * time.Second)
		s.put("of node 2", every(10*time.Second)) // put elsewhere, nobody tells this leader
		time.Sleep(16 * time.Second)
		s.want("of node 1", "10s", "20s")
		s.want("of node 2", "15s")
		end()
		_, end = s.lead()
		time.Sleep(10 * time.Second)
		s.want("of node 1", "10s", "20s", "30s")
		s.want("of node 2", "15s", "25s")
		end()
	})
}
