//go:build !linux

package clock

import "time"

// bootTime says that there is no clock here that runs on while the machine is suspended.
func bootTime() (time.Duration, bool) { return 0, false }
