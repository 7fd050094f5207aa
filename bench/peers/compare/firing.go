package main

import "fmt"

// firingGroup measures start minus due at fixed rates and beyond the window, on both stores. Each
// step runs once: it is a distribution over tens of thousands of starts.
func firingGroup(z sizes) group {
	g := group{name: "firing"}
	add := func(s step) {
		s.once = true
		g.steps = append(g.steps, s)
	}
	for _, rate := range z.rates {
		name := fmt.Sprintf("firing %d/s", rate)
		river := riverPG("fire", riverQuick, "-rate", fmt.Sprint(rate), "-firing",
			z.firing.String())
		river.name = name + " River"
		add(fireStep(z, name, sqlite, rate))
		add(fireStep(z, name, postgres, rate))
		add(river)
		for _, store := range []string{sqlite, postgres} {
			r := row{what: fmt.Sprintf("%s, %s tasks due a second for %v: start minus due", store,
				thousands(float64(rate)), z.firing), unit: "ms p99",
				ax: series{step: name + " " + store}, goal: goal{max: 10, exact: true}}
			if store == postgres {
				r.peers = []series{{label: "River, " + riverQuick.String(), step: river.name}}
			}
			g.rows = append(g.rows, r)
		}
	}
	for _, store := range []string{sqlite, postgres} {
		add(axStep("beyond", store, "latency", "--submits", "0", "--rates", "0", "--beyond",
			fmt.Sprint(z.beyond)))
		g.rows = append(g.rows, row{what: fmt.Sprintf("%s, %s delays of 30 s, window 5 s: start "+
			"minus due", store, thousands(float64(z.beyond))), unit: "ms p99",
			ax: series{step: "beyond " + store}, goal: goal{max: 200, exact: true}})
	}
	return g
}

func fireStep(z sizes, name, store string, rate int) step {
	return axStep(name, store, "latency", "--submits", "0", "--rates", fmt.Sprint(rate), "--for",
		z.firing.String(), "--beyond", "0")
}
