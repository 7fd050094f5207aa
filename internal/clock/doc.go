// Package clock estimates the store's time, and measures how long a belief may last.
//
// All nodes of ax agree on one clock, the store's. Each node keeps an estimate of it: the time
// the store gave, plus half the round trip, plus what has elapsed here since. The estimate only
// decides how long to sleep; what is due is decided by the store when a task is claimed.
//
// # Samples
//
// A sample is exact to half its round trip. Of the latest eight the clock follows the most exact
// one, and moves towards it slowly (50 ms a second), so that time read here goes on evenly and
// never back. A sample that lies further away than its own error and 250 ms is suspect: a paused
// process or a slow link can make one. Three suspects in a row that agree with each other are a
// step of the store's clock: it is taken over at once and reported, and its owner treats it as
// downtime. Only then may Now go back.
//
// # Elapsed time
//
// What has elapsed is never taken from the wall clock, so setting the host's clock moves
// nothing. Go's monotonic clock stands still while the machine is suspended; on Linux
// CLOCK_BOOTTIME does not, and is used where it exists. There Now is right at once after a
// suspend, the first sample after it reports the pause, and leases end when they really end.
// Elsewhere a suspend looks like a step of the store's clock.
package clock
