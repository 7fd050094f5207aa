package retry_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/retry"
)

func ExampleDefault() {
	p := retry.Default()
	for n := 1; n <= retry.DefaultMaxRetries; n++ {
		fmt.Printf("retry %d after %v to %v\n", n, p.Delay(n, 0), p.Delay(n, 1))
	}
	// Output:
	// retry 1 after 5s to 6s
	// retry 2 after 25s to 30s
	// retry 3 after 2m5s to 2m30s
	// retry 4 after 10m25s to 12m30s
	// retry 5 after 52m5s to 1h2m30s
}

func ExampleDoubling() {
	p := retry.Doubling(time.Second, time.Minute, 500*time.Millisecond)
	for n := 1; n <= 8; n++ {
		fmt.Print(p.Base(n), " ")
	}
	// Output: 1s 2s 4s 8s 16s 32s 1m0s 1m0s
}

func ExamplePolicy_list() {
	p := retry.Policy{Kind: retry.List, DelaysMS: []int64{0, 10_000, 60_000}}
	fmt.Println(p.Base(1), p.Base(2), p.Base(3), p.Base(4))
	// Output: 0s 10s 1m0s 1m0s
}

func ExamplePolicy_custom() {
	p := retry.Policy{Func: func(n int, rnd float64) time.Duration {
		return time.Duration(n)*time.Minute + time.Duration(rnd*float64(time.Second))
	}}
	fmt.Println(p.Delay(3, 0.5))
	// Output: 3m0.5s
}

func ExamplePolicy_Validate() {
	fmt.Println(retry.Policy{DelayMS: -1, Factor: 0.5}.Validate())
	// Output:
	// delay_ms: -1 is out of range; use 0 to 315360000000 milliseconds
	// factor: 0.5 is out of range; use 1 to 1000
}

func ExamplePolicy_Fits() {
	p := retry.Policy{BudgetMS: 60_000}
	if misfit, ok := p.Fits(5); !ok {
		fmt.Println(misfit.Need, misfit.Fit, "of", misfit.Retries)
	}
	// Output: 1h5m5s 2 of 5
}

func ExamplePermanent() {
	err := fmt.Errorf("charge: %w", retry.Permanent(errors.New("card is stolen")))
	fmt.Println(err, retry.ClassOf(err))
	// Output: charge: card is stolen permanent
}
