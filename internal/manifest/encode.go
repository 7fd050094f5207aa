package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Object is a mapping whose keys have an order. It marshals to JSON with durations in milliseconds,
// under keys that end with _ms.
type Object []Member

// Member is one key of an Object. The value is one of those that a field shows.
type Member struct {
	Key   string
	Value any
}

// show lists what is set.
func show[T any](fields []field[T], from *T) Object {
	var o Object
	for _, f := range fields {
		if v := f.get(from); v != nil {
			if inner, ok := v.(Object); !ok || len(inner) > 0 {
				o = append(o, Member{f.key, v})
			}
		}
	}
	return o
}

// Show is a definition in the form of the HTTP interface, without its name; what has its default
// is left out.
func (j *Job) Show() Object {
	if j.Do != nil {
		return show(runFields(), j)
	}
	return show(jobFields(), j)
}

// MarshalJSON writes the keys in their order.
func (o Object) MarshalJSON() ([]byte, error) { return o.json(), nil }

func (o Object) json() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key := m.Key
		switch m.Value.(type) {
		case time.Duration, []time.Duration, limit:
			key += "_ms"
		}
		quote(&b, key)
		b.WriteByte(':')
		writeJSON(&b, m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case document:
		b.Write(v.json)
	case Object:
		b.Write(v.json())
	case string:
		quote(b, v)
	case time.Duration:
		b.WriteString(strconv.FormatFloat(float64(v)/float64(time.Millisecond), 'f', -1, 64))
	case limit:
		writeJSON(b, max(time.Duration(v), 0))
	case map[string]string:
		b.Write(sorted(v).json())
	case []time.Duration:
		writeList(b, v)
	case []string:
		writeList(b, v)
	default: // a bool or a number
		fmt.Fprint(b, v)
	}
}

func writeList[V any](b *bytes.Buffer, vs []V) {
	b.WriteByte('[')
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(b, v)
	}
	b.WriteByte(']')
}

func sorted(m map[string]string) Object {
	var o Object
	for _, k := range slices.Sorted(maps.Keys(m)) {
		o = append(o, Member{k, m[k]})
	}
	return o
}

// Write returns the file in YAML. Parse reads the same from it.
func Write(f *File) ([]byte, error) {
	var top Object
	if f.Source != "" {
		top = append(top, Member{"source", f.Source})
	}
	if f.Zone != "" {
		top = append(top, Member{"tz", f.Zone})
	}
	jobs := Object{}
	for i := range f.Jobs {
		o := f.Jobs[i].Show()
		if f.Jobs[i].Reboot {
			o = append(o, Member{"schedule", "@reboot"})
		}
		jobs = append(jobs, Member{f.Jobs[i].Row.Name, o})
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(yamlNode(append(top, Member{"jobs", jobs}))); err != nil {
		return nil, fmt.Errorf("write jobs: %w", err)
	}
	return b.Bytes(), nil
}

func yamlNode(v any) *yaml.Node {
	switch v := v.(type) {
	case document:
		return v.node
	case Object:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range v {
			n.Content = append(n.Content, textNode(m.Key), yamlNode(m.Value))
		}
		return n
	case map[string]string:
		return yamlNode(sorted(v))
	case []time.Duration:
		return listNode(v)
	case []string:
		return listNode(v)
	case time.Duration:
		return textNode(short(v))
	case limit:
		if v < 0 {
			return textNode("none")
		}
		return textNode(short(time.Duration(v)))
	case string:
		return textNode(v)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)} // a bool or a number
}

func listNode[V any](vs []V) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, v := range vs {
		n.Content = append(n.Content, yamlNode(v))
	}
	return n
}

func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// short writes 5m instead of 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Change is one key in which two definitions differ.
type Change struct {
	Key string `json:"key"`
	Old string `json:"old"` // as JSON; "" is not there
	New string `json:"new"`
}

// Diff lists the keys in which two definitions differ, but for the pause if b says nothing of it.
func Diff(a, b *Job) []Change {
	keys, before, after := jobFields(), a.Show(), b.Show()
	var out []Change
	for _, f := range keys {
		c := Change{Key: f.key, Old: before.text(f.key), New: after.text(f.key)}
		switch {
		case c.Old == c.New:
		case f.key == "paused" && b.Paused == nil:
		case f.key == "paused" && !*b.Paused && c.Old == "":
		default:
			out = append(out, c)
		}
	}
	return out
}

// text is the JSON of one key, "" if it is not there.
func (o Object) text(key string) string {
	for _, m := range o {
		if m.Key == key {
			var b bytes.Buffer
			writeJSON(&b, m.Value)
			return b.String()
		}
	}
	return ""
}
