package cron

import "time"

// Option changes how [Parse] reads an expression.
type Option func(*options)

type options struct {
	zone    *time.Location
	seed    string
	quartz  bool
	gap     GapPolicy
	overlap OverlapPolicy
	anchor  time.Time
}

// In sets the zone of expressions that do not name one. The default, also for nil, is UTC.
// [time.Local] is refused by [Parse], because a schedule must not depend on the host.
func In(zone *time.Location) Option {
	return func(o *options) {
		if zone != nil {
			o.zone = zone
		}
	}
}

// Seed gives the name whose hash chooses the values of H, normally the name of the job. Without
// it (or with an empty one) an expression that uses H is refused.
func Seed(name string) Option {
	return func(o *options) { o.seed = name }
}

// Quartz reads weekdays as Quartz numbers them: 1 is Sunday, 7 is Saturday, a lone L is Saturday.
func Quartz() Option {
	return func(o *options) { o.quartz = true }
}

// Anchor sets the instant from which "@every d" counts: it fires at anchor + k*d for k = 0, 1, 2
// and so on. It must be kept with the job, or each restart moves the fires. Default: the Unix
// epoch. It is cut to whole milliseconds, the precision of stored fire times.
func Anchor(t time.Time) Option {
	return func(o *options) { o.anchor = t }
}

// GapPolicy says what happens to wall times that a forward change of the clock leaves out.
type GapPolicy uint8

const (
	// GapAuto is GapRun for expressions that keep to the wall clock, else GapSkip.
	GapAuto GapPolicy = iota
	// GapRun fires once, at the first instant after a gap of at most three hours.
	GapRun
	// GapSkip drops the missing times.
	GapSkip
)

// OnGap overrides what happens to wall times that do not exist.
func OnGap(p GapPolicy) Option {
	return func(o *options) { o.gap = p }
}

// OverlapPolicy says what happens to wall times that a backward change of the clock repeats.
type OverlapPolicy uint8

const (
	// OverlapAuto is OverlapFirst for expressions that keep to the wall clock, else OverlapBoth.
	OverlapAuto OverlapPolicy = iota
	// OverlapFirst fires at the first of two equal wall times.
	OverlapFirst
	// OverlapSecond fires at the second of two equal wall times.
	OverlapSecond
	// OverlapBoth fires at both.
	OverlapBoth
)

// OnOverlap overrides what happens to wall times that occur twice.
func OnOverlap(p OverlapPolicy) Option {
	return func(o *options) { o.overlap = p }
}
