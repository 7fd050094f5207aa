package clock

// model turns elapsed time into the store's time: at an elapsed time e of microseconds the store
// shows e + at(e). It is never changed once it is visible.
type model struct {
	since  int64 // elapsed time at which offset held
	offset int64
	target int64 // where offset moves to, at 1/slewPart of the time that elapses
}

func (m *model) at(e int64) int64 {
	most := max(e-m.since, 0) / slewPart
	return m.offset + min(max(m.target-m.offset, -most), most)
}

// sample is one reading of the store's clock, in microseconds.
type sample struct {
	elapsed int64 // when it arrived
	offset  int64 // the store's time less the elapsed time
	err     int64 // how far offset may be wrong
}

// near reports whether an offset lies within the error of the sample and the step limit.
func (s sample) near(offset int64) bool {
	return abs(s.offset-offset) <= s.err+stepLimit.Microseconds()
}

// errAt is the error of a sample that has become old: the two clocks may have drifted apart.
func (s sample) errAt(elapsed int64) int64 {
	return s.err + (elapsed-s.elapsed)/driftPart
}

// window holds the latest eight samples.
type window struct {
	list [8]sample
	n    int // samples ever added
}

func (w *window) clear() { *w = window{} }

func (w *window) add(s sample) {
	w.list[w.n%len(w.list)] = s
	w.n++
}

func (w *window) samples() []sample { return w.list[:min(w.n, len(w.list))] }

// agrees reports whether a sample could be one of the same clock as all in the window.
func (w *window) agrees(s sample) bool {
	for _, o := range w.samples() {
		if abs(s.offset-o.offset) > s.err+o.err+stepLimit.Microseconds() {
			return false
		}
	}
	return true
}

// best is the sample with the least error at an elapsed time.
func (w *window) best(elapsed int64) sample {
	all := w.samples()
	b := all[0]
	for _, s := range all[1:] {
		if s.errAt(elapsed) <= b.errAt(elapsed) {
			b = s
		}
	}
	return b
}

func abs(x int64) int64 { return max(x, -x) }
