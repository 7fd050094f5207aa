package manifest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
	"go.yaml.in/yaml/v3"
)

// payloadFields are the three forms of a payload: a value that is kept as JSON, a text that is kept
// as it is, and any bytes.
func payloadFields() []field[Job] {
	shown := func(key string) func(*Job) any {
		return func(j *Job) any {
			if at, v := payloadForm(j.Row.Payload); at == key {
				return v
			}
			return nil
		}
	}
	return []field[Job]{
		{key: "payload", get: shown("payload"), set: func(r *reader, n *yaml.Node, j *Job) {
			j.Row.Payload = r.toJSON(n)
			r.check(n, task.CheckPayload(j.Row.Payload))
		}},
		{key: "payload_text", get: shown("payload_text"), set: func(r *reader, n *yaml.Node, j *Job) {
			var s string
			if r.text(n, &s) {
				j.Row.Payload = []byte(s)
				r.check(n, task.CheckPayload(j.Row.Payload))
			}
		}},
		{key: "payload_base64", get: shown("payload_base64"), set: func(r *reader, n *yaml.Node, j *Job) {
			var s string
			if !r.text(n, &s) {
				return
			}
			p, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				r.refuse(n, "is no base64: %v", err)
				return
			}
			j.Row.Payload = p
			r.check(n, task.CheckPayload(p))
		}},
	}
}

// document is a payload that is shown as a value; the node is that of its JSON.
type document struct {
	node *yaml.Node
	json []byte
}

// payloadForm chooses the form that gives back the same bytes.
func payloadForm(p []byte) (key string, v any) {
	if len(p) == 0 {
		return "", nil
	}
	if json.Valid(p) {
		var n yaml.Node
		r := &reader{}
		err := yaml.Unmarshal(yamlEscapes(p), &n)
		if err == nil && len(n.Content) == 1 {
			if again := r.toJSON(n.Content[0]); len(r.bad) == 0 && bytes.Equal(again, p) {
				return "payload", document{n.Content[0], p}
			}
		}
	}
	var again string
	text, err := yaml.Marshal(string(p))
	if utf8.Valid(p) && err == nil && yaml.Unmarshal(text, &again) == nil && again == string(p) {
		return "payload_text", string(p)
	}
	return "payload_base64", base64.StdEncoding.EncodeToString(p)
}

// maxNodes bounds a value: aliases can make few lines of YAML into very many values.
const maxNodes = 100_000

// maxDepth is how deep a value may lie in others.
const maxDepth = 200

// toJSON writes a value as JSON without blanks, with keys in their order and numbers as they
// are written.
func (r *reader) toJSON(n *yaml.Node) []byte {
	var b bytes.Buffer
	before := len(r.bad)
	r.nodes = 0
	r.value(&b, n, 0)
	if len(r.bad) > before {
		return nil
	}
	return b.Bytes()
}

func (r *reader) value(b *bytes.Buffer, n *yaml.Node, depth int) {
	n = deref(n)
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		if r.nodes <= maxNodes+1 { // one remark is enough
			r.refuse(n, "is too large, or lies in itself")
			r.nodes = maxNodes + 1
		}
		return
	}
	if b.Len() > task.MaxPayload {
		return // it is refused as a whole
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, p := range r.pairs(n, "the value") {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, p.key.Value)
			b.WriteByte(':')
			r.value(b, p.value, depth+1)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, x := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			r.value(b, x, depth+1)
		}
		b.WriteByte(']')
	default:
		r.single(b, n)
	}
}

// jsonNumber is how JSON writes numbers. Others are not guessed at: 0777 means two things in two
// versions of YAML.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func (r *reader) single(b *bytes.Buffer, n *yaml.Node) {
	tag := n.Tag
	if n.Style == 0 && jsonNumber.MatchString(n.Value) {
		tag = "!!float" // also one that is larger than any that YAML knows
	}
	switch tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		var v bool
		if err := n.Decode(&v); err != nil {
			r.refuse(n, "%q is neither true nor false", n.Value)
		}
		b.WriteString(map[bool]string{true: "true", false: "false"}[v])
	case "!!int", "!!float":
		if !jsonNumber.MatchString(n.Value) {
			r.refuse(n, "%q is no number of JSON; write it as one, or in quotes as a text", n.Value)
		}
		b.WriteString(n.Value)
	case "!!str", "!!timestamp":
		quote(b, n.Value)
	default:
		r.refuse(n, "the tag %s is unknown", n.Tag)
	}
}

// quote writes a text of JSON, with < > & as they are.
func quote(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // texts cannot fail
	b.Truncate(b.Len() - 1)
}
