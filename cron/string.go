package cron

import (
	"strings"
	"time"
)

// String returns the schedule in a canonical form: numbers for names, H replaced by the values it
// stands for, standard numbering of weekdays, and the zone in front unless it is UTC by default.
// Parse(s.String()) gives the same schedule, provided that the zone is one of the time zone
// database; the policies of [OnGap] and [OnOverlap] and the [Anchor] are not part of the text and
// must be given again.
func (s *Schedule) String() string {
	var b strings.Builder
	if s.named || s.zone.String() != time.UTC.String() {
		b.WriteString("CRON_TZ=" + s.zone.String() + " ")
	}
	if s.every.period > 0 {
		b.WriteString("@every " + s.every.duration().String())
		return b.String()
	}
	fields := s.fields
	if len(fields) == year && fields[second].String() == "0" {
		fields = fields[minute:]
	}
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.String())
	}
	return b.String()
}
