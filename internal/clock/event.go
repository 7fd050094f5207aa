package clock

import "time"

// Kind says what a sample has told.
type Kind int

const (
	// Steady: the sample agrees with the clock.
	Steady Kind = iota
	// First: the first sample; the clock shows the store's time from now on. Size is how far
	// that is from the host's time.
	First
	// Suspect: the sample disagrees by Size and has been put aside. Sample again soon.
	Suspect
	// Step: three samples in a row have disagreed alike. The clock has jumped by Size, which is
	// negative if it went back. Its owner recomputes what it waits for and treats a jump forward
	// as downtime.
	Step
	// Resumed: the machine was suspended for Size since the last sample. The clock has not
	// jumped, but nothing was done in that time: its owner treats it as downtime.
	Resumed
)

// String returns the name of the kind in lower case, as logs print it.
func (k Kind) String() string {
	switch k {
	case Steady:
		return "steady"
	case First:
		return "first"
	case Suspect:
		return "suspect"
	case Step:
		return "step"
	case Resumed:
		return "resumed"
	}
	return "unknown"
}

// Event is what Sample reports.
type Event struct {
	Kind Kind
	Size time.Duration
}
