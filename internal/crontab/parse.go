package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ax-sched/ax/cron"
)

const blanks = " \t"

// parser holds what the lines read so far have set.
type parser struct {
	opts  Options
	file  File
	bad   []Line
	env   map[string]string
	zone  string
	names map[string]int  // how often a name was given
	noted map[string]bool // variables that were remarked on
	line  int
}

// Parse reads a whole file. The error is an *Error that lists every wrong line; the File then
// holds the good ones.
func Parse(text string, opts Options) (*File, error) {
	p := &parser{opts: opts, env: map[string]string{}, names: map[string]int{},
		noted: map[string]bool{}}
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		p.read(strings.TrimSuffix(line, "\r"))
	}
	if len(p.bad) > 0 {
		return &p.file, &Error{Lines: p.bad}
	}
	return &p.file, nil
}

func (p *parser) refuse(format string, args ...any) {
	p.bad = append(p.bad, Line{p.line, fmt.Sprintf(format, args...)})
}

func (p *parser) note(format string, args ...any) {
	p.file.Notes = append(p.file.Notes, Line{p.line, fmt.Sprintf(format, args...)})
}

func (p *parser) read(line string) {
	line = strings.TrimLeft(line, blanks)
	switch {
	case line == "" || line[0] == '#':
	case strings.ContainsRune(line, 0):
		p.refuse("holds a NUL byte, which no command can be given")
	default:
		if name, value, ok := splitVar(line); ok {
			p.set(name, value)
		} else {
			p.entry(line)
		}
	}
}

// entry reads a line that starts a command.
func (p *parser) entry(line string) {
	schedule, rest, ok := p.schedule(line)
	if !ok {
		return
	}
	e := Entry{Line: p.line, Schedule: schedule, Zone: p.zone, Env: p.vars()}
	if p.opts.System {
		e.User, rest = word(rest)
		if e.User == "" {
			p.refuse("ends after the time fields; in this form a user and a command follow")
			return
		}
	}
	if rest == "" {
		p.refuse("has no command")
		return
	}
	if rest[0] == '*' {
		p.refuse("has a command that begins with *; a line has five time fields and no seconds " +
			"(for those: @every 10s)")
		return
	}
	if e.Command, e.Input = splitInput(rest); strings.Trim(e.Command, blanks) == "" {
		p.refuse("has no command before the %%; write \\%% where a percent sign is meant")
		return
	}
	if schedule == "@reboot" {
		e.Reboot, e.Schedule, e.Zone = true, "", ""
	}
	e.Name = p.name(&e)
	if e.Reboot || p.check(&e) {
		p.file.Entries = append(p.file.Entries, e)
	}
}

// schedule takes the macro or the five fields off the line.
func (p *parser) schedule(line string) (schedule, rest string, ok bool) {
	if line[0] == '@' {
		macro, rest := word(line)
		macro = strings.ToLower(macro)
		if macro == "@every" {
			var d string
			d, rest = word(rest)
			macro += " " + d
		}
		return macro, rest, true
	}
	var fields [5]string
	rest = line
	for i := range fields {
		if fields[i], rest = word(rest); fields[i] == "" {
			p.refuse("ends after %d of 5 time fields; write: minute hour day-of-month month weekday "+
				"command", i)
			return "", "", false
		}
	}
	return strings.Join(fields[:], " "), rest, true
}

// check asks package cron, whose word counts: it is what fires the job later.
func (p *parser) check(e *Entry) bool {
	s, err := cron.Parse(e.Schedule, cron.Seed(e.Name))
	if err != nil {
		p.refuse("%v", err)
		return false
	}
	for _, w := range s.Warnings() {
		p.note("%s", w)
	}
	return true
}

func (p *parser) name(e *Entry) string {
	name := e.key()
	if p.opts.Name != "" {
		name = p.opts.Name + ":" + name
	}
	p.names[name]++
	if n := p.names[name]; n > 1 {
		return fmt.Sprintf("%s:%d", name, n)
	}
	return name
}

// vars copies the environment as it is at this line.
func (p *parser) vars() []Var {
	var vs []Var
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		vs = append(vs, Var{name, p.env[name]})
	}
	return vs
}

// word splits off the first word and the blanks after it.
func word(s string) (first, rest string) {
	i := strings.IndexAny(s, blanks)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], blanks)
}

// splitInput applies the rule of the percent sign: the first one that has no backslash before it
// ends the command, the others are new lines of its standard input, which ends with one. A
// backslash before a percent sign goes away; any other stays, with the character after it.
func splitInput(s string) (command, input string) {
	var b strings.Builder
	parts := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] != '%' {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case s[i] != '%':
			b.WriteByte(s[i])
		case parts == 0:
			command = b.String()
			b.Reset()
			parts++
		default:
			b.WriteByte('\n')
		}
	}
	if parts == 0 {
		return b.String(), ""
	}
	if input = b.String(); input != "" && !strings.HasSuffix(input, "\n") {
		input += "\n"
	}
	return command, input
}
