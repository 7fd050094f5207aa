package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ax-sched/ax/cron"

	"github.com/ax-sched/ax/internal/show"
)

type cronCmd struct {
	Next    cronNextCmd    `cmd:"" help:"Print the next times at which an expression fires."`
	Explain cronExplainCmd `cmd:"" help:"Say in words when an expression fires."`
}

// expression is what both commands read.
type expression struct {
	Expr []string `arg:"" help:"Five, six (seconds first) or seven fields, or a macro; in quotes."`
	TZ   string   `name:"tz" default:"UTC" placeholder:"ZONE" help:"${cron_tz}"`
	From string   `placeholder:"RFC3339" help:"Count from here (default: now)."`
	Name string   `placeholder:"JOB" help:"Job name, which chooses the values of H."`
	JSON bool     `help:"Print JSON."`
}

func (e *expression) text() string { return strings.Join(e.Expr, " ") }

// parse reads the expression. Periods of @every are counted from the start of the output.
func (e *expression) parse() (s *cron.Schedule, from time.Time, err error) {
	zone, err := loadZone(e.TZ)
	if err != nil {
		return nil, from, usage("--tz: %w", err)
	}
	from = time.Now()
	if e.From != "" {
		if from, err = time.Parse(time.RFC3339, e.From); err != nil {
			return nil, from, usage("--from: %q is not RFC 3339, such as 2026-11-30T08:00:00+01:00", e.From)
		}
	}
	s, err = cron.Parse(e.text(), cron.In(zone), cron.Seed(e.Name), cron.Anchor(from))
	switch {
	case errors.Is(err, cron.ErrNeverFires):
		return nil, from, err
	case err != nil:
		return nil, from, &usageError{err}
	}
	return s, from, nil
}

func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("zone Local depends on the machine; use an IANA name such as " +
			"Europe/Berlin")
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a time zone; use an IANA name such as Europe/Berlin", name)
	}
	return z, nil
}

// fires returns the next n, fewer if the schedule ends.
func fires(s *cron.Schedule, from time.Time, n int) []string {
	out := []string{}
	for t := s.Next(from); !t.IsZero() && len(out) < n; t = s.Next(t) {
		out = append(out, t.Format(time.RFC3339))
	}
	return out
}

type cronNextCmd struct {
	expression
	N int `short:"n" default:"5" help:"How many, 1 to 1000."`
}

// Help shows an example.
func (cronNextCmd) Help() string {
	return `One RFC 3339 instant a line. An expression that never fires exits with 1 and the reason.

Example: ax cron next '30 2 * * *' --tz Europe/Berlin -n 3

JSON: expression, zone, from, next[].`
}

// Run prints the fires.
func (c *cronNextCmd) Run(a *app) error {
	if c.N < 1 || c.N > 1000 {
		return usage("-n is %d; use 1 to 1000", c.N)
	}
	s, from, err := c.parse()
	if err != nil {
		return err
	}
	next := fires(s, from, c.N)
	if len(next) == 0 {
		return fmt.Errorf("%q: %w after %s", c.text(), cron.ErrNeverFires, from.Format(time.RFC3339))
	}
	if c.JSON {
		return show.JSON(a.out, struct {
			Expression string   `json:"expression"`
			Zone       string   `json:"zone"`
			From       string   `json:"from"`
			Next       []string `json:"next"`
		}{c.text(), s.Location().String(), from.Format(time.RFC3339), next})
	}
	_, err = fmt.Fprintln(a.out, strings.Join(next, "\n"))
	return err
}

type cronExplainCmd struct {
	expression
	Lang string `env:"-" placeholder:"LANG" help:"${cron_lang}"`
}

// Help shows an example.
func (cronExplainCmd) Help() string {
	return `Example: ax cron explain '0 9-17 * * MON-FRI' --tz Asia/Shanghai

JSON: expression, canonical, zone, words, day {runs, words}, warnings[], next[].`
}

// explanation is the JSON of explain.
type explanation struct {
	Expression string       `json:"expression"`
	Canonical  string       `json:"canonical"`
	Zone       string       `json:"zone"`
	Words      string       `json:"words"`
	Day        explainedDay `json:"day"`
	Warnings   []string     `json:"warnings"`
	Next       []string     `json:"next"`
}

// explainedDay is an ordinary day on which the schedule fires.
type explainedDay struct {
	Runs  int    `json:"runs"`
	Words string `json:"words"`
}

// Run prints the explanation.
func (c *cronExplainCmd) Run(a *app) error {
	if c.Lang != "" && c.Lang != "en" && c.Lang != "zh" {
		return usage("--lang is %q; use en or zh", c.Lang)
	}
	s, from, err := c.parse()
	if err != nil {
		return err
	}
	day, lang := s.PerDay(), c.language()
	x := explanation{Expression: c.text(), Canonical: s.String(), Zone: s.Location().String(),
		Words: s.ExplainIn(lang), Day: explainedDay{day.Runs, day.In(lang)},
		Warnings: append([]string{}, s.WarningsIn(lang)...), Next: fires(s, from, 5)}
	if c.JSON {
		return show.JSON(a.out, x)
	}
	_, err = fmt.Fprint(a.out, x.text(lang))
	return err
}

// language is that of the flag, else that of the environment.
func (c *cronExplainCmd) language() cron.Language {
	lang := c.Lang
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if lang == "" {
			lang = os.Getenv(name)
		}
	}
	if lang == "zh" || strings.HasPrefix(lang, "zh_") || strings.HasPrefix(lang, "zh-") {
		return cron.Chinese
	}
	return cron.English
}

// text is the explanation for a person.
func (x *explanation) text(lang cron.Language) string {
	same, warning, next := "the same as ", "warning: ", "next"
	if lang == cron.Chinese {
		same, warning, next = "等同于 ", "警告：", "接下来"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n  %s\n  %s\n", x.Expression, x.Words, x.Day.Words)
	if x.Canonical != x.Expression {
		fmt.Fprintf(&b, "  %s%s\n", same, x.Canonical)
	}
	for _, w := range x.Warnings {
		fmt.Fprintf(&b, "  %s%s\n", warning, w)
	}
	fmt.Fprintf(&b, "\n%s\n", next)
	for _, t := range x.Next {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	return b.String()
}
