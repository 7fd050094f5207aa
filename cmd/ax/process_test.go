package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pidIn reads a line that ends with a process id.
func pidIn(t *testing.T, line string) int {
	t.Helper()
	words := strings.Fields(line)
	pid, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return pid
}

// gone waits until a process no longer exists; a zombie is gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d still exists: %s", pid, stat)
		}
	}
}
