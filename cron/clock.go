package cron

import "math/bits"

// nextClock returns the first matching second of a day from clock on.
func (c *calendar) nextClock(clock int) (int, bool) {
	h, m, s := clock/3600, clock/60%60, clock%60
	if c.hours>>h&1 != 0 {
		if c.minutes>>m&1 != 0 {
			if later := c.seconds >> s; later != 0 {
				return clock + bits.TrailingZeros64(later), true
			}
		}
		if later := c.minutes >> (m + 1); later != 0 {
			m += 1 + bits.TrailingZeros64(later)
			return h*3600 + m*60 + bits.TrailingZeros64(c.seconds), true
		}
	}
	later := c.hours >> (h + 1)
	if later == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros64(later)
	m, s = bits.TrailingZeros64(c.minutes), bits.TrailingZeros64(c.seconds)
	return h*3600 + m*60 + s, true
}

// prevClock returns the last matching second of a day up to clock.
func (c *calendar) prevClock(clock int) (int, bool) {
	h, m, s := clock/3600, clock/60%60, clock%60
	if c.hours>>h&1 != 0 {
		if c.minutes>>m&1 != 0 {
			if earlier := c.seconds << (63 - s); earlier != 0 {
				return clock - bits.LeadingZeros64(earlier), true
			}
		}
		if earlier := c.minutes & (1<<m - 1); earlier != 0 {
			return h*3600 + highest(earlier)*60 + highest(c.seconds), true
		}
	}
	earlier := c.hours & (1<<h - 1)
	if earlier == 0 {
		return 0, false
	}
	return highest(earlier)*3600 + highest(c.minutes)*60 + highest(c.seconds), true
}

// countClock returns how many seconds of a matching day before clock match.
func (c *calendar) countClock(clock int) int64 {
	h, m, s := clock/3600, clock/60%60, clock%60
	below := func(mask uint64, n int) int { return bits.OnesCount64(mask & (1<<n - 1)) }
	perMinute := bits.OnesCount64(c.seconds)
	perHour := bits.OnesCount64(c.minutes) * perMinute
	n := below(c.hours, h) * perHour
	if c.hours>>h&1 != 0 {
		n += below(c.minutes, m) * perMinute
		if c.minutes>>m&1 != 0 {
			n += below(c.seconds, s)
		}
	}
	return int64(n)
}

func highest(mask uint64) int { return bits.Len64(mask) - 1 }
