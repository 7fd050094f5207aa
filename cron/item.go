package cron

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

type itemKind uint8

const (
	everyValue  itemKind = iota // * or */step
	oneValue                    // lo
	fromValue                   // lo/step, up to the maximum
	between                     // lo-hi or lo-hi/step; hi < lo wraps
	lastDay                     // L or L-lo
	nearDay                     // loW: the Monday-to-Friday day nearest to day lo
	lastWorkday                 // LW
	nthWeekday                  // lo#hi: the hi-th weekday lo of the month
	lastWeekday                 // loL
)

// item is one element of a field's list.
type item struct {
	kind   itemKind
	lo, hi int
	step   int // at least 1
}

// each calls add with every plain value of the item.
func (it item) each(u unit, add func(v int)) {
	lo, hi := it.lo, it.hi
	switch it.kind {
	case everyValue:
		lo, hi = u.min, u.max
	case oneValue:
		hi = lo
	case fromValue:
		hi = u.max
	case between:
		if hi < lo {
			hi += u.size()
		}
	default:
		return
	}
	for v := lo; v <= hi; v += it.step {
		add(u.min + (v-u.min)%u.size())
	}
}

// String writes the item so that parsing it gives the same item.
func (it item) String() string {
	step := ""
	if it.step > 1 {
		step = "/" + strconv.Itoa(it.step)
	}
	switch it.kind {
	case everyValue:
		return "*" + step
	case fromValue:
		return fmt.Sprintf("%d/%d", it.lo, it.step)
	case between:
		return fmt.Sprintf("%d-%d%s", it.lo, it.hi, step)
	case lastDay:
		if it.lo == 0 {
			return "L"
		}
		return fmt.Sprintf("L-%d", it.lo)
	case nearDay:
		return fmt.Sprintf("%dW", it.lo)
	case lastWorkday:
		return "LW"
	case nthWeekday:
		return fmt.Sprintf("%d#%d", it.lo, it.hi)
	case lastWeekday:
		return fmt.Sprintf("%dL", it.lo)
	default:
		return strconv.Itoa(it.lo)
	}
}

// itemParser reads one element of a list. text is in upper case.
type itemParser struct {
	unit
	options
	text string
}

func (p itemParser) refuse(format string, args ...any) *ParseError {
	return refuse(p.unit.name, p.text, format, args...)
}

func (p itemParser) parse() (item, error) {
	if p.text == "" {
		return item{}, p.refuse("has an empty element: remove the comma or add a value")
	}
	if p.text[0] == 'H' {
		return p.hashed()
	}
	if it, ok, err := p.special(); ok || err != nil {
		return it, err
	}
	base, stepText, stepped := strings.Cut(p.text, "/")
	it := item{step: 1}
	if stepped {
		step, err := p.step(stepText, p.size())
		if err != nil {
			return item{}, err
		}
		it.step = step
	}
	if base == "*" || base == "?" {
		it.kind = everyValue
		return it, nil
	}
	if lo, hi, isRange := strings.Cut(base, "-"); isRange {
		return p.between(it, lo, hi)
	}
	lo, err := p.value(base)
	if err != nil {
		return item{}, err
	}
	it.kind, it.lo = oneValue, p.wrap(lo)
	if stepped {
		it.kind = fromValue
	}
	return it, nil
}

// between completes it with the range lo-hi.
func (p itemParser) between(it item, loText, hiText string) (item, error) {
	lo, err := p.value(loText)
	if err != nil {
		return item{}, err
	}
	hi, err := p.value(hiText)
	if err != nil {
		return item{}, err
	}
	if p.index == year && hi < lo {
		return item{}, p.refuse("ends before it begins: write %d-%d", hi, lo)
	}
	if lo == 7 && p.index == weekday {
		lo, hi = 0, p.wrap(hi) // 7-2 begins on a Sunday, 5-7 ends on one
	}
	it.kind, it.lo, it.hi = between, lo, hi
	return it, nil
}

// special reads the elements that only the day fields know.
func (p itemParser) special() (it item, ok bool, err error) {
	switch p.index {
	case dayOfMonth:
		return p.specialDay()
	case weekday:
		return p.specialWeekday()
	}
	return item{}, false, nil
}

func (p itemParser) specialDay() (it item, ok bool, err error) {
	switch {
	case p.text == "L":
		return item{kind: lastDay, step: 1}, true, nil
	case p.text == "LW":
		return item{kind: lastWorkday, step: 1}, true, nil
	case strings.HasPrefix(p.text, "L-"):
		n, ok := number(p.text[2:])
		if !ok || n > 30 {
			return item{}, false, p.refuse("is not a day counted from the last: use L-1 to L-30")
		}
		return item{kind: lastDay, lo: n, step: 1}, true, nil
	case strings.HasSuffix(p.text, "W"):
		n, ok := number(p.text[:len(p.text)-1])
		if !ok || n < 1 || n > 31 {
			return item{}, false, p.refuse("is unknown: use 1W to 31W or LW")
		}
		return item{kind: nearDay, lo: n, step: 1}, true, nil
	}
	return item{}, false, nil
}

func (p itemParser) specialWeekday() (it item, ok bool, err error) {
	if day, nth, found := strings.Cut(p.text, "#"); found {
		k, isNumber := number(nth)
		if !isNumber || k < 1 || k > 5 {
			return item{}, false, p.refuse("has no such week: use #1 to #5, or dL for the last")
		}
		d, err := p.value(day)
		return item{kind: nthWeekday, lo: p.wrap(d), hi: k, step: 1}, err == nil, err
	}
	if p.text == "L" {
		if p.quartz {
			return item{kind: oneValue, lo: 6, step: 1}, true, nil
		}
		return item{}, false, p.refuse("needs a weekday: use 5L for the last Friday, 6 for Saturday")
	}
	if day, found := strings.CutSuffix(p.text, "L"); found {
		d, err := p.value(day)
		return item{kind: lastWeekday, lo: p.wrap(d), step: 1}, err == nil, err
	}
	return item{}, false, nil
}

// hashed reads H, H/n, H(a-b) and H(a-b)/n and resolves it to values.
func (p itemParser) hashed() (item, error) {
	lo, hi := p.min, p.max
	switch p.index {
	case dayOfMonth:
		hi = 28 // a day that every month has
	case year:
		return item{}, p.refuse("cannot be spread over years: name them")
	}
	if p.seed == "" {
		return item{}, p.refuse("needs the name of the job to choose a value: give one, or a number")
	}
	rest := p.text[1:]
	if inner, found := strings.CutPrefix(rest, "("); found {
		bounds, after, closed := strings.Cut(inner, ")")
		from, to, isRange := strings.Cut(bounds, "-")
		if !closed || !isRange {
			return item{}, p.refuse("is unknown: use H, H/n, H(a-b) or H(a-b)/n")
		}
		r, err := p.between(item{step: 1}, from, to)
		if err != nil {
			return item{}, err
		}
		if r.hi < r.lo {
			return item{}, p.refuse("must not wrap: write H(%d-%d)", r.hi, r.lo)
		}
		lo, hi, rest = r.lo, min(r.hi, p.max), after
	}
	if rest == "" {
		return item{kind: oneValue, lo: lo + p.hash(hi-lo+1), step: 1}, nil
	}
	stepText, found := strings.CutPrefix(rest, "/")
	if !found {
		return item{}, p.refuse("is unknown: use H, H/n, H(a-b) or H(a-b)/n")
	}
	step, err := p.step(stepText, hi-lo+1)
	if err != nil {
		return item{}, err
	}
	return item{kind: between, lo: lo + p.hash(step), hi: hi, step: step}, nil
}

// hash returns a number from 0 to n-1 that is the same for ever for a job's name and a field.
func (p itemParser) hash(n int) int {
	h := fnv.New64a()
	h.Write([]byte(p.seed + "\x00" + p.unit.name))
	return int(h.Sum64() % uint64(n))
}

// step reads the number after a slash.
func (p itemParser) step(text string, most int) (int, error) {
	n, ok := number(text)
	if !ok || n < 1 || n > most {
		return 0, p.refuse("has a step that does not fit: use a step from 1 to %d", most)
	}
	return n, nil
}

// value reads a number or a name. Weekday 7 stays 7, so that ranges may end on it.
func (p itemParser) value(text string) (int, error) {
	if i := slices.Index(p.names, text); i >= 0 {
		return p.min + i, nil
	}
	lo, hi, shift := p.min, p.max, 0
	if p.index == weekday {
		hi = 7
		if p.quartz {
			lo, shift = 1, -1
		}
	}
	n, ok := number(text)
	if ok && lo <= n && n <= hi {
		return n + shift, nil
	}
	also := ""
	if p.names != nil {
		also = fmt.Sprintf(" or %s to %s", p.names[0], p.names[len(p.names)-1])
	}
	return 0, p.refuse("%q is not a value: use %d to %d%s", clip(text), lo, hi, also)
}

// wrap turns weekday 7 into 0.
func (p itemParser) wrap(v int) int {
	if p.index == weekday {
		return v % 7
	}
	return v
}

// number reads one to four decimal digits and nothing else.
func number(text string) (int, bool) {
	if len(text) < 1 || len(text) > 4 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
