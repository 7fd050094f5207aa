package memory

import (
	"slices"
	"sort"

	"github.com/ax-sched/ax/store"
)

// chunkSize bounds the marks of one chunk. With a million marks there are a few thousand chunks,
// so that an insert moves some kilobytes at most.
const chunkSize = 512

// index is a set of marks in their order: a slice of sorted chunks, none empty, each wholly before
// the next. Look-ups are two binary searches.
type index struct {
	chunks [][]store.Mark
}

// find returns the place of the first mark that does not come before m: the chunk and the
// position in it. The chunk is len(chunks) if all marks come before m.
func (x *index) find(m store.Mark) (chunk, pos int) {
	chunk = sort.Search(len(x.chunks), func(i int) bool {
		c := x.chunks[i]
		return !c[len(c)-1].Less(m)
	})
	if chunk == len(x.chunks) {
		return chunk, 0
	}
	c := x.chunks[chunk]
	return chunk, sort.Search(len(c), func(i int) bool { return !c[i].Less(m) })
}

// add puts m in; adding it twice is harmless.
func (x *index) add(m store.Mark) {
	i, at := x.find(m)
	if i == len(x.chunks) {
		if i == 0 {
			x.chunks = append(x.chunks, []store.Mark{m})
			return
		}
		i--
		at = len(x.chunks[i])
	}
	c := x.chunks[i]
	if at < len(c) && c[at] == m {
		return
	}
	c = slices.Insert(c, at, m)
	x.chunks[i] = c
	if len(c) > chunkSize {
		half := len(c) / 2
		if i == len(x.chunks)-1 && at == len(c)-1 {
			half = len(c) - 1 // marks that come in order leave full chunks behind
		}
		x.chunks = slices.Insert(x.chunks, i+1, slices.Clone(c[half:]))
		x.chunks[i] = c[:half:half]
	}
}

// remove takes m out if it is there.
func (x *index) remove(m store.Mark) {
	i, at := x.find(m)
	if i == len(x.chunks) || x.chunks[i][at] != m {
		return
	}
	if len(x.chunks[i]) == 1 {
		x.chunks = slices.Delete(x.chunks, i, i+1)
		return
	}
	x.chunks[i] = slices.Delete(x.chunks[i], at, at+1)
}

// ascend calls fn with the marks after m in their order until it returns false.
func (x *index) ascend(m store.Mark, fn func(store.Mark) bool) {
	i, at := x.find(m)
	for ; i < len(x.chunks); i, at = i+1, 0 {
		for _, v := range x.chunks[i][at:] {
			if v != m && !fn(v) {
				return
			}
		}
	}
}

// descend calls fn with the marks before m in the reverse order until it returns false.
func (x *index) descend(m store.Mark, fn func(store.Mark) bool) {
	i, at := x.find(m)
	if i == len(x.chunks) {
		x.walkDown(i-1, fn)
		return
	}
	for at--; at >= 0; at-- {
		if !fn(x.chunks[i][at]) {
			return
		}
	}
	x.walkDown(i-1, fn)
}

// walkDown calls fn with the marks of chunk i and those before it in the reverse order.
func (x *index) walkDown(i int, fn func(store.Mark) bool) {
	for ; i >= 0; i-- {
		for _, v := range slices.Backward(x.chunks[i]) {
			if !fn(v) {
				return
			}
		}
	}
}
