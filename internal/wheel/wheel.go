package wheel

import (
	"math/bits"
	"unsafe"
)

const (
	digitBits = 8
	fanout    = 1 << digitBits
	levels    = 64 / digitBits

	slots = levels * fanout
	ready = slots     // list of the timers being handed over
	late  = slots + 1 // list of the timers that were added when they were already due
)

// Value is what a timer carries: enough to name a task and to see whether it has changed since.
type Value struct {
	ID      [16]byte
	Version int64
	Note    uint32 // the caller's own few bits: a bucket, a purpose
}

// Handle names a pending timer for Cancel. The zero Handle names none. A handle holds a
// generation of 32 bits: it is safe to keep after the timer has gone until its place in the slab
// has been used two thousand million times more.
type Handle uint64

// Expired is a timer that was handed over.
type Expired struct {
	Due   int64 // the tick given to Add
	Value Value
}

// Wheel holds timers by tick. The zero Wheel is ready for use and stands at the earliest tick
// there is. It is not safe for concurrent use and must not be copied.
type Wheel struct {
	slab
	now   uint64 // the last tick handed over; see key
	n     int
	head  [slots + 2]uint32
	tail  [slots + 2]uint32
	inUse [levels][fanout / 64]uint64
}

// New returns an empty wheel that stands at tick now: whatever is due at now or before is handed
// over by the next Advance.
func New(now int64) *Wheel {
	w := new(Wheel)
	w.now = key(now)
	return w
}

// key maps a tick to an unsigned number of the same order, so that the digits of negative and of
// positive ticks compare alike.
func key(tick int64) uint64 { return uint64(tick) ^ 1<<63 }

func unkey(k uint64) int64 { return int64(k ^ 1<<63) }

// Len is the number of pending timers.
func (w *Wheel) Len() int { return w.n }

// Now is the tick at which the wheel stands.
func (w *Wheel) Now() int64 { return unkey(w.now) }

// Bytes is the memory the wheel holds.
func (w *Wheel) Bytes() int {
	return int(unsafe.Sizeof(*w)) + w.live*int(unsafe.Sizeof([blockSize]timer{})) +
		cap(w.blocks)*int(unsafe.Sizeof(block{}))
}

// Reset drops all timers, gives their memory back and stands at tick now. Handles of dropped
// timers cancel nothing.
func (w *Wheel) Reset(now int64) {
	w.slab.reset()
	*w = Wheel{slab: w.slab, now: key(now)}
}

// Add puts a timer in. A timer that is already due is handed over by the next Advance, before
// all others. It costs no allocation except for one block every 1024 timers of growth.
func (w *Wheel) Add(due int64, v Value) Handle {
	i, p := w.take()
	p.due = key(due)
	p.id, p.version, p.note = v.ID, v.Version, v.Note
	w.push(w.slotOf(p.due), i, p)
	w.n++
	return Handle(p.gen)<<32 | Handle(i)
}

// Cancel removes a timer and reports whether it was still pending. It is safe with a handle
// whose timer has been handed over, cancelled or dropped by Reset.
func (w *Wheel) Cancel(h Handle) bool {
	i, p := w.find(h)
	if p == nil {
		return false
	}
	w.remove(i, p)
	return true
}

// Advance moves to tick to and hands every timer with due <= to to f, in the order of their due
// ticks; timers of one tick, and timers that were already due when they were added, come in the
// order in which they were added, the latter first.
//
// f may call Add and Cancel. A timer that f adds with a due tick between the one being handed
// over and to comes in its turn; one that f adds already due waits for the next Advance, so that
// a timer that arms itself again never keeps Advance from ending. f must not call Advance, Take
// or Reset.
//
// A to before the present tick turns the wheel back: nothing is lost and nothing comes early.
// That costs time in proportion to the timers due soon, not to all.
func (w *Wheel) Advance(to int64, f func(due int64, v Value)) {
	k := key(to)
	w.begin(k)
	for {
		i := w.step(k)
		if i == 0 {
			return
		}
		p := w.at(i)
		due, v := unkey(p.due), Value{p.id, p.version, p.note}
		w.remove(i, p)
		f(due, v)
	}
}

// Take is Advance into a slice: it fills buf and returns the number of timers handed over. Less
// than len(buf) means that the wheel has reached to; otherwise call it again. It lets the
// caller bound how long it holds its lock.
func (w *Wheel) Take(to int64, buf []Expired) int {
	k := key(to)
	w.begin(k)
	for n := range buf {
		i := w.step(k)
		if i == 0 {
			return n
		}
		p := w.at(i)
		buf[n] = Expired{unkey(p.due), Value{p.id, p.version, p.note}}
		w.remove(i, p)
	}
	return len(buf)
}

// Next returns a tick until which the caller may sleep: never later than the earliest due tick.
// It is that tick itself if it lies in the block of 256 ticks the wheel stands in, else the
// first tick of the slot that holds it; so a far timer costs at most seven early looks. With a
// timer that is already due it is the present tick. It is false if the wheel is empty.
func (w *Wheel) Next() (int64, bool) {
	if w.head[ready] != 0 || w.head[late] != 0 {
		return unkey(w.now), true
	}
	k, _, ok := w.nextSlot()
	if !ok {
		return 0, false
	}
	return unkey(k), true
}

// slotOf is where a timer waits; late if it is due.
func (w *Wheel) slotOf(due uint64) int {
	if due <= w.now {
		return late
	}
	l := (63 - bits.LeadingZeros64(due^w.now)) / digitBits
	return l*fanout | int(due>>(l*digitBits)&(fanout-1))
}

// begin makes w.now <= to and moves what is already due to the list being handed over.
func (w *Wheel) begin(to uint64) {
	if to < w.now {
		w.turnBack(to)
	}
	if w.head[late] != 0 {
		w.splice(late)
	}
}

// step returns the next timer with due <= to, still linked at the head of ready, or 0 when the
// wheel has come to to.
func (w *Wheel) step(to uint64) uint32 {
	for w.head[ready] == 0 {
		k, s, ok := w.nextSlot()
		if !ok || k > to {
			// No slot begins before to, so every timer keeps its slot.
			w.now = to
			return 0
		}
		w.now = k
		if s < fanout {
			w.splice(s)
		} else {
			w.cascade(s)
		}
	}
	return w.head[ready]
}

// nextSlot finds the first slot in use after the present: its first tick and its number. All
// timers of a level are due before all timers of the level above.
func (w *Wheel) nextSlot() (uint64, int, bool) {
	for l := range levels {
		shift := l * digitBits
		d := int(w.now>>shift) & (fanout - 1)
		if d = w.scan(l, d+1); d < fanout {
			k := w.now>>shift&^(fanout-1) | uint64(d)
			return k << shift, l*fanout | d, true
		}
	}
	return 0, 0, false
}

// scan returns the first slot in use of level l from d on, or fanout.
func (w *Wheel) scan(l, d int) int {
	for i := d >> 6; i < fanout/64; i++ {
		m := w.inUse[l][i]
		if i == d>>6 {
			m &= ^uint64(0) << (d & 63)
		}
		if m != 0 {
			return i<<6 | bits.TrailingZeros64(m)
		}
	}
	return fanout
}

// cascade moves the timers of slot s, whose first tick is the present, to lower levels; those
// due right now to ready.
func (w *Wheel) cascade(s int) {
	i := w.head[s]
	w.clear(s)
	for i != 0 {
		p := w.at(i)
		next := p.next
		to := w.slotOf(p.due)
		if to == late {
			to = ready
		}
		w.push(to, i, p)
		i = next
	}
}

// turnBack moves the present back to k and puts every timer whose slot depends on it in anew:
// those below the highest digit that changes, and those that were due.
func (w *Wheel) turnBack(k uint64) {
	top := (63 - bits.LeadingZeros64(k^w.now)) / digitBits
	w.now = k
	w.relink(ready)
	w.relink(late)
	for l := range top {
		for d := w.scan(l, 0); d < fanout; d = w.scan(l, d+1) {
			w.relink(l*fanout | d)
		}
	}
}

// relink empties list s and puts its timers where they belong at the present tick.
func (w *Wheel) relink(s int) {
	i := w.head[s]
	w.clear(s)
	for i != 0 {
		p := w.at(i)
		next := p.next
		w.push(w.slotOf(p.due), i, p)
		i = next
	}
}

// splice moves the whole list s to the end of ready.
func (w *Wheel) splice(s int) {
	h, t := w.head[s], w.tail[s]
	w.clear(s)
	if last := w.tail[ready]; last != 0 {
		w.at(last).next = h
		w.at(h).prev = last
	} else {
		w.head[ready] = h
	}
	w.tail[ready] = t
}

func (w *Wheel) clear(s int) {
	w.head[s], w.tail[s] = 0, 0
	if s < slots {
		w.inUse[s/fanout][s%fanout>>6] &^= 1 << (s & 63)
	}
}

// push links entry i at the end of list s.
func (w *Wheel) push(s int, i uint32, p *timer) {
	last := w.tail[s]
	p.prev, p.next = last, 0
	w.tail[s] = i
	if last != 0 {
		w.at(last).next = i
		return
	}
	w.head[s] = i
	if s < slots {
		w.inUse[s/fanout][s%fanout>>6] |= 1 << (s & 63)
	}
}

// remove unlinks entry i and gives it back to the slab.
func (w *Wheel) remove(i uint32, p *timer) {
	if p.prev != 0 && p.next != 0 {
		w.at(p.prev).next = p.next
		w.at(p.next).prev = p.prev
	} else {
		w.removeEnd(i, p)
	}
	w.n--
	w.give(i, p)
}

// removeEnd unlinks the first or the last timer of a list. Only then does the list matter, and
// it follows from the due tick; a due timer is in one of two lists, told apart by their ends.
func (w *Wheel) removeEnd(i uint32, p *timer) {
	s := w.slotOf(p.due)
	if s == late && (w.head[ready] == i || w.tail[ready] == i) {
		s = ready
	}
	if p.prev != 0 {
		w.at(p.prev).next = p.next
	} else {
		w.head[s] = p.next
	}
	if p.next != 0 {
		w.at(p.next).prev = p.prev
	} else {
		w.tail[s] = p.prev
	}
	if w.head[s] == 0 {
		w.clear(s)
	}
}
