package cron_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/cron"
)

func ExampleParse() {
	s, err := cron.Parse("CRON_TZ=Europe/Berlin H(0-9) 2 * * MON-FRI", cron.Seed("billing.close"))
	fmt.Println(s, err)
	_, err = cron.Parse("*/100 * * * *")
	fmt.Println(err)
	_, err = cron.Parse("0 0 30 2 *")
	fmt.Println(errors.Is(err, cron.ErrNeverFires))
	// Output:
	// CRON_TZ=Europe/Berlin 2 2 * * 1-5 <nil>
	// cron "*/100 * * * *": minute "*/100": has a step that does not fit: use a step from 1 to 60
	// true
}

func ExampleSchedule_Next() {
	s, err := cron.Parse("CRON_TZ=Europe/Berlin 30 2 * * *")
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2025, 3, 29, 12, 0, 0, 0, time.UTC)
	for range 3 {
		at = s.Next(at)
		fmt.Println(at.Format(time.RFC3339))
	}
	// Output:
	// 2025-03-30T03:00:00+02:00
	// 2025-03-31T02:30:00+02:00
	// 2025-04-01T02:30:00+02:00
}

func ExampleSchedule_Latest() {
	s, err := cron.Parse("*/10 * * * *")
	if err != nil {
		fmt.Println(err)
		return
	}
	down := time.Date(2025, 1, 1, 8, 0, 0, 0, time.UTC)
	last, missed := s.Latest(down, down.Add(95*time.Minute))
	fmt.Println(last.Format(time.Kitchen), missed)
	// Output: 9:30AM 9
}

func ExampleSchedule_Explain() {
	for _, expr := range []string{"*/2 * * * *", "0 9 * * FRIL", "@every 90s"} {
		s, err := cron.Parse(expr)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s.Explain())
	}
	// Output:
	// every 2 minutes in UTC
	// at 09:00 on the last Friday of the month in UTC
	// every 1m30s, counted from 1970-01-01T00:00:00Z
}
