//go:build ax_plant

package sim

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/ax-sched/ax/internal/plant"
)

// TestPlantedBugs proves that the simulation can fail: each planted fault must break a promise
// within 500 seeds. A fault is there for the life of a process, so each has its own.
func TestPlantedBugs(t *testing.T) {
	if os.Getenv("AX_PLANT") != "" {
		t.Fatal("AX_PLANT is set; this test sets it for the processes it starts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range plant.All() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(self, "-test.run=^TestUntilBroken$", "-test.v", "-test.timeout=10m")
			c.Env = append(os.Environ(), "AX_PLANT="+name)
			out, err := c.CombinedOutput()
			found := broken.FindSubmatch(out)
			if err != nil || found == nil {
				t.Fatalf("%d seeds do not find it: %v\n%s", defaultSeeds, err, tail(out))
			}
			t.Logf("found by seed %s: %s", found[1], found[2])
		})
	}
}

var broken = regexp.MustCompile(`(?m)seed (\d+) breaks a promise: (.*)$`)

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// TestUntilBroken runs seeds until one breaks a promise, with the fault that the environment
// names; without one, all of them must keep every promise. It is the process that TestPlantedBugs
// starts.
func TestUntilBroken(t *testing.T) {
	name, n := os.Getenv("AX_PLANT"), uint64(defaultSeeds)
	if name == "" {
		n = 20 // of TestSimulation, here only to show that the tag alone changes nothing
	}
	for seed := uint64(1); seed <= n; seed++ {
		var o outcome
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { o = bubble(t, seed, simulate) })
		if len(o.bad) == 0 {
			continue
		}
		fmt.Printf("seed %d breaks a promise: %s\n", seed, o.bad[0])
		if name == "" {
			t.Errorf("seed %d breaks promises without a planted fault\n%s", seed, o.text())
		}
		return
	}
	if name != "" {
		t.Errorf("%q is not found", name)
	}
}
