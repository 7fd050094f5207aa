// Package retry holds the rules by which a failed task is tried again: how long to wait, how
// often, until when, and which errors are worth it.
//
// It is pure. It has no clock and no source of randomness: instants and a random number in [0,1)
// are passed in, so that every decision can be repeated in a test.
//
// # Numbers
//
// A retry is counted from 1. With max_retries n a task that always fails is executed n+1 times.
//
// # Formulas
//
//	exponential  min(delay * factor^(n-1), cap)
//	fixed        delay
//	list         delays[n-1]; beyond the end, the last one
//
// To each base the jitter is added, never subtracted: base * jitter_pct/100 * rnd, plus
// jitter_ms * rnd. So no retry comes before its base delay, and tasks that failed together do not
// come back together. [Default] is 5 s, 25 s, 125 s, ... up to 1 h, each with up to 20 % more.
package retry
