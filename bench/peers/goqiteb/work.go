package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

// work measures how fast stored jobs are run and deleted.
func (b *bench) work(ctx context.Context) error {
	body := make([]byte, 64)
	err := b.inTx(ctx, func(tx *sql.Tx) error {
		for range b.jobs {
			_, err := jobs.CreateTx(ctx, tx, b.queue, "noop", goqite.Message{Body: body})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var started int
	var mu sync.Mutex
	all := make(chan struct{})
	start := time.Now()
	stop := b.runner(ctx, func([]byte) {
		mu.Lock()
		defer mu.Unlock()
		if started++; started == b.jobs {
			close(all)
		}
	})
	limit := time.NewTimer(b.limit)
	defer limit.Stop()
	select {
	case <-all:
	case <-limit.C:
	}
	stop() // waits for the last deletions
	took := time.Since(start)
	var left int
	row := b.db.QueryRowContext(ctx, "SELECT count(*) FROM goqite")
	if err := row.Scan(&left); err != nil {
		return err
	}
	f := measure.Figure{Name: b.named("%d stored no-op jobs, %d slots", b.jobs, b.slots),
		Unit: "jobs/s", Value: float64(b.jobs-left) / took.Seconds(), Runs: 1}
	if left > 0 {
		f.Detail = fmt.Sprintf("%d deleted in %v", b.jobs-left, took.Round(time.Millisecond))
	}
	return measure.Print(f)
}

// latency measures from the call of Create to the start of the job. 13 ms meet every phase of a
// poll.
func (b *bench) latency(ctx context.Context) error {
	var l measure.Latencies
	ran := make(chan struct{}, b.submits)
	stop := b.runner(ctx, func(body []byte) {
		l.Add(time.Since(time.Unix(0, int64(binary.LittleEndian.Uint64(body)))))
		ran <- struct{}{}
	})
	var failed error
	for range b.submits {
		body := binary.LittleEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		m := goqite.Message{Body: append(body, make([]byte, 56)...)}
		if _, failed = jobs.Create(ctx, b.queue, "noop", m); failed != nil {
			break
		}
		time.Sleep(13 * time.Millisecond)
	}
	if failed == nil {
		for range b.submits {
			<-ran
		}
	}
	stop()
	if failed != nil {
		return failed
	}
	return l.Print(b.named("create to start, one every 13 ms, PollInterval=%v", b.poll))
}

// runner starts a runner whose jobs call run; stop ends it and waits for its jobs.
func (b *bench) runner(ctx context.Context, run func(body []byte)) (stop func()) {
	r := jobs.NewRunner(jobs.NewRunnerOpts{Limit: b.slots, PollInterval: b.poll, Queue: b.queue})
	r.Register("noop", func(_ context.Context, body []byte) error {
		run(body)
		return nil
	})
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.Start(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}
