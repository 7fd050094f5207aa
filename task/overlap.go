package task

import "fmt"

// Overlap says what happens to a task whose overlap key is busy when it is due.
type Overlap uint8

// The overlap policies. The numbers are stored and never change their meaning.
const (
	// OverlapAllow ignores other tasks; no key is taken.
	OverlapAllow Overlap = 0
	// OverlapSkip does not run the task: SKIPPED(overlap). One that has failed before, or that a
	// person wants to run, waits for the key.
	OverlapSkip Overlap = 1
	// OverlapQueue waits for the key, and keeps it until its run has ended, also while it waits for
	// a retry or has been snoozed: who comes later starts later. Waiting tasks start in the order
	// of (FireTime, ID).
	OverlapQueue Overlap = 2
	// OverlapReplace asks the task that runs to end, and waits for the key. Of several that wait
	// only the newest runs: the others are SKIPPED(superseded), or DEAD(superseded) if they have
	// failed.
	OverlapReplace Overlap = 3
)

var overlapNames = [...]string{"allow", "skip", "queue", "replace"}

// String returns the lower-case name.
func (o Overlap) String() string { return overlapNames[min(int(o), len(overlapNames)-1)] }

// MarshalText makes policies names in JSON.
func (o Overlap) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Latest reports whether only the newest of several waiting fires of a job is wanted.
func (o Overlap) Latest() bool { return o == OverlapSkip || o == OverlapReplace }

// ParseOverlap returns a policy by its place in the list skip, allow, queue, replace, from 1.
func ParseOverlap(n int) (Overlap, error) {
	all := [...]Overlap{OverlapSkip, OverlapAllow, OverlapQueue, OverlapReplace}
	if n < 1 || n > len(all) {
		return 0, &InputError{Field: "overlap",
			Reason: fmt.Sprintf("is %d; use ax.Skip, ax.Allow, ax.Queue or ax.Replace", n)}
	}
	return all[n-1], nil
}

// CheckOverlap checks that a policy and a key belong together: whatever does not allow other tasks
// needs a key, unless one of its own is made for it.
func CheckOverlap(o Overlap, key string, own bool) error {
	switch {
	case key != "" && o == OverlapAllow:
		return &InputError{Field: "overlap_key",
			Reason: "is set, but overlap allow takes no key; use another policy"}
	case key == "" && o != OverlapAllow && !own:
		return &InputError{Field: "overlap", Reason: "is " + o.String() + ", but overlap_key is not set"}
	}
	return CheckName("overlap_key", key, true)
}
