package crontab

import (
	"strings"
	"time"
)

// ignored are variables that a cron daemon acts on and this one does not.
var ignored = map[string]string{
	"MAILTO":                    "output goes to the log, not to mail",
	"MAILFROM":                  "output goes to the log, not to mail",
	"CONTENT_TYPE":              "output goes to the log, not to mail",
	"CONTENT_TRANSFER_ENCODING": "output goes to the log, not to mail",
	"RANDOM_DELAY":              "lines start when they are due; H in a field spreads them",
	"START_HOURS_RANGE":         "it belongs to anacron",
	"LOGNAME":                   "it is the name of the user the command runs as",
	"USER":                      "it is the name of the user the command runs as",
}

// splitVar reads NAME=value, with blanks around the = and quotes around the name allowed.
func splitVar(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	if !ok {
		return "", "", false
	}
	name = strings.TrimRight(name, blanks)
	if n := len(name); n > 1 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	return name, strings.Trim(value, blanks), isName(name)
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if s[i] != '_' && (c < 'a' || c > 'z') && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// set takes in an environment line.
func (p *parser) set(name, value string) {
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
		q := value[:1]
		inner, after, closed := strings.Cut(value[1:], q)
		if !closed || after != "" {
			p.refuse("%s: the quote %s at the start of the value must be closed at its end", name, q)
			return
		}
		value = inner
	} else if strings.Contains(value, " #") {
		p.note("%s: a comment needs its own line; the value is %q", name, value)
	}
	why, drop := ignored[name]
	switch {
	case drop && (value != "" || name != "MAILTO"):
		p.once(name, "is ignored: "+why)
	case drop:
	case name == "CRON_TZ":
		p.setZone(value)
	case name == "TZ":
		p.once(name, "is for the commands alone; the times of the lines follow CRON_TZ")
		p.env[name] = value
	case name == "SHELL" && !strings.HasPrefix(value, "/"):
		p.refuse("SHELL: %q must be an absolute path such as /bin/sh", value)
	default:
		p.env[name] = value
	}
}

func (p *parser) once(name, text string) {
	if !p.noted[name] {
		p.noted[name] = true
		p.note("%s %s", name, text)
	}
}

// setZone takes a zone for the lines below; an empty one is the default again.
func (p *parser) setZone(value string) {
	if value != "" {
		if _, err := time.LoadLocation(value); err != nil || value == "Local" {
			p.refuse("CRON_TZ: %q is not a time zone; use an IANA name such as Europe/Berlin", value)
			return
		}
	}
	p.zone = value
}
