package wheel

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
)

// model is the wheel as a sorted slice: slow, and plainly right.
type model struct {
	now  int64
	list []entry // pending, in the order of Add
	seq  int64
}

type entry struct {
	due  int64
	seq  int64
	late bool // was due when it was added, or when the present was last moved back
	h    Handle
}

func (m *model) add(due int64, h Handle) {
	m.seq++
	m.list = append(m.list, entry{due, m.seq, due <= m.now, h})
}

func (m *model) cancel(h Handle) bool {
	i := slices.IndexFunc(m.list, func(e entry) bool { return e.h == h })
	if i < 0 {
		return false
	}
	m.list = slices.Delete(m.list, i, i+1)
	return true
}

func (m *model) advance(to int64) []entry {
	if to < m.now {
		for i := range m.list {
			m.list[i].late = m.list[i].due <= to
		}
	}
	m.now = to
	var out, rest []entry
	for _, e := range m.list {
		if e.due <= to {
			out = append(out, e)
		} else {
			rest = append(rest, e)
		}
	}
	m.list = rest
	slices.SortStableFunc(out, func(a, b entry) int {
		switch {
		case a.late != b.late:
			return map[bool]int{true: -1, false: 1}[a.late]
		case a.late || a.due == b.due:
			return 0
		case a.due < b.due:
			return -1
		}
		return 1
	})
	return out
}

func (m *model) earliest() (int64, bool) {
	if len(m.list) == 0 {
		return 0, false
	}
	e := slices.MinFunc(m.list, func(a, b entry) int {
		if a.due < b.due {
			return -1
		}
		if a.due > b.due {
			return 1
		}
		return 0
	})
	return e.due, true
}

// pair drives a wheel and its model and compares them.
type pair struct {
	w *Wheel
	m *model
	h []Handle // every handle ever given, gone ones too
}

func newPair(now int64) *pair {
	return &pair{w: New(now), m: &model{now: now}}
}

func value(seq int64) Value {
	v := Value{Version: seq, Note: uint32(seq) ^ 7}
	binary.BigEndian.PutUint64(v.ID[8:], uint64(seq))
	return v
}

func (p *pair) add(due int64) {
	h := p.w.Add(due, value(p.m.seq+1))
	p.m.add(due, h)
	p.h = append(p.h, h)
}

func (p *pair) cancel(i int) error {
	if len(p.h) == 0 {
		return nil
	}
	h := p.h[i%len(p.h)]
	if got, want := p.w.Cancel(h), p.m.cancel(h); got != want {
		return fmt.Errorf("Cancel(%x) = %v, want %v", uint64(h), got, want)
	}
	return nil
}

// advance compares one Advance, or with batch > 0 a series of Take.
func (p *pair) advance(to int64, batch int) error {
	var got []Expired
	if batch == 0 {
		p.w.Advance(to, func(due int64, v Value) { got = append(got, Expired{due, v}) })
	} else {
		buf := make([]Expired, batch)
		for n := batch; n == batch; {
			n = p.w.Take(to, buf)
			got = append(got, buf[:n]...)
		}
	}
	want := p.m.advance(to)
	if len(got) != len(want) {
		return fmt.Errorf("Advance(%d) gave %d timers, want %d", to, len(got), len(want))
	}
	for i, e := range want {
		if got[i] != (Expired{e.due, value(e.seq)}) {
			return fmt.Errorf("Advance(%d), timer %d: got %v, want due %d, number %d",
				to, i, got[i], e.due, e.seq)
		}
	}
	return p.check()
}

// check compares what can be seen without changing anything.
func (p *pair) check() error {
	if p.w.Len() != len(p.m.list) {
		return fmt.Errorf("Len = %d, want %d", p.w.Len(), len(p.m.list))
	}
	if p.w.Now() != p.m.now {
		return fmt.Errorf("Now = %d, want %d", p.w.Now(), p.m.now)
	}
	next, ok := p.w.Next()
	due, any := p.m.earliest()
	if ok != any {
		return fmt.Errorf("Next says %v with %d timers", ok, len(p.m.list))
	}
	if ok && (next > max(due, p.m.now) || next < p.m.now || next == p.m.now && due > p.m.now) {
		return fmt.Errorf("Next = %d at %d, earliest due is %d", next, p.m.now, due)
	}
	if ok && due>>8 == p.m.now>>8 && next != max(due, p.m.now) {
		return fmt.Errorf("Next = %d, want exactly %d", next, due)
	}
	return nil
}

// saturating returns a+b without leaving the range of int64.
func saturating(a, b int64) int64 {
	c := a + b
	switch {
	case b > 0 && c < a:
		return math.MaxInt64
	case b < 0 && c > a:
		return math.MinInt64
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
