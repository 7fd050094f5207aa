package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxLength bounds an expression in bytes; the longest sensible one is far shorter.
const maxLength = 1024

// Parse reads an expression. What it refuses it refuses whatever the date is; the error is a
// [*ParseError] that names the field and the fix, and matches [ErrNeverFires] if the expression
// is well formed but has no fire time at all.
func Parse(expr string, opts ...Option) (*Schedule, error) {
	o := options{zone: time.UTC, anchor: time.Unix(0, 0)}
	for _, set := range opts {
		set(&o)
	}
	s, err := parse(expr, o)
	if err == nil {
		return s, nil
	}
	var refused *ParseError
	if errors.As(err, &refused) {
		refused.Expr = clip(expr)
	}
	return nil, err
}

func parse(expr string, o options) (*Schedule, error) {
	if len(expr) > maxLength {
		return nil, refuse("expression", "", "is %d bytes long: use at most %d", len(expr), maxLength)
	}
	s := &Schedule{zone: o.zone}
	words := strings.Fields(expr)
	if len(words) > 0 {
		name, ok := zonePrefix(words[0])
		if ok {
			zone, err := loadZone(name)
			if err != nil {
				return nil, err
			}
			s.zone, s.named, words = zone, true, words[1:]
		}
	}
	if s.zone.String() == "Local" {
		return nil, refuse("zone", "Local", "depends on the host: use a name such as Europe/Berlin")
	}
	if len(words) == 0 {
		return nil, refuse("expression", "", "has no fields: use 5, 6 (seconds first) or 7 (year last)")
	}
	if strings.HasPrefix(words[0], "@") {
		if strings.EqualFold(words[0], "@every") {
			var err error
			s.every, err = parseEvery(words[1:], o.anchor)
			return s, err
		}
		expanded, err := expandMacro(words)
		if err != nil {
			return nil, err
		}
		words = expanded
	}
	if err := s.parseFields(words, o); err != nil {
		return nil, err
	}
	s.setPolicies(o)
	return s, s.mustFire()
}

// expandMacro returns the fields behind a name such as @daily.
func expandMacro(words []string) ([]string, error) {
	fields := ""
	switch strings.ToLower(words[0]) {
	case "@yearly", "@annually":
		fields = "0 0 1 1 *"
	case "@monthly":
		fields = "0 0 1 * *"
	case "@weekly":
		fields = "0 0 * * SUN" // a name, since Quartz gives Sunday another number
	case "@daily", "@midnight":
		fields = "0 0 * * *"
	case "@hourly":
		fields = "0 * * * *"
	default:
		return nil, refuse("expression", words[0], "is no macro: "+
			"use @yearly, @monthly, @weekly, @daily, @hourly or @every followed by a duration")
	}
	if len(words) > 1 {
		return nil, refuse("expression", words[1], "stands after a macro: remove it")
	}
	return strings.Fields(fields), nil
}

// parseFields fills s.fields, seconds first, and compiles them.
func (s *Schedule) parseFields(words []string, o options) error {
	var units []unit
	switch len(words) {
	case 5:
		words = append([]string{"0"}, words...)
		units = allUnits[:6]
	case 6:
		units = allUnits[:6]
	case 7:
		units = allUnits[:7]
	default:
		return refuse("expression", "", "has %d fields: use 5, 6 (seconds first) or 7 (year last)",
			len(words))
	}
	for i, u := range units {
		f, err := parseField(u, words[i], o)
		if err != nil {
			return err
		}
		s.fields = append(s.fields, f)
	}
	s.cal = compile(s.fields)
	return nil
}

// setPolicies decides between real time and wall clock and applies the overrides.
func (s *Schedule) setPolicies(o options) {
	s.wildcard = s.fields[second].star || s.fields[minute].star || s.fields[hour].star
	s.gap, s.overlap = GapRun, OverlapFirst
	if s.wildcard {
		s.gap, s.overlap = GapSkip, OverlapBoth
	}
	if o.gap != GapAuto {
		s.gap = o.gap
	}
	if o.overlap != OverlapAuto {
		s.overlap = o.overlap
	}
}

// mustFire refuses a schedule without a fire time. It searches from fixed dates, so that the
// answer is the same on every day.
func (s *Schedule) mustFire() error {
	from := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	if s.cal.years != nil {
		from = time.Date(minYear-1, 12, 30, 0, 0, 0, 0, time.UTC)
	}
	if !s.Next(from).IsZero() {
		return nil
	}
	err := refuse("expression", "", "never fires: no date has day of month %s, month %s, weekday %s",
		s.fields[dayOfMonth], s.fields[month], s.fields[weekday])
	if s.cal.years != nil {
		err.Reason += fmt.Sprintf(", year %s", s.fields[year])
	}
	err.Reason += " and a time that exists: change one of them"
	err.Err = ErrNeverFires
	return err
}

// zonePrefix splits CRON_TZ=Zone or TZ=Zone.
func zonePrefix(word string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(word, "CRON_TZ="); ok {
		return name, true
	}
	return strings.CutPrefix(word, "TZ=")
}
