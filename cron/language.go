package cron

import (
	"fmt"
	"strings"
	"time"
)

// Language is one in which schedules are explained.
type Language uint8

// The languages.
const (
	English Language = iota
	Chinese          // in simplified characters
)

// words returns those of a language; an unknown one is English.
func (l Language) words() *words {
	if l == Chinese {
		return &chinese
	}
	return &english
}

// period writes a duration.
func (w *words) period(d time.Duration) string {
	if w.units[0] == "" {
		return d.String()
	}
	var parts []string
	for i, unit := range [...]time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if n := d / unit; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, w.units[i]))
			d %= unit
		}
	}
	return strings.Join(parts, " ")
}
