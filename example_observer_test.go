package ax_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/store/memory"
)

// An observer is a struct of functions; what it leaves out costs nothing. Package prom has one for
// Prometheus.
func ExampleObserver() {
	dead := make(chan observe.Dead, 1)
	watch := ax.Observer{
		Ended: func(e observe.Ended) {
			fmt.Println(e.Kind, e.Key, "attempt", e.Attempt, e.Outcome, "now", e.State)
		},
		Dead: func(e observe.Dead) { dead <- e }, // wake somebody up, but elsewhere: it must not block
	}
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet, Observer: watch})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Handle("charge", func(context.Context, *ax.Task) error {
		return ax.Permanent(errors.New("card is stolen"))
	})
	defer running(a)()
	if _, err := a.Submit(context.Background(), ax.NewTask{Kind: "charge", Key: "1007"}); err != nil {
		fmt.Println(err)
		return
	}
	e := <-dead
	fmt.Println("dead:", e.Key, e.Reason, e.Error)
	// Output:
	// charge 1007 attempt 1 failed now DEAD
	// dead: 1007 permanent card is stolen
}

// Stats needs no database: it may be asked by every health check.
func ExampleScheduler_Stats() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	st := a.Stats()
	fmt.Println("leading:", st.Leading, "waiting:", st.Waiting[ax.Normal], "slots used:", st.Used)
	// Output: leading: false waiting: 0 slots used: 0
}
