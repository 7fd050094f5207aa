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

// Object is a mapping whose keys have an order. It marshals to JSON with durations in whole
// milliseconds under keys that end with _ms.
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
		quote(&b, m.jsonKey())
		b.WriteByte(':')
		writeJSON(&b, m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (m *Member) jsonKey() string {
	whole := true
	switch v := m.Value.(type) {
	case time.Duration:
		whole = inWhole(v)
	case limit:
		whole = inWhole(time.Duration(v))
	case []time.Duration:
	default:
		whole = false
	}
	if whole {
		return m.Key + "_ms"
	}
	return m.Key
}

// inWhole reports whether a duration is a number of milliseconds. Any other is a text in JSON too.
// No time-out at all is 0 of them.
func inWhole(d time.Duration) bool { return d < 0 || d%time.Millisecond == 0 }

func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case document:
		b.Write(v.json)
	case Object:
		b.Write(v.json())
	case string:
		quote(b, v)
	case time.Duration:
		if !inWhole(v) {
			quote(b, v.String())
			return
		}
		b.WriteString(strconv.FormatInt(v.Milliseconds(), 10))
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

// Show is the file in the form in which it is written.
func (f *File) Show() Object {
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
	return append(top, Member{"jobs", jobs})
}

// Write returns the file in YAML. Parse reads the same from it.
func Write(f *File) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(yamlNode(f.Show())); err != nil {
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
		return textNode(Short(v))
	case limit:
		if v < 0 {
			return textNode("none")
		}
		return textNode(Short(time.Duration(v)))
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

// Short writes a duration as files do: 5m instead of 5m0s.
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Difference is one key in which two definitions differ.
type Difference struct {
	Key string `json:"key"`
	Old Value  `json:"old"`
	New Value  `json:"new"`
}

// Value is the JSON of a value; "" is not there, and null in JSON.
type Value string

// MarshalJSON writes it as it is.
func (v Value) MarshalJSON() ([]byte, error) {
	if v == "" {
		return []byte("null"), nil
	}
	return []byte(v), nil
}

// Diff lists the keys in which two definitions differ, but for the pause if b says nothing of it.
func Diff(a, b *Job) []Difference {
	before, after := a.Show(), b.Show()
	out := []Difference{}
	for _, f := range jobFields() {
		d := Difference{Key: f.key}
		for _, side := range []struct {
			o  Object
			to *Value
		}{{before, &d.Old}, {after, &d.New}} {
			if m := side.o.find(f.key); m != nil {
				d.Key, *side.to = m.jsonKey(), m.text()
			}
		}
		if f.key == "paused" {
			if b.Paused == nil {
				continue
			}
			if d.Old == "" {
				d.Old = "false" // of a stored job it says nothing else
			}
		}
		if d.Old != d.New {
			out = append(out, d)
		}
	}
	return out
}

func (o Object) find(key string) *Member {
	for i := range o {
		if o[i].Key == key {
			return &o[i]
		}
	}
	return nil
}

func (m *Member) text() Value {
	var b bytes.Buffer
	writeJSON(&b, m.Value)
	return Value(b.String())
}
