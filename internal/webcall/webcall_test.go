package webcall_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/internal/webcall"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

var taskID = task.ID{15: 7}

func attempt(n int) *ax.Task { return &ax.Task{ID: taskID, Run: 2, Attempt: n} }

// serve answers with f, and returns the address.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// TestRequest: what the server gets is what the call says, and whose it is.
func TestRequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, "thanks")
	})
	call := &webcall.Call{Method: "PUT", URL: at + "/x?y=1", Body: []byte("\x00body"),
		Header: http.Header{"Authorization": {"Bearer s"}, "Host": {"other.example"}}}
	c := webcall.New("ax/test", nil)
	text, err := c.Do(t.Context(), call, attempt(3))
	if err != nil || text != "thanks" {
		t.Fatalf("%q, %v", text, err)
	}
	if got.Method != "PUT" || got.URL.String() != "/x?y=1" || string(body) != "\x00body" ||
		got.Host != "other.example" || got.ContentLength != 5 {
		t.Errorf("request %+v, body %q", got, body)
	}
	for name, want := range map[string]string{"Authorization": "Bearer s", "User-Agent": "ax/test",
		"Ax-Task-Id": taskID.String(), "Ax-Run": "2", "Ax-Attempt": "3",
		"Idempotency-Key": taskID.String() + "-2"} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if len(call.Header) != 2 {
		t.Errorf("the call was changed: %+v", call.Header)
	}
}

// TestAnswers: what each answer means for the task.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[int]bool{400: true, 401: true, 404: true, 409: true, 410: true,
		422: true, 451: true, 408: false, 425: false, 429: false, 500: false, 502: false, 503: false,
		504: false, 507: false, 304: true, 599: false} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			if code >= 400 {
				io.WriteString(w, "why\n")
			}
		})
		_, err := webcall.New("", nil).Do(t.Context(), &webcall.Call{Method: "POST", URL: at}, attempt(1))
		if err == nil || (retry.ClassOf(err) == retry.ClassPermanent) != permanent {
			t.Errorf("%d: %v", code, err)
		}
		if code >= 400 && !strings.HasSuffix(err.Error(), ": why") {
			t.Errorf("%d: %v", code, err)
		}
	}
	for _, code := range []int{200, 201, 202, 204, 299} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		_, err := webcall.New("", nil).Do(t.Context(), &webcall.Call{URL: at}, attempt(1))
		if err != nil {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// TestRetryAfter: the wait that a server asks for is what the scheduler waits.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	date := "Wed, 21 Oct 2015 07:28:00 GMT"
	for _, c := range []struct {
		header string
		want   time.Duration
	}{
		{"7", 7 * time.Second}, {" 90 ", 90 * time.Second},
		{"9999999", 24 * time.Hour}, {"99999999999999999999999", 24 * time.Hour},
		{"Wed, 21 Oct 2015 07:29:30 GMT", 90 * time.Second},
		// The policy: no time is no wish, or a server could use up all retries at once.
		{"0", 5 * time.Second}, {"Wed, 21 Oct 2015 07:27:00 GMT", 5 * time.Second},
		{"", 5 * time.Second}, {"soon", 5 * time.Second}, {"-1", 5 * time.Second},
	} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.header)
			w.Header().Set("Date", date)
			w.WriteHeader(503)
		})
		_, err := webcall.New("", nil).Do(t.Context(), &webcall.Call{URL: at}, attempt(1))
		if got := waits(t, err); got != c.want {
			t.Errorf("Retry-After %q: retried after %s, want %s", c.header, got, c.want)
		}
	}
}

// waits lets the first attempt of a task fail with err, and returns how long it waits for the next.
func waits(t *testing.T, err error) (d time.Duration) {
	t.Helper()
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		policy := retry.Policy{Kind: retry.Fixed, DelayMS: 5000}
		if err := tt.Handle("k", func(_ context.Context, a *ax.Task) error {
			if a.Attempt == 1 {
				return err
			}
			return nil
		}, ax.Retry(policy)); err != nil {
			tt.Fatal(err)
		}
		res, err := tt.Submit(tt.Context(), ax.NewTask{Kind: "k"})
		if err != nil {
			tt.Fatal(err)
		}
		tt.RunDue()
		row, err := tt.Get(tt.Context(), res.ID)
		if err != nil {
			tt.Fatal(err)
		}
		if row.State == task.Scheduled {
			d = time.Until(row.RunAt.Go()).Round(time.Second) // RunDue takes a tick
		}
	})
	return d
}

// TestRedirects: only to the same origin, and never with another method.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) {
		t.Error("another host was called")
	})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/307":
			w.Header().Set("Location", "/end")
			w.WriteHeader(307)
		case "/302":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		case "/end":
			io.WriteString(w, r.Method)
		}
	})
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/307", "POST"}, {"GET", "/302", "GET"},
		{"POST", "/302", ""}, {"GET", "/loop", ""}, {"GET", "/away", ""},
	} {
		call := &webcall.Call{Method: c.method, URL: at + c.path, Body: []byte("b")}
		text, err := webcall.New("", nil).Do(t.Context(), call, attempt(1))
		switch {
		case c.want != "" && (err != nil || text != c.want):
			t.Errorf("%s %s: %q, %v", c.method, c.path, text, err)
		case c.want == "" && (retry.ClassOf(err) != retry.ClassPermanent ||
			!strings.Contains(err.Error(), "redirect to another address is not followed")):
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
}

// TestMask: no text that comes back holds what is to be masked, also where it is cut.
func TestMask(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		io.WriteString(w, strings.Repeat("x", 4090)+"hidden"+strings.Repeat("hidden", 20_000))
	})
	c := webcall.New("", strings.NewReplacer("hidden", "***").Replace)
	text, err := c.Do(t.Context(), &webcall.Call{URL: at}, attempt(1))
	if err == nil || strings.Contains(err.Error(), "hid") || strings.Contains(text, "hid") ||
		len(text) > 4<<10 {
		t.Errorf("%d bytes, %.50q ... %q", len(text), text, text[len(text)-20:])
	}
	// Nothing listens there; the address holds the secret.
	down := httptest.NewServer(nil)
	down.Close()
	_, err = c.Do(t.Context(), &webcall.Call{URL: down.URL + "/hidden"}, attempt(1))
	if err == nil || strings.Contains(err.Error(), "hidden") ||
		!strings.Contains(err.Error(), "no answer") ||
		retry.ClassOf(err) == retry.ClassPermanent {
		t.Errorf("error %v", err)
	}
}

// TestStopped: the reason that ended the context is what the error is.
func TestStopped(t *testing.T) {
	t.Parallel()
	called, done := make(chan struct{}), make(chan struct{})
	at := serve(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-done
	})
	defer close(done)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-called
		cancel(ax.ErrTimeout)
	}()
	_, err := webcall.New("", nil).Do(ctx, &webcall.Call{URL: at}, attempt(1))
	if !errors.Is(err, ax.ErrTimeout) {
		t.Errorf("error %v", err)
	}
}

// TestConnections: two clients share no connections, and Close ends those that are idle.
func TestConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan string, 10)
	var from []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { from = append(from, r.RemoteAddr) }))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	a, b := webcall.New("", nil), webcall.New("", nil)
	for _, c := range []*webcall.Client{a, a, b} {
		if _, err := c.Do(t.Context(), &webcall.Call{URL: s.URL}, attempt(1)); err != nil {
			t.Fatal(err)
		}
	}
	if from[0] != from[1] || from[1] == from[2] {
		t.Errorf("connections %q", from)
	}
	a.Close()
	if got := <-closed; got != from[0] {
		t.Errorf("closed %s, want %s", got, from[0])
	}
}
