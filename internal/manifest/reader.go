package manifest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax/task"
	"go.yaml.in/yaml/v3"
)

// reader turns YAML nodes into values, and collects what is wrong.
type reader struct {
	opts    Options
	bad     []Line
	secrets map[string]bool
	nodes   int // of a payload or body, read so far
	merges  int // mappings that << has brought in
}

func (r *reader) refuse(n *yaml.Node, format string, args ...any) {
	r.bad = append(r.bad, Line{max(n.Line, 1), fmt.Sprintf(format, args...)})
}

func (r *reader) check(n *yaml.Node, err error) {
	if err != nil {
		r.refuse(n, "%v", err)
	}
}

// field is one key of a mapping. A key of a duration has a second form, in milliseconds, with
// _ms at its end.
type field[T any] struct {
	key string
	// set reads the value, and setMS that of the second form.
	set   func(r *reader, n *yaml.Node, to *T)
	setMS func(r *reader, n *yaml.Node, to *T)
	// get returns the value as it is shown: nil if it is not set, a string, an int64, a float64, a
	// bool, a time.Duration, a []time.Duration, a limit, a document, a map[string]string or an
	// Object.
	get func(from *T) any
}

// read sets the fields of a mapping. lines takes the line of each key, below the prefix.
func read[T any](r *reader, n *yaml.Node, prefix string, fields []field[T], to *T,
	lines map[string]int) {
	seen := map[string]bool{}
	for _, p := range r.pairs(n, strings.TrimSuffix(prefix, ".")) {
		key := p.key.Value
		i := slices.IndexFunc(fields, func(f field[T]) bool {
			return f.key == key || f.setMS != nil && f.key+"_ms" == key
		})
		if i < 0 {
			r.unknown(p.key, prefix, keysOf(fields))
			continue
		}
		f := fields[i]
		if lines != nil {
			lines[prefix+key] = p.key.Line
		}
		if seen[f.key] {
			r.refuse(p.key, "%s%s and %s%s_ms say the same; keep one", prefix, f.key, prefix, f.key)
			continue
		}
		seen[f.key] = true
		set := f.set
		if key != f.key {
			set = f.setMS
		}
		before := len(r.bad)
		set(r, deref(p.value), to)
		for i := before; i < len(r.bad); i++ {
			if !strings.HasPrefix(r.bad[i].Text, prefix+f.key) {
				r.bad[i].Text = prefix + key + ": " + r.bad[i].Text
			}
		}
	}
}

func keysOf[T any](fields []field[T]) (keys []string) {
	for _, f := range fields {
		keys = append(keys, f.key)
		if f.setMS != nil {
			keys = append(keys, f.key+"_ms")
		}
	}
	return keys
}

// unknown refuses a key, and says which was perhaps meant. Keys at the top that begin with x- are
// a place for what is used again by its anchor.
func (r *reader) unknown(key *yaml.Node, prefix string, keys []string) {
	name := key.Value
	if slices.Contains(keys, "jobs") && strings.HasPrefix(name, "x-") {
		return
	}
	full := prefix + name
	switch near := nearest(name, keys); {
	case near != "":
		r.refuse(key, "key %q is unknown; is %s meant?", full, near)
	case prefix == "" && !r.opts.Run && slices.Contains(keysOf(runFields()), name):
		r.refuse(key, "key %q belongs to files of ax run; here a job has a kind and a payload", full)
	case prefix == "" && r.opts.Run && slices.Contains(keysOf(jobFields()), name):
		r.refuse(key, "key %q belongs to files of ax jobs; here a job has a command, a shell "+
			"or an http", full)
	default:
		r.refuse(key, "key %q is unknown; use one of %s", full, strings.Join(keys, ", "))
	}
}

// nearest finds the key that a misspelt one is closest to, or returns "".
func nearest(name string, keys []string) string {
	best, at := "", 1+max(1, len(name)/2)
	for _, k := range keys {
		if d := distance(strings.ToLower(name), k); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance counts the letters to put in, take out or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

type pair struct{ key, value *yaml.Node }

// maxMerge bounds how deep << goes, also into itself, and maxMerges how often a file has it.
const (
	maxMerge  = 16
	maxMerges = 10_000
)

// pairs returns the keys and values of a mapping, with those that << merges in.
func (r *reader) pairs(n *yaml.Node, what string) []pair {
	return r.merge(n, what, 0)
}

func (r *reader) merge(n *yaml.Node, what string, depth int) (out []pair) {
	n = deref(n)
	if depth > 0 {
		r.merges++
	}
	if r.merges > maxMerges { // one remark is enough
		if r.merges == maxMerges+1 {
			r.refuse(n, "<< is there too often, or in itself")
		}
		return nil
	}
	if n.Kind != yaml.MappingNode || depth > maxMerge {
		if what == "" {
			what = "this"
		}
		r.refuse(n, "%s must be a mapping of keys to values", what)
		return nil
	}
	have := map[string]bool{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := deref(n.Content[i]), n.Content[i+1]
		switch {
		case k.Tag == "!!merge":
			merged = append(merged, v)
			continue
		case k.Kind != yaml.ScalarNode:
			r.refuse(k, "a key must be a text")
			continue
		case have[k.Value]:
			r.refuse(k, "key %q is there twice; keep one", k.Value)
			continue
		}
		have[k.Value] = true
		out = append(out, pair{k, v})
	}
	for _, m := range merged {
		parts := []*yaml.Node{m}
		if d := deref(m); d.Kind == yaml.SequenceNode {
			parts = d.Content
		}
		for _, part := range parts {
			for _, p := range r.merge(part, "<<", depth+1) {
				if !have[p.key.Value] {
					have[p.key.Value] = true
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// deref follows *name.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// scalar returns the text of a single value, as it is written.
func (r *reader) scalar(n *yaml.Node, tags ...string) (string, bool) {
	n = deref(n)
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.Tag) {
		return "", false
	}
	return n.Value, true
}

// text takes also what looks like a number, as it is written.
func (r *reader) text(n *yaml.Node, to *string) bool {
	s, ok := r.scalar(n, "!!str", "!!int", "!!float", "!!bool", "!!timestamp")
	if !ok {
		r.refuse(n, "must be a text")
		return false
	}
	*to = s
	return true
}

func (r *reader) number(n *yaml.Node, to *int64) bool {
	s, ok := r.scalar(n, "!!int")
	v, err := strconv.ParseInt(s, 10, 64)
	if !ok || err != nil {
		r.refuse(n, "must be a whole number")
		return false
	}
	*to = v
	return true
}

// most is the longest duration in milliseconds.
const most = math.MaxInt64 / int64(time.Millisecond)

func (r *reader) millis(n *yaml.Node, to *time.Duration) bool {
	var v int64
	if !r.number(n, &v) {
		return false
	}
	if v < 0 || v > most {
		r.refuse(n, "is %d; use milliseconds from 0 on", v)
		return false
	}
	*to = time.Duration(v) * time.Millisecond
	return true
}

func (r *reader) duration(n *yaml.Node, to *time.Duration) bool {
	s, ok := r.scalar(n, "!!str", "!!int", "!!float")
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		r.refuse(n, "%q is no duration such as 90s, 5m or 2h30m", s)
		return false
	}
	*to = d
	return true
}

func (r *reader) instant(n *yaml.Node, to *task.Time) bool {
	s, ok := r.scalar(n, "!!str", "!!timestamp")
	at, err := time.Parse(time.RFC3339, s)
	if !ok || err != nil || !task.ValidTime(at) {
		r.refuse(n, "%q is no time from 1970 to 9999 such as 2030-01-31T22:00:00Z", s)
		return false
	}
	*to = task.FromGo(at)
	return true
}

// texts reads a mapping of texts.
func (r *reader) texts(n *yaml.Node) []Var {
	var out []Var
	for _, p := range r.pairs(n, "") {
		v := Var{Name: p.key.Value}
		before := len(r.bad)
		if r.text(p.value, &v.Value.Raw) {
			v.line = p.key.Line
			out = append(out, v)
		}
		for i := before; i < len(r.bad); i++ {
			r.bad[i].Text = v.Name + " " + r.bad[i].Text
		}
	}
	return out
}

// labels reads a mapping of texts as a map; an empty one is none.
func (r *reader) labels(n *yaml.Node) map[string]string {
	m := map[string]string{}
	for _, v := range r.texts(n) {
		m[v.Name] = v.Value.Raw
	}
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// choice reads one of several words.
func choice[V any](r *reader, n *yaml.Node, to *V, words []string, values []V) {
	var s string
	if !r.text(n, &s) {
		return
	}
	i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, s) })
	if i < 0 {
		r.refuse(n, "%q is unknown; use %s", s, strings.Join(words, ", "))
		return
	}
	*to = values[i]
}

func (r *reader) float(n *yaml.Node, to *float64) bool {
	s, ok := r.scalar(n, "!!int", "!!float")
	v, err := strconv.ParseFloat(s, 64)
	if !ok || err != nil {
		r.refuse(n, "must be a number")
		return false
	}
	*to = v
	return true
}
