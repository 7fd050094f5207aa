// Package timer drives one timing wheel by one clock.
//
// The goroutine in Run sleeps until the next occupied slot, takes what is due and hands it over
// in slices. It does no input or output and waits for nobody: the function it hands to must not
// block, and puts the timers into a queue for whoever may. So a consumer that hangs for an hour
// changes the lateness of no timer.
//
// The clock is a function that estimates the store's time. It may jump. A jump forward lets
// everything that has become due out at once; a jump back loses nothing. Nothing is handed over
// before its due time by that clock, because due times are rounded up to the tick.
package timer
