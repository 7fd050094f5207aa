package trigger

// Wheel returns the number of tasks in memory that are not due yet, or wait until they may be
// claimed again.
func (t *Trigger) Wheel() int { return t.win.timer.Len() }
