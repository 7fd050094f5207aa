package cron

import "strings"

// Positions of the fields, seconds first.
const (
	second = iota
	minute
	hour
	dayOfMonth
	month
	weekday
	year
)

// Years that the year field knows.
const minYear, maxYear = 1970, 2299

// unit describes what a field counts.
type unit struct {
	index    int
	name     string
	min, max int
	names    []string // names[i] means min+i
}

// size is the number of values.
func (u unit) size() int { return u.max - u.min + 1 }

var allUnits = [...]unit{
	{index: second, name: "second", max: 59},
	{index: minute, name: "minute", max: 59},
	{index: hour, name: "hour", max: 23},
	{index: dayOfMonth, name: "day of month", min: 1, max: 31},
	{index: month, name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR",
		"MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{index: weekday, name: "weekday", max: 6, names: []string{"SUN", "MON", "TUE", "WED", "THU",
		"FRI", "SAT"}},
	{index: year, name: "year", min: minYear, max: maxYear},
}

// field is one parsed field. Weekdays are numbered 0 to 6 from Sunday and H is resolved.
type field struct {
	unit
	items []item
	star  bool // begins with * or ?
}

// parseField reads a list of items.
func parseField(u unit, text string, o options) (field, error) {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' { // also keeps letters out that only turn into ASCII in upper case
			return field{}, refuse(u.name, text, "has a character that no field knows: remove it")
		}
	}
	f := field{unit: u, star: text[0] == '*' || text[0] == '?'}
	for part := range strings.SplitSeq(text, ",") {
		p := itemParser{unit: u, options: o, text: strings.ToUpper(part)}
		it, err := p.parse()
		if err != nil {
			return field{}, err
		}
		f.items = append(f.items, it)
	}
	return f, nil
}

// values returns the plain values of the field in a set indexed by value; items such as L are
// not plain.
func (f field) values() []bool {
	set := make([]bool, f.max+1)
	for _, it := range f.items {
		it.each(f.unit, func(v int) { set[v] = true })
	}
	return set
}

// bits is values as a mask, for units whose values fit.
func (f field) bits() uint64 {
	var mask uint64
	for v, in := range f.values() {
		if in {
			mask |= 1 << v
		}
	}
	return mask
}

// String writes the field in its canonical form.
func (f field) String() string {
	parts := make([]string, len(f.items))
	for i, it := range f.items {
		parts[i] = it.String()
	}
	return strings.Join(parts, ",")
}
