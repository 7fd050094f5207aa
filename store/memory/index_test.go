package memory

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

func mark(at int, id byte) store.Mark {
	return store.Mark{RunAt: task.Time(at), ID: task.ID{15: id}}
}

func less(ms []store.Mark) func(i, j int) bool {
	return func(i, j int) bool { return ms[i].Less(ms[j]) }
}

func (x *index) all() (out []store.Mark) {
	x.ascend(store.Mark{}, func(m store.Mark) bool { out = append(out, m); return true })
	return out
}

// The index against a sorted slice.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var x index
		set := map[store.Mark]bool{}
		draw := func(what string) store.Mark {
			return mark(rapid.IntRange(1, 12).Draw(rt, what), rapid.Byte().Draw(rt, what+" id"))
		}
		for range rapid.IntRange(0, 60).Draw(rt, "operations") {
			m := draw("mark")
			if rapid.IntRange(0, 2).Draw(rt, "remove") == 0 {
				x.remove(m)
				delete(set, m)
			} else {
				x.add(m)
				set[m] = true
			}
		}
		var model []store.Mark
		for m := range set {
			model = append(model, m)
		}
		sort.Slice(model, less(model))
		after, limit := draw("after"), rapid.IntRange(1, 9).Draw(rt, "limit")
		var up, down, wantUp, wantDown []store.Mark
		x.ascend(after, func(m store.Mark) bool { up = append(up, m); return len(up) < limit })
		x.descend(after, func(m store.Mark) bool { down = append(down, m); return len(down) < limit })
		for i, m := range model {
			if after.Less(m) && len(wantUp) < limit {
				wantUp = append(wantUp, m)
			}
			if b := model[len(model)-1-i]; b.Less(after) && len(wantDown) < limit {
				wantDown = append(wantDown, b)
			}
		}
		if got := x.all(); !slices.Equal(got, model) {
			rt.Errorf("index %v; want %v", got, model)
		}
		if !slices.Equal(up, wantUp) || !slices.Equal(down, wantDown) {
			rt.Errorf("from %v: up %v, want %v; down %v, want %v", after, up, wantUp, down, wantDown)
		}
	})
}

// Many marks in any order: the chunks stay within their size, and removal empties them.
func TestIndexChunks(t *testing.T) {
	const n = 20_000
	for name, order := range map[string]func(i int) int{
		"ascending": func(i int) int { return i }, "descending": func(i int) int { return n - i },
		"random": func(i int) int { return i * 7919 % n },
	} {
		var x index
		for i := range n {
			x.add(mark(1+order(i), 1))
			x.add(mark(1+order(i), 1)) // twice is harmless
		}
		if got := x.all(); len(got) != n || !sort.SliceIsSorted(got, less(got)) {
			t.Errorf("%s: %d marks, sorted %t", name, len(got), sort.SliceIsSorted(got, less(got)))
		}
		for _, c := range x.chunks {
			if len(c) == 0 || len(c) > chunkSize {
				t.Errorf("%s: a chunk of %d marks", name, len(c))
			}
		}
		if most := 3 * n / chunkSize; len(x.chunks) > most {
			t.Errorf("%s: %d chunks; want at most %d", name, len(x.chunks), most)
		}
		for _, i := range rand.Perm(n) {
			x.remove(mark(1+order(i), 1))
			x.remove(mark(1+order(i), 1))
		}
		if len(x.chunks) != 0 {
			t.Errorf("%s: %d chunks are left of nothing", name, len(x.chunks))
		}
	}
}

// A page costs the same whatever the number of rows.
func BenchmarkDueOfAMillion(b *testing.B) {
	s := New(Options{})
	tasks := make([]task.Task, 1000)
	var serial int64
	for range 1000 {
		for i := range tasks {
			serial++
			tasks[i] = task.Task{ID: task.NewID(serial, [10]byte{}), Kind: "k", Group: "g",
				Bucket: task.Normal, Mutable: task.Mutable{State: task.Scheduled, Run: 1,
					RunAt: task.Time(1 + serial*7919%1_000_003)}}
		}
		if _, err := s.Insert(b.Context(), store.Fence{}, tasks); err != nil {
			b.Fatal(err)
		}
	}
	c := []store.Cursor{{Group: "g", Bucket: task.Normal, Until: task.MaxTime, Limit: 100,
		After: store.Mark{RunAt: 500_000}}}
	for b.Loop() {
		if pages, _, err := s.Due(b.Context(), c); err != nil || len(pages[0]) != 100 {
			b.Fatal(err)
		}
	}
}
