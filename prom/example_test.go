package prom_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/prom"
	"github.com/ax-sched/ax/store/memory"
)

func Example() {
	m := prom.New(prom.Options{})
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet, Observer: m.Observer()})
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Watch(a)
	reg := prometheus.NewRegistry() // or the default one: prometheus.MustRegister(m)
	reg.MustRegister(m)
	families, err := reg.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "ax_slots" || f.GetName() == "ax_refused_moves_total" {
			fmt.Println(f.GetName(), f.GetType())
		}
	}
	// Output:
	// ax_refused_moves_total COUNTER
	// ax_slots GAUGE
}
