package cron

import (
	"math"
	"strings"
	"time"
)

const (
	// maxGap is the longest forward change, in seconds, whose missing times still run once.
	// Zones that drop a whole day (Pacific/Apia, 2011-12-30) go beyond it.
	maxGap = 3 * 60 * 60
	// reach, in seconds, is more than any two offsets of a zone differ.
	reach = 2 * daySeconds
)

// span is a stretch of real time, in Unix seconds, in which a zone keeps one offset. Neighbours
// may have the same offset. No zone changes its offset twice within 30 hours, so wall times that
// repeat or are missing concern a span and its neighbour only.
type span struct {
	start, end int64 // start <= u < end
	offset     int64 // wall = u + offset
	before     int64 // offset just before start
	after      int64 // offset at end
}

// spanAt returns the span around u. It remembers the last one, since most calls stay in it.
func (s *Schedule) spanAt(u int64) span {
	if p := s.memo.Load(); p != nil && p.start <= u && u < p.end {
		return *p
	}
	sp := findSpan(s.zone, u)
	s.memo.Store(&sp)
	return sp
}

func findSpan(zone *time.Location, u int64) span {
	at := time.Unix(u, 0).In(zone)
	sp := span{start: math.MinInt64, end: math.MaxInt64, offset: offsetOf(at)}
	sp.before, sp.after = sp.offset, sp.offset
	start, end := at.ZoneBounds()
	if !start.IsZero() {
		sp.start = start.Unix()
		sp.before = offsetOf(start.Add(-time.Second))
	}
	if end.IsZero() {
		return sp
	}
	sp.end = end.Unix()
	if sp.end <= u {
		// Under a rule for all future years, ZoneBounds takes each year for 365 days long, so
		// that on 31 December of a leap year the end lies in the past. No rule has a change
		// on that day; go on to the end of it.
		sp.end = (floorDiv(u, daySeconds) + 1) * daySeconds
	}
	sp.after = offsetOf(time.Unix(sp.end, 0).In(zone))
	return sp
}

func offsetOf(t time.Time) int64 {
	_, offset := t.Zone()
	return int64(offset)
}

// gap returns the length in seconds of the wall time missing before the span.
func (sp span) gap() int64 { return max(0, sp.offset-sp.before) }

// open cuts from the span what the policy for repeated wall times closes.
func (sp span) open(p OverlapPolicy) (lo, hi int64) {
	lo, hi = sp.start, sp.end
	switch p {
	case OverlapFirst:
		lo += max(0, sp.before-sp.offset)
	case OverlapSecond:
		hi -= max(0, sp.offset-sp.after)
	}
	return lo, hi
}

// loadZone finds a zone by its name in the time zone database and nothing else: no path, and none
// of the names behind which a system hides its own zone.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, refuse("zone", name, "has no name after the =: use one such as Europe/Berlin")
	}
	if strings.EqualFold(name, "Local") {
		return nil, refuse("zone", name, "depends on the host: use a name such as Europe/Berlin")
	}
	if plainZoneName(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, refuse("zone", name, "is not in the time zone database: "+
		"use a name such as Europe/Berlin, followed by a space")
}

func plainZoneName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/"
	if len(name) > 64 || strings.Trim(name, letters) != "" || strings.HasPrefix(name, "/") {
		return false
	}
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "localtime", "posixrules", "posix", "right":
		// The host's own zone, its template, a second copy of the database and a copy that
		// counts leap seconds, which Unix time does not.
		return false
	}
	return true
}
