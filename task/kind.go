package task

import "time"

// Kind holds the stored options of a handler. Run writes them, so that whoever looks at the
// database without having the handler knows how long an execution may take and how it is retried.
type Kind struct {
	Name        string
	Timeout     time.Duration // hard time-out of one attempt; NoTimeout: none
	MaxRetries  int           // n retries are n+1 executions
	RetryPolicy string        // JSON of a retry.Policy; "" is the default policy
	OnUnknown   Unknown       // UnknownByKind is UnknownRetry
	MaxLifetime time.Duration // 0: none
	UpdatedAt   Time
}
