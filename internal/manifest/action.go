package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ax-sched/ax/task"
	"go.yaml.in/yaml/v3"
)

// Action is what a job of ax run does: exactly one of Command, Shell and HTTP is set.
type Action struct {
	Command []string // a program and its arguments
	Shell   string   // a line for the shell
	Input   string   // for its standard input
	Env     []Var    // added to an environment made from nothing
	Dir     string   // working directory; "" is the home of the user
	User    string   // runs it; "" is the user of ax
	HTTP    *HTTP
}

// HTTP is a request.
type HTTP struct {
	Method  string // "" is POST with a body, else GET
	URL     Text
	Headers []Var
	Body    []byte
	JSON    bool // the body is a value of the file, written as JSON
}

// Text may hold ${NAME}.
type Text struct {
	Raw   string // as it is written: to be shown
	Value string // with the values of the variables: to be used
}

// Var is a variable or a header.
type Var struct {
	Name  string
	Value Text
	line  int
}

// Digest identifies what an action does, without the values of variables.
func (a *Action) Digest() string {
	j := Job{Do: a}
	h := sha256.Sum256(show(actionFields(), &j).json())
	return hex.EncodeToString(h[:])
}

// actionFields are the keys that say what a job of ax run does.
func actionFields() []field[Job] {
	return []field[Job]{
		{key: "command", set: func(r *reader, n *yaml.Node, j *Job) {
			if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
				r.refuse(n, "must be a list of a program and its arguments; a line is for shell")
				return
			}
			for _, x := range n.Content {
				var s string
				r.text(x, &s)
				r.clean(x, s)
				j.Do.Command = append(j.Do.Command, s)
			}
		}, get: func(j *Job) any {
			if len(j.Do.Command) == 0 {
				return nil
			}
			return j.Do.Command
		}},
		plain("shell", func(j *Job) *string { return &j.Do.Shell }),
		plain("input", func(j *Job) *string { return &j.Do.Input }),
		{key: "env", set: func(r *reader, n *yaml.Node, j *Job) {
			j.Do.Env = r.vars(n, false)
			for _, v := range j.Do.Env {
				if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
					r.refuse(n, "%q is no name of a variable", v.Name)
				}
			}
		}, get: func(j *Job) any { return shownVars(j.Do.Env) }},
		plain("dir", func(j *Job) *string { return &j.Do.Dir }),
		plain("user", func(j *Job) *string { return &j.Do.User }),
		{key: "http", set: func(r *reader, n *yaml.Node, j *Job) {
			j.Do.HTTP = &HTTP{}
			read(r, n, "http.", httpFields(), j.Do.HTTP, j.lines)
		}, get: func(j *Job) any {
			if j.Do.HTTP == nil {
				return nil
			}
			return show(httpFields(), j.Do.HTTP)
		}},
	}
}

// plain is a text that a process is given.
func plain(key string, at func(*Job) *string) field[Job] {
	return field[Job]{key: key, set: func(r *reader, n *yaml.Node, j *Job) {
		if r.text(n, at(j)) {
			r.clean(n, *at(j))
		}
	}, get: func(j *Job) any { return orNil(*at(j)) }}
}

func httpFields() []field[HTTP] {
	return []field[HTTP]{
		{key: "url", set: func(r *reader, n *yaml.Node, h *HTTP) {
			if r.text(n, &h.URL.Raw) {
				h.URL.Value = r.expand(n, h.URL.Raw, true)
				r.address(n, h.URL)
			}
		}, get: func(h *HTTP) any { return orNil(h.URL.Raw) }},
		{key: "method", set: func(r *reader, n *yaml.Node, h *HTTP) {
			methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
				http.MethodPatch, http.MethodDelete}
			choice(r, n, &h.Method, methods, methods)
		}, get: func(h *HTTP) any { return orNil(h.Method) }},
		{key: "headers", set: func(r *reader, n *yaml.Node, h *HTTP) {
			h.Headers = r.vars(n, true)
			for i := range h.Headers {
				r.header(n, &h.Headers[i])
			}
		}, get: func(h *HTTP) any { return shownVars(h.Headers) }},
		{key: "body", set: func(r *reader, n *yaml.Node, h *HTTP) {
			if s, ok := r.scalar(n, "!!str"); ok {
				h.Body = []byte(s)
			} else {
				h.Body, h.JSON = r.toJSON(n), true
			}
			if len(h.Body) > task.MaxPayload {
				r.refuse(n, "has %d bytes; at most %d", len(h.Body), task.MaxPayload)
			}
		}, get: func(h *HTTP) any { return orNil(string(h.Body)) }},
	}
}

// clean refuses what no process can be given.
func (r *reader) clean(n *yaml.Node, s string) {
	if strings.ContainsRune(s, 0) {
		r.refuse(n, "holds a NUL character; remove it")
	}
}

// vars reads texts in which ${NAME} stands for variables.
func (r *reader) vars(n *yaml.Node, secret bool) []Var {
	vs := r.texts(n)
	for i := range vs {
		at := &yaml.Node{Line: vs[i].line}
		vs[i].Value.Value = r.expand(at, vs[i].Value.Raw, secret)
		r.clean(at, vs[i].Value.Value)
	}
	return vs
}

func shownVars(vs []Var) any {
	if len(vs) == 0 {
		return nil
	}
	o := make(Object, len(vs))
	for i, v := range vs {
		o[i] = Member{v.Name, v.Value.Raw}
	}
	return o
}

// variable is ${NAME}, or $${ for a plain ${, or something that is meant to be one.
var variable = regexp.MustCompile(`\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{`)

// shortSecret is from how many bytes on a value is kept out of what is printed: anything shorter
// would be found everywhere.
const shortSecret = 4

func (r *reader) expand(n *yaml.Node, raw string, secret bool) string {
	return variable.ReplaceAllStringFunc(raw, func(s string) string {
		switch {
		case s == "$${":
			return "${"
		case s == "${":
			r.refuse(n, "${ begins the name of a variable, as in ${NAME}; write $${ for the plain text")
			return s
		}
		name := s[2 : len(s)-1]
		value, ok := "", false
		if r.opts.Lookup != nil {
			value, ok = r.opts.Lookup(name)
		}
		if !ok {
			r.refuse(n, "the variable %s is not set in the environment of ax; set it, or write $%s "+
				"for the plain text", name, s)
		}
		if secret && len(value) >= shortSecret {
			r.secrets[value] = true
		}
		return value
	})
}

// EscapeVars writes a text so that it stands for itself where ${NAME} is known.
func EscapeVars(s string) string { return strings.ReplaceAll(s, "${", "$${") }

func (r *reader) address(n *yaml.Node, t Text) {
	u, err := url.Parse(t.Value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.refuse(n, "%q is no address such as https://example.com/path", t.Raw)
	}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are set by ax.
var ownHeaders = []string{"Idempotency-Key", "Content-Length", "Transfer-Encoding"}

func (r *reader) header(n *yaml.Node, v *Var) {
	v.Name = textproto.CanonicalMIMEHeaderKey(v.Name)
	at := &yaml.Node{Line: v.line}
	switch {
	case !headerName.MatchString(v.Name):
		r.refuse(at, "%q is no name of a header", v.Name)
	case strings.HasPrefix(v.Name, "Ax-") || slices.Contains(ownHeaders, v.Name):
		r.refuse(at, "%s is set by ax; remove it", v.Name)
	case strings.ContainsFunc(v.Value.Value, func(c rune) bool {
		return c < ' ' && c != '\t' || c == 0x7f
	}):
		r.refuse(at, "%s has a control character in its value; remove it", v.Name)
	}
}

// checkAction wants one thing to do, and no key that it has no use for.
func (r *reader) checkAction(j *Job) {
	d := j.Do
	say := func(key, format string, args ...any) {
		r.bad = append(r.bad, Line{j.Where(key), fmt.Sprintf(format, args...)})
	}
	given := 0
	for _, is := range []bool{len(d.Command) > 0, d.Shell != "", d.HTTP != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		say("", "needs one of command, shell and http, to say what it does")
	case d.HTTP != nil && d.HTTP.URL.Raw == "":
		say("http", "http: needs a url")
	case d.HTTP != nil:
		for _, key := range []string{"input", "env", "dir", "user"} {
			if j.lines[key] != 0 {
				say(key, "%s is for commands; remove it", key)
			}
		}
	}
}
