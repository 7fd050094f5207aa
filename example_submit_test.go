package ax_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
)

// running starts a scheduler for an example; stop ends it and waits.
func running(a *ax.Scheduler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Println("run:", err)
		}
	}
}

func ExampleScheduler_Delay() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	closed := make(chan string)
	a.Handle("order.close.timeout", func(_ context.Context, t *ax.Task) error {
		closed <- fmt.Sprintf("order %s is closed: %s", t.Key, t.Payload)
		return nil
	})
	defer running(a)()

	res, err := a.Delay(context.Background(), "order.close.timeout", "1007", 20*time.Millisecond,
		[]byte("not paid"))
	fmt.Println(res.State, res.Duplicate, err)
	fmt.Println(<-closed)
	// Output:
	// SCHEDULED false <nil>
	// order 1007 is closed: not paid
}

// A key makes a repeated submit harmless: the answer gives the task that lives.
func ExampleScheduler_Submit_key() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	n := ax.NewTask{Kind: "invoice.send", Key: "2026-0042", Delay: time.Hour}
	first, err := a.Submit(context.Background(), n)
	fmt.Println(first.Duplicate, err)
	second, err := a.Submit(context.Background(), n)
	fmt.Println(second.Duplicate, second.ID == first.ID, second.State, err)
	// Output:
	// false <nil>
	// true true SCHEDULED <nil>
}

// A webhook that is delivered again after its task has ended makes no second task.
func ExampleUniqueFor() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	n := ax.NewTask{Kind: "payment.received", Key: "evt_1007", Delay: time.Hour,
		Unique: ax.UniqueFor(72 * time.Hour)}
	first, err := a.Submit(ctx, n)
	fmt.Println(first.Duplicate, err)
	fmt.Println(a.Cancel(ctx, first.ID, ax.By{}))
	again, err := a.Submit(ctx, n)
	fmt.Println(again.Duplicate, again.ID == first.ID, again.State, err)
	// Output:
	// false <nil>
	// <nil>
	// true true CANCELED <nil>
}

func ExampleScheduler_DelayFunc() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer running(a)()
	sent := make(chan string)
	_, err = a.DelayFunc(context.Background(), "reminder", "ana", 10*time.Millisecond,
		[]byte("stand-up at nine"), func(_ context.Context, t *ax.Task) error {
			sent <- t.Key + ": " + string(t.Payload)
			return nil
		})
	fmt.Println(err)
	fmt.Println(<-sent)
	// Output:
	// <nil>
	// ana: stand-up at nine
}

func ExampleScheduler_CancelKey() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	res, err := a.Delay(ctx, "order.close.timeout", "1007", 30*time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	by := ax.By{Actor: "payments", Reason: "order was paid"}
	fmt.Println(a.CancelKey(ctx, "order.close.timeout", "1007", by))
	t, err := a.Get(ctx, res.ID)
	fmt.Println(t.State, t.Reason, err)
	fmt.Println(a.Cancel(ctx, res.ID, by)) // once more is harmless
	// Output:
	// <nil>
	// CANCELED request <nil>
	// <nil>
}
