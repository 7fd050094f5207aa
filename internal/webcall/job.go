package webcall

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
)

// Action is a call that a task makes.
type Action struct {
	client *Client
	call   Call
}

// FromManifest makes an Action of what a file says, and names it for a reader.
func FromManifest(h *manifest.HTTP, client *Client) (what string, c *Action) {
	c = &Action{client: client, call: Call{Method: h.Method, URL: h.URL.Value, Body: h.Body,
		Header: http.Header{}}}
	if h.JSON {
		c.call.Header.Set("Content-Type", "application/json")
	}
	for _, v := range h.Headers {
		c.call.Header.Set(v.Name, v.Value.Value)
	}
	if h.Method == "" {
		c.call.Method = http.MethodGet
		if h.Body != nil {
			c.call.Method = http.MethodPost
		}
	}
	return c.call.Method + " " + h.URL.Raw, c
}

// Run makes the call for one task, and writes the text of the answer.
func (c *Action) Run(ctx context.Context, t *ax.Task, out io.Writer) error {
	text, err := c.client.Do(ctx, &c.call, t)
	if err != nil {
		return err // it repeats the text
	}
	_, err = io.WriteString(out, text)
	return err
}

// Mask hides secrets in texts.
func Mask(secrets []string) func(string) string {
	secrets = slices.Clone(secrets)
	var pairs []string
	// The longest first: a replacer tries them in this order, and one may begin as another does.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}
