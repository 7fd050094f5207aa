package main

import (
	"fmt"
	"slices"
)

// postgresGroup compares with River on PostgreSQL, at its best settings and at its defaults. ax
// has its defaults.
func postgresGroup(z sizes) group {
	jobs, limit := fmt.Sprint(z.tasks), z.limit.String()
	submits := fmt.Sprint(z.submits)
	steps := []step{throughputStep(z, postgres)}
	for _, s := range riverTuned {
		steps = append(steps, riverPG("work", s, "-jobs", jobs, "-limit", limit))
	}
	slow := fmt.Sprint(min(z.tasks, 5000)) // as many as the defaults work in 5 s
	steps = append(steps,
		riverPG("work", riverDefaults, "-jobs", slow, "-limit", limit),
		submitStep(z, postgres),
		riverPG("insert", riverDefaults, "-for", z.loop.String()),
		latencyStep(z, postgres),
		riverPG("latency", riverQuick, "-submits", submits),
		riverPG("latency", riverDefaults, "-submits", submits),
		idleStep(z, postgres))
	return group{name: "postgres", steps: steps,
		rows: slices.Concat(postgresWork(z), postgresSubmit(), postgresLatency(),
			idleRows(z, postgres))}
}

// riverSeries is what River did in a step of the given mode and settings.
func riverSeries(mode string, s setting, figure string, p50 bool) series {
	label := "River, " + s.String()
	if s == riverDefaults {
		label = "River, defaults"
	}
	return series{label: label, step: riverName(mode, s), figure: figure, p50: p50}
}

func postgresWork(z sizes) []row {
	what := fmt.Sprintf("PostgreSQL, %s stored no-op tasks to SUCCEEDED",
		thousands(float64(z.tasks)))
	ax := series{step: "throughput " + postgres}
	best := row{what: what, unit: "tasks/s", more: true, ax: ax, goal: goal{minRatio: 1.3}}
	for _, s := range riverTuned {
		best.peers = append(best.peers, riverSeries("work", s, "", false))
	}
	return []row{best, {what: what + ", against defaults", unit: "tasks/s", more: true, ax: ax,
		peers: []series{riverSeries("work", riverDefaults, "", false)}}}
}

func postgresSubmit() []row {
	against := func(what, ax, river string) row {
		return row{what: "PostgreSQL, " + what, unit: "tasks/s", more: true,
			ax: series{step: "submit " + postgres, figure: ax},
			peers: []series{{label: "River", step: riverName("insert", riverDefaults),
				figure: river}}}
	}
	one, many := ", 1 goroutines", ", 32 goroutines"
	return []row{
		against("submit one by one, 1 goroutine", one, one),
		against("submit one by one, 32 goroutines", many, many),
		against("SubmitMany of 1,000", "unique keys: false", "InsertManyFast"),
		against("SubmitMany of 1,000 with unique keys", "unique keys: true", "InsertManyFast"),
	}
}

func postgresLatency() []row {
	const what = "PostgreSQL, submit to start"
	against := func(what, unit string, s setting, p50 bool, g goal) row {
		return row{what: what, unit: unit, goal: g,
			ax:    series{step: "latency " + postgres, p50: p50},
			peers: []series{riverSeries("latency", s, "", p50)}}
	}
	return []row{
		against(what, "ms p50", riverQuick, true, goal{maxRatio: 0.8}),
		against(what, "ms p99", riverQuick, false, goal{}),
		against(what+", against defaults", "ms p50", riverDefaults, true, goal{}),
	}
}
