package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/task"
)

type submitCmd struct {
	Kind string `arg:"" help:"Names the handler."`
	dbFlag
	keysFlag
	Key         string            `env:"-" help:"Business key: unique among live tasks of the kind."`
	Payload     string            `env:"-" placeholder:"JSON" help:"${submit_payload}"`
	Delay       time.Duration     `env:"-" help:"It is due after this time."`
	At          string            `env:"-" placeholder:"TIME" help:"${submit_at}"`
	Priority    string            `env:"-" default:"normal" help:"critical, high, normal or low."`
	Timeout     string            `env:"-" placeholder:"DURATION" help:"${submit_timeout}"`
	MaxRetries  *int              `env:"-" placeholder:"N" help:"Retries (default: as the kind says)."`
	AtMostOnce  bool              `env:"-" help:"${submit_once}"`
	Expires     string            `env:"-" placeholder:"TIME" help:"${submit_expires}"`
	MaxLateness time.Duration     `env:"-" help:"${submit_late}"`
	MaxLifetime time.Duration     `env:"-" help:"${submit_lifetime}"`
	OverlapKey  string            `env:"-" help:"Tasks with the same one never run at the same time."`
	Overlap     string            `env:"-" placeholder:"POLICY" help:"${submit_overlap}"`
	Service     string            `env:"-" help:"Who to call about this task."`
	Label       map[string]string `env:"-" placeholder:"K=V" help:"Label; may be given again."`
	Group       string            `env:"-" default:"default" help:"Group of executors."`
	ID          string            `name:"id" env:"-" placeholder:"ID" help:"${submit_id}"`
	JSON        bool              `help:"Print JSON."`
}

// Help shows an example.
func (submitCmd) Help() string {
	return `The task runs where a process has a handler of its kind. Prints its id and state; of a
task with the same kind and key that has not ended its own, with "duplicate", and nothing is made.

Example: ax submit order.close --key 4711 --delay 30m --payload '{"order":4711}'

JSON: id, state, duplicate.`
}

// Run submits the task.
func (c *submitCmd) Run(a *app) error {
	n, err := c.task()
	if err != nil {
		return err
	}
	box, err := c.box()
	if err != nil {
		return err
	}
	db, err := c.parse()
	if err != nil {
		return err
	}
	st, err := db.openExisting(a.ctx)
	if err != nil {
		return err
	}
	var res ax.Result
	s, err := ax.New(st, ax.Config{Group: c.Group, Seal: box})
	if err == nil {
		res, err = s.Submit(a.ctx, n)
	}
	if err = errors.Join(byFlag(err), st.Close()); err != nil {
		return err
	}
	if c.JSON {
		return show.JSON(a.out, struct {
			ID        string `json:"id"`
			State     string `json:"state"`
			Duplicate bool   `json:"duplicate"`
		}{res.ID.String(), res.State.String(), res.Duplicate})
	}
	line := res.ID.String() + " " + res.State.String()
	if res.Duplicate {
		line += " duplicate"
	}
	_, err = fmt.Fprintln(a.out, line)
	return err
}

// task reads the flags.
func (c *submitCmd) task() (n ax.NewTask, err error) {
	n = ax.NewTask{Kind: c.Kind, Key: c.Key, Delay: c.Delay, MaxRetries: c.MaxRetries,
		AtMostOnce: c.AtMostOnce, MaxLateness: c.MaxLateness, MaxLifetime: c.MaxLifetime,
		Service: c.Service, Labels: c.Label, OverlapKey: c.OverlapKey}
	if c.Overlap != "" {
		i := slices.Index(overlaps[:], strings.ToLower(c.Overlap))
		if i < 0 {
			return n, usage("--overlap: %q is none of %s", c.Overlap, strings.Join(overlaps[:], ", "))
		}
		n.Overlap = ax.Overlap(i + 1)
	}
	if c.Payload != "" {
		if n.Payload, err = readPayload(c.Payload); err != nil {
			return n, err
		}
	}
	if n.Priority, err = task.ParseBucket(c.Priority); err != nil {
		return n, byFlag(err)
	}
	if c.At != "" {
		if n.RunAt, err = time.Parse(time.RFC3339, c.At); err != nil {
			return n, usage("--at: %q is no time such as 2030-01-31T22:00:00Z; for a distance from "+
				"now use --delay", c.At)
		}
	}
	if c.Expires != "" {
		if n.ExpiresAt, err = instant(c.Expires, time.Now()); err != nil {
			return n, fmt.Errorf("--expires: %w", err)
		}
	}
	if c.ID != "" {
		if n.ID, err = parseID(c.ID); err != nil {
			return n, fmt.Errorf("--id: %w", err)
		}
	}
	n.Timeout, err = parseTimeout(c.Timeout)
	return n, err
}

// overlaps are the policies in the order of ax.Overlap.
var overlaps = [...]string{"skip", "allow", "queue", "replace"}

func parseTimeout(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case "none":
		return ax.NoTimeout, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usage("--timeout: %q is no duration such as 90s, and not none", text)
	}
	return d, nil
}

// readPayload reads the payload that a flag names. Only text on the command line must be JSON: a
// quote that the shell has taken away is not meant.
func readPayload(arg string) ([]byte, error) {
	var b []byte
	var err error
	switch {
	case arg == "-":
		b, err = io.ReadAll(io.LimitReader(os.Stdin, task.MaxPayload+1))
	case strings.HasPrefix(arg, "@"):
		b, err = readPayloadFile(arg[1:])
	default:
		if !json.Valid([]byte(arg)) {
			return nil, usage("--payload: %s is not JSON; quote it for the shell, or give @FILE or -",
				task.CutText(arg, 60))
		}
		return []byte(arg), nil
	}
	if err != nil {
		return nil, usage("--payload: %w", err)
	}
	return b, nil
}

// readPayloadFile reads no more than can be a payload, and what shows that it is too large.
func readPayloadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, task.MaxPayload+1))
	return b, errors.Join(err, f.Close())
}

// flagOf names the flag for each field of a new task that has another name.
var flagOf = map[string]string{"kind": "KIND", "run_at": "--at", "labels": "--label",
	"expires_at": "--expires", "Config.Group": "--group"}

// byFlag makes the fields in an error flags of this command.
func byFlag(err error) error {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, byFlag(e))
		}
		return errors.Join(out...)
	}
	var in *ax.InputError
	if !errors.As(err, &in) {
		return err
	}
	field, rest, _ := strings.Cut(in.Field, ".")
	name, ok := flagOf[in.Field]
	if !ok {
		if name, ok = flagOf[field]; !ok {
			name = "--" + strings.ReplaceAll(field, "_", "-")
		} else if rest != "" {
			name += " " + rest
		}
	}
	reason := strings.NewReplacer("run_at", "--at", "overlap_key is", "--overlap-key is",
		"is set together with delay; set", "does not go with --delay; give",
		"retries; leave MaxRetries and OnUnknown out", "--max-retries").Replace(in.Reason)
	return &usageError{fmt.Errorf("%s: %s", name, reason)}
}
