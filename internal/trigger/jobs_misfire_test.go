package trigger

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// records returns what the fires of a job are: fire times as offsets from the start of the bubble,
// counts where they are not 1, and the reasons of those that do not run.
func (s *shop) records(name string) string {
	s.t.Helper()
	var out []string
	for _, k := range s.fires(name) {
		text := k.FireTime.Sub(began).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if k.FireCount != 1 {
			text += fmt.Sprintf("x%d", k.FireCount)
		}
		if k.State == task.Skipped {
			text += "-" + k.Reason.String()
		}
		out = append(out, text)
		h, err := s.store.History(s.t.Context(), k.ID)
		if err != nil || h[0].Event == task.FireSkip && (h[0].Reason != k.Reason || k.FinishedAt == 0) {
			s.t.Errorf("%s: history %+v, %v", text, h, err)
		}
	}
	return strings.Join(out, " ")
}

func (s *shop) wantRecords(name, want string) {
	s.t.Helper()
	if got := s.records(name); got != want {
		s.t.Errorf("job %s: %s; want %s", name, got, want)
	}
}

func (s *shop) desk() *Desk {
	return &Desk{Store: s.store, Logger: slog.New(slog.DiscardHandler), Conflict: errDown,
		Changed: func() {}}
}

// TestT22T23MisfirePolicies: the same fires are owed after downtime, after a pause, and after a
// pause that ended by itself; the policy alone decides which of them run.
func TestT22T23MisfirePolicies(t *testing.T) {
	hourly, quarter := crontab("0 * * * *"), every(15*time.Second)
	long := 13*time.Hour + 10*time.Minute
	for _, c := range []struct {
		name       string
		job        task.Job
		away, back time.Duration
		then       time.Duration
		want       string
	}{
		{"T23 once", task.Job{Schedule: hourly}, 10*time.Hour + 30*time.Minute, long, time.Hour,
			"13h0mx3 14h0m"},
		{"T23 skip", task.Job{Schedule: hourly, Misfire: task.MisfireSkip},
			10*time.Hour + 30*time.Minute, long, time.Hour, "13h0mx3-misfire 14h0m"},
		{"T23 all", task.Job{Schedule: hourly, Misfire: task.MisfireAll},
			10*time.Hour + 30*time.Minute, long, time.Hour, "11h0m 12h0m 13h0m 14h0m"},
		{"T22 once", task.Job{Schedule: quarter}, time.Second, 76 * time.Second, 15 * time.Second,
			"1m15sx5 1m30s"},
		{"T22 skip", task.Job{Schedule: quarter, Misfire: task.MisfireSkip}, time.Second,
			81 * time.Second, 15 * time.Second, "1m15sx5-misfire 1m30s"},
		{"T22 all, cap 3", task.Job{Schedule: quarter, Misfire: task.MisfireAll, MisfireCap: 3},
			time.Second, 76 * time.Second, 15 * time.Second, "30sx2-misfire 45s 1m 1m15s 1m30s"},
		{"skip, the latest within the grace", task.Job{Schedule: quarter,
			Misfire: task.MisfireSkip}, time.Second, 80 * time.Second, time.Second,
			"1mx4-misfire 1m15s"},
		{"skip, three within a long grace", task.Job{Schedule: quarter, Misfire: task.MisfireSkip,
			MisfireGrace: 40 * time.Second}, time.Second, 80 * time.Second, time.Second,
			"30sx2-misfire 1m15sx3"},
		{"skip, only one and too late", task.Job{Schedule: hourly, Misfire: task.MisfireSkip},
			time.Minute, time.Hour + 6*time.Second, time.Hour, "1h0m-misfire 2h0m"},
		{"all, nothing above the cap", task.Job{Schedule: quarter, Misfire: task.MisfireAll,
			MisfireCap: 5}, time.Second, 76 * time.Second, time.Second, "15s 30s 45s 1m 1m15s"},
	} {
		for _, how := range []string{"down", "paused", "paused until"} {
			jobs(t, func(s *shop) {
				pass(c.away / 2)
				c.job.Name, c.job.Anchor = c.name, began
				s.putJob(c.job)
				// The fires before the absence are no part of the case.
				moveCursor(s, c.name, began.Add(c.away))
				act := Act{Job: c.name, Actor: "ana"}
				switch how {
				case "paused":
					s.must(s.desk().Pause(s.t.Context(), act, time.Time{}))
				case "paused until":
					s.must(s.desk().Pause(s.t.Context(), act, began.Add(c.back).Go()))
				}
				if how == "down" {
					pass(c.back - c.away/2)
				}
				j, end := s.lead()
				defer end()
				if how != "down" {
					pass(c.back - c.away/2 - 1)
					s.wantRecords(c.name, "")
					pass(1)
				}
				if how == "paused" {
					s.must(s.desk().Resume(s.t.Context(), act))
					j.Wake()
				}
				pass(c.then)
				s.wantRecords(c.name, c.want)
			})
		}
	}
}

// moveCursor records a fire far enough that nothing before it is owed, and takes it away from what
// the test sees: its task belongs to no name.
func moveCursor(s *shop, name string, at task.Time) {
	s.t.Helper()
	j, err := s.desk().Find(s.t.Context(), name)
	s.must(err)
	if at <= j.LastFire {
		return
	}
	k := task.Task{ID: s.newID(), Kind: "k", Bucket: task.Normal, JobID: j.ID, Job: "before",
		FireTime: at}
	k.State, k.Run, k.RunAt = task.Skipped, 1, at
	_, err = s.store.Store.Fire(s.t.Context(), store.Fence{},
		[]store.Fire{{JobID: j.ID, Version: j.Version, Task: k}})
	s.must(err)
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestT19LongPause: no number of missed fires disables a job, whatever its policy, and all of them
// are accounted for.
func TestT19LongPause(t *testing.T) {
	for misfire, want := range map[task.Misfire]string{
		task.MisfireOnce: "9600h0mx576000 9600h1m",
		task.MisfireSkip: "9600h0mx576000-misfire 9600h1m",
		task.MisfireAll:  "9599h58mx575998-misfire 9599h59m 9600h0m 9600h1m",
	} {
		jobs(t, func(s *shop) {
			s.putJob(task.Job{Name: "j", Schedule: crontab("* * * * *"), Misfire: misfire, MisfireCap: 2})
			pass(9600*time.Hour + 10*time.Second)
			_, end := s.lead()
			pass(time.Minute)
			s.wantRecords("j", want)
			end()
		})
	}
}

// TestPendingAgainstLoop: every fire time after the cursor is in exactly one record, in order; a
// plain walk over the schedule says which run.
func TestPendingAgainstLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := task.Job{Name: "j", Anchor: began, LastFire: began}
		j.Schedule = rapid.SampledFrom([]task.Schedule{every(time.Second), every(7 * time.Second),
			crontab("*/10 * * * * *"), crontab("* * * * *")}).Draw(t, "schedule")
		j.Misfire = task.Misfire(rapid.IntRange(0, 2).Draw(t, "misfire"))
		j.MisfireCap = rapid.IntRange(0, 4).Draw(t, "cap")
		j.MisfireGrace = time.Duration(rapid.IntRange(0, 20).Draw(t, "grace")) * time.Second
		at := func(what string) task.Time {
			return began.Add(time.Duration(rapid.IntRange(0, 600_000).Draw(t, what)) * time.Millisecond)
		}
		now := at("now")
		if rapid.Bool().Draw(t, "bounds") {
			j.StartsAt, j.EndsAt = at("start"), at("end")
		}
		if rapid.Bool().Draw(t, "skip") {
			j.SkipUntil = at("skip")
		}
		j.MaxFires = int64(rapid.IntRange(0, 3).Draw(t, "most"))
		p, err := newPlan(&j)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "skip a fire") {
			j.SkipUntil = p.next(j.SkipUntil)
		}
		b := &job{Job: j, plan: p}
		var all []span
		for b.arm(); b.next != 0 && b.next <= now; b.arm() {
			runs := false
			for _, s := range b.pending(now) {
				if runs && s.why != 0 {
					t.Fatalf("%+v does not run and comes after one that does", s)
				}
				if runs = s.why == 0; runs {
					b.Fires++
				}
				all, b.LastFire = append(all, s), s.at
			}
		}
		checkSpans(t, &j, now, all)
	})
}

// checkSpans walks over the fires of a job, one after the other.
func checkSpans(t *rapid.T, j *task.Job, now task.Time, got []span) {
	free := *j
	free.StartsAt, free.EndsAt = 0, 0
	p, err := newPlan(&free)
	if err != nil {
		t.Fatal(err)
	}
	var owed []task.Time
	for at := p.next(j.LastFire); at <= now; at = p.next(at) {
		if at >= j.StartsAt && (j.EndsAt == 0 || at <= j.EndsAt) {
			owed = append(owed, at)
		}
	}
	grace, most := j.MisfireGrace, j.MisfireCap
	if grace == 0 {
		grace = task.DefaultMisfireGrace
	}
	if most == 0 {
		most = task.DefaultMisfireCap
	}
	left := len(owed) // fires of the same side of the skipped one that are not recorded yet
	if i := slices.Index(owed, j.SkipUntil); i >= 0 {
		left = i
	}
	runs, n := int64(0), 0
	for i, s := range got {
		mine := owed[n : n+s.n]
		n += s.n
		if mine[s.n-1] != s.at || s.n > 1 && mine[0] != s.from || s.n == 1 && s.from != 0 {
			t.Fatalf("record %d is %+v; the fires are %v", i, s, mine)
		}
		asked := s.at == j.SkipUntil
		if left -= s.n; asked {
			left = len(owed) - n
		}
		late := now.Sub(s.at) > grace
		over := j.Misfire == task.MisfireAll && left >= most
		want := task.NoReason
		switch {
		case asked:
			want = task.ByRequest
		case j.Misfire == task.MisfireSkip && late, over:
			want = task.Misfired
		default:
			runs++
		}
		if s.why != want {
			t.Fatalf("record %d of %v for %s: %q, want %q", i, got, s.at.Sub(began), s.why, want)
		}
		if s.why == 0 && s.n > 1 && j.Misfire == task.MisfireAll {
			t.Fatalf("record %d runs for %d fires", i, s.n)
		}
		for _, at := range mine {
			if asked != (at == j.SkipUntil) || j.Misfire == task.MisfireSkip && !asked &&
				(now.Sub(at) > grace) != late {
				t.Fatalf("record %d mixes fires that run and fires that do not: %v", i, mine)
			}
		}
	}
	full := j.MaxFires > 0 && runs == j.MaxFires
	if runs > j.MaxFires && j.MaxFires > 0 || n != len(owed) && !full {
		t.Fatalf("%d runs in %d records for %d of %d fires", runs, len(got), n, len(owed))
	}
}
