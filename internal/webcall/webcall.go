// Package webcall makes the HTTP request that is a task, and says by its answer what becomes of the
// task.
package webcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// Call is a request.
type Call struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
}

// Client makes calls. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	agent string
	mask  func(string) string
}

// New returns a client with connections of its own, which Close ends. agent is its User-Agent; mask
// is applied to all text of answers and errors, nil is none.
func New(agent string, mask func(string) string) *Client {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	return &Client{agent: agent, mask: mask,
		http: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
			CheckRedirect: redirect}}
}

// Close closes the connections that no call uses. Calls that are under way go on, and close theirs.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Limits of what is read and kept of an answer.
const (
	maxRead = 64 << 10
	maxKept = 4 << 10
)

// maxRetryAfter is the longest wait that a server can ask for.
const maxRetryAfter = 24 * time.Hour

// maxRedirects is how many are followed.
const maxRedirects = 5

// redirect follows only to the same origin and with the same method: what is sent may be secret,
// and a POST that became a GET has done something else.
func redirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	same := req.URL.Scheme == first.URL.Scheme && req.URL.Host == first.URL.Host
	if !same || req.Method != first.Method || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Do makes the request for one attempt of a task, and returns the text of the answer, cut to 4 KiB.
// An answer of 2xx is success. 408, 425, 429, 5xx and an answer that does not come are errors that
// may be retried, after the time of Retry-After if there is one, at most a day. All others are
// permanent, also a redirect to elsewhere. The server is told the task by Ax-Task-Id, Ax-Run and
// Ax-Attempt; Idempotency-Key is the same in all attempts of a run.
func (c *Client) Do(ctx context.Context, call *Call, t *ax.Task) (string, error) {
	req, err := http.NewRequestWithContext(ctx, call.Method, call.URL, bytes.NewReader(call.Body))
	if err != nil {
		return "", ax.Permanent(errors.New(c.mask(inner(err).Error())))
	}
	maps.Copy(req.Header, call.Header)
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host // a header of this name is not sent
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.agent)
	}
	run := strconv.Itoa(t.Run)
	req.Header.Set("Ax-Task-Id", t.ID.String())
	req.Header.Set("Ax-Run", run)
	req.Header.Set("Ax-Attempt", strconv.Itoa(t.Attempt))
	req.Header.Set("Idempotency-Key", t.ID.String()+"-"+run)
	res, err := c.http.Do(req)
	if err != nil {
		return "", c.broken(ctx, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxRead))
	if err != nil {
		return "", c.broken(ctx, err)
	}
	text := task.CutText(c.mask(string(body)), maxKept)
	return text, outcome(res, text, time.Now())
}

// broken says why there is no answer: the reason that ended the context, or that of the network. An
// error of package net/http repeats the address, which may hold a secret.
func (c *Client) broken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("no answer: %w", cause)
	}
	return fmt.Errorf("no answer: %s", c.mask(inner(err).Error()))
}

func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// outcome says what an answer means.
func outcome(res *http.Response, body string, now time.Time) error {
	code := res.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	text := strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
	if code < 400 {
		text += ": a redirect to another address is not followed; write that address"
	} else if body = strings.TrimSpace(body); body != "" {
		text += ": " + body
	}
	err := errors.New(text)
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		if code < 500 {
			return ax.Permanent(err)
		}
	}
	if d, ok := retryAfter(res.Header, now); ok {
		return ax.RetryIn(d, err)
	}
	return err
}

// retryAfter reads a number of seconds, or a time by the clock of the server. No time at all is
// left to the policy of the job: a server that says so in a loop would use up all retries at once.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(v, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		n = min(n, uint64(maxRetryAfter/time.Second))
		return time.Duration(n) * time.Second, n > 0
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	d := min(at.Sub(now), maxRetryAfter)
	return d, d > 0
}
