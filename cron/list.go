package cron

import (
	"fmt"
	"math/bits"
)

// stretch reports whether a mask is a single run of values.
func stretch(mask uint64) bool {
	return bits.OnesCount64(mask) == highest(mask)-bits.TrailingZeros64(mask)+1
}

// pace returns the distance between the values of a field, if it is the same all round the clock
// and they begin at 0.
func pace(f field) (n int, even bool) {
	mask := f.bits()
	values := bits.OnesCount64(mask)
	if mask&1 == 0 || values < 2 || f.size()%values != 0 {
		return 0, false
	}
	n = f.size() / values
	for v := 0; v < f.size(); v += n {
		if mask>>v&1 == 0 {
			return 0, false
		}
	}
	return n, true
}

// clockText writes a second of the day; seconds only if there are any.
func clockText(clock int) string {
	if clock%60 != 0 {
		return fmt.Sprintf("%02d:%02d:%02d", clock/3600, clock/60%60, clock%60)
	}
	return fmt.Sprintf("%02d:%02d", clock/3600, clock/60%60)
}

// maskValues returns the values of a mask in order.
func maskValues(mask uint64) []int {
	var values []int
	for ; mask != 0; mask &= mask - 1 {
		values = append(values, bits.TrailingZeros64(mask))
	}
	return values
}

// numbers lists values.
func (e explanation) numbers(values []int) string {
	return e.values(values, e.w.span, func(v int) string { return fmt.Sprintf(e.w.number, v) })
}

// names lists values by their names.
func (e explanation) names(values []int, names []string, span string) string {
	return e.values(values, span, func(v int) string { return names[v] })
}

// values lists values. Five or more at an even distance are abridged, three or more in a row are
// drawn together by span.
func (e explanation) values(values []int, span string, name func(v int) string) string {
	if n := len(values); n >= 5 && values[1]-values[0] > 1 && evenly(values) {
		return fmt.Sprintf(e.w.series, name(values[0]), name(values[1]), name(values[n-1]))
	}
	var parts []string
	for i := 0; i < len(values); i++ {
		last := i
		for last+1 < len(values) && values[last+1] == values[last]+1 {
			last++
		}
		if last-i >= 2 {
			parts = append(parts, fmt.Sprintf(span, name(values[i]), name(values[last])))
			i = last
			continue
		}
		parts = append(parts, name(values[i]))
	}
	return e.list(parts, e.w.and)
}

// evenly reports whether neighbours have the same distance everywhere.
func evenly(values []int) bool {
	for i := 2; i < len(values); i++ {
		if values[i]-values[i-1] != values[1]-values[0] {
			return false
		}
	}
	return true
}

// list joins parts: "a", "a and b", "a, b and c". form joins the last one.
func (e explanation) list(parts []string, form string) string {
	if len(parts) == 0 {
		return ""
	}
	text, last := parts[0], len(parts)-1
	for i, part := range parts[1:] {
		if i+1 == last {
			text = fmt.Sprintf(form, text, part)
		} else {
			text = fmt.Sprintf(e.w.listed, text, part)
		}
	}
	return text
}
