package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax/task"
	"go.yaml.in/yaml/v3"
)

// Parse reads a file. The error is an *Error that lists everything that is wrong; the File then
// holds what could be read.
func Parse(data []byte, opts Options) (*File, error) {
	r := &reader{opts: opts, secrets: map[string]bool{}}
	f := &File{}
	if root := r.document(data); root != nil {
		r.file(root, f)
	}
	for s := range r.secrets {
		f.Secrets = append(f.Secrets, s)
	}
	slices.Sort(f.Secrets)
	if len(r.bad) == 0 {
		return f, nil
	}
	slices.SortStableFunc(r.bad, func(a, b Line) int { return cmp.Compare(a.Number, b.Number) })
	return f, &Error{Lines: r.bad}
}

// yamlLine is how the YAML reader names a line.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)`)

// document reads the one YAML document of a file.
func (r *reader) document(data []byte) *yaml.Node {
	if json.Valid(data) {
		data = yamlEscapes(data)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if err == nil && dec.Decode(&more) != io.EOF {
		r.refuse(&more, "there is a second document; one file holds one")
	}
	switch {
	case errors.Is(err, io.EOF):
		r.bad = append(r.bad, Line{1, "the file is empty; write `jobs:` and below it a job"})
		return nil
	case err != nil:
		m := yamlLine.FindStringSubmatch(err.Error())
		n, _ := strconv.Atoi(m[1]) // without a number it is 0
		r.bad = append(r.bad, Line{max(n, 1), "is no YAML: " + m[2]})
		return nil
	}
	return doc.Content[0]
}

// yamlEscapes replaces the escapes of JSON that YAML does not know: that of a slash, and characters
// in two halves. The input is valid JSON, so a backslash stands only in a text.
func yamlEscapes(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			out = append(out, data[i])
			continue
		}
		high, low := hexUnit(data[i:]), -1
		if i+6 <= len(data) {
			low = hexUnit(data[i+6:])
		}
		switch {
		case data[i+1] == '/':
			out = append(out, '/')
			i++
		case high < 0xd800 || high > 0xdfff: // no half, or another escape
			out = append(out, data[i], data[i+1])
			i++
		case high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff:
			out = fmt.Appendf(out, `\U%08X`, 0x10000+(high-0xd800)<<10+low-0xdc00)
			i += 11
		default: // half a character is none
			out = append(out, `\uFFFD`...)
			i += 5
		}
	}
	return out
}

// hexUnit reads \uXXXX at the start of a text, or returns -1.
func hexUnit(s []byte) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// file reads the top of a file.
func (r *reader) file(root *yaml.Node, f *File) {
	var jobs *yaml.Node
	fields := []field[File]{
		{key: "tz", set: func(r *reader, n *yaml.Node, f *File) {
			if r.text(n, &f.Zone) {
				r.zone(n, f.Zone)
			}
		}},
		{key: "jobs", set: func(_ *reader, n *yaml.Node, _ *File) { jobs = n }},
	}
	if !r.opts.Run {
		fields = append(fields, field[File]{key: "source", set: func(r *reader, n *yaml.Node, f *File) {
			if r.text(n, &f.Source) {
				r.check(n, task.CheckName("source", f.Source, false))
			}
		}})
	}
	read(r, root, "", fields, f, nil)
	if jobs == nil {
		if len(r.bad) == 0 {
			r.refuse(root, "has no `jobs:`; write it and below it a job")
		}
		return
	}
	for _, p := range r.pairs(jobs, "jobs") {
		j := Job{Line: p.key.Line, Row: task.Job{Name: p.key.Value, MaxRetries: -1,
			Bucket: task.Normal, Overlap: task.OverlapSkip}, lines: map[string]int{}}
		if err := task.CheckName("name", j.Row.Name, false); err != nil {
			r.refuse(p.key, "jobs: %v", err)
			continue
		}
		before := len(r.bad)
		r.job(p.value, f, &j)
		for i := before; i < len(r.bad); i++ {
			r.bad[i].Text = "job " + j.Row.Name + ": " + r.bad[i].Text
		}
		f.Jobs = append(f.Jobs, j)
	}
}

// job reads one definition and checks what one key alone does not tell.
func (r *reader) job(n *yaml.Node, f *File, j *Job) {
	before := len(r.bad)
	fields := jobFields()
	if r.opts.Run {
		j.Do = &Action{}
		fields = runFields()
	}
	read(r, n, "", fields, j, j.lines)
	s := &j.Row.Schedule
	if s.Cron != "" && s.Zone == "" && !strings.HasPrefix(s.Cron, "CRON_TZ=") {
		s.Zone = f.Zone
	}
	if r.opts.Run && s.Cron == "@reboot" {
		j.Reboot, *s = true, task.Schedule{}
	}
	if len(r.bad) > before {
		return // what is missing may be what is misspelt
	}
	if *s == (task.Schedule{}) && !j.Reboot {
		r.bad = append(r.bad, Line{j.Line, "has no schedule; write cron, every, delay or at below it"})
	}
	if r.opts.Run {
		r.checkAction(j)
	} else if j.Row.Kind == "" {
		r.bad = append(r.bad, Line{j.Line, "has no kind; name the handler that runs it"})
	}
	for name := range j.Row.Labels {
		if strings.HasPrefix(name, "ax.") && (r.opts.Run || name != Source) {
			r.bad = append(r.bad, Line{j.Where("labels"),
				fmt.Sprintf("label %s: names that begin with ax. belong to ax; take another", name)})
		}
	}
	given := 0
	for _, key := range []string{"payload", "payload_text", "payload_base64"} {
		if j.lines[key] != 0 {
			given++
		}
	}
	if given > 1 {
		r.bad = append(r.bad, Line{j.Line, "has more than one payload; keep one"})
	}
}

func (r *reader) zone(n *yaml.Node, name string) {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		r.refuse(n, "tz: %q is not a time zone; use an IANA name such as Europe/Berlin", name)
	}
}
