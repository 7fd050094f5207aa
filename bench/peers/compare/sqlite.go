package main

import (
	"fmt"
	"slices"
)

// sqliteGroup compares with what else stores jobs in SQLite. ax is measured as it is by default,
// with synchronous FULL: an acknowledged task survives the loss of power.
func sqliteGroup(z sizes) group {
	const full, normal = "FULL", "NORMAL"
	jobs, limit := fmt.Sprint(z.jobs), z.limit.String()
	submits, loop := fmt.Sprint(z.submits), z.loop.String()
	goqite := func(sync, mode string, args ...string) step {
		args = append(args, "-mode", mode, "-sync", sync, "-dir", "{dir}", "-schema", "{schema}")
		return step{name: sync + " goqite " + mode, program: "goqiteb", args: args}
	}
	work := func(sync string) []step {
		return []step{goqite(sync, "work", "-jobs", jobs, "-limit", limit),
			riverSQLite(sync, "work", riverLite, "-jobs", jobs, "-limit", limit)}
	}
	send := func(sync string) []step {
		return []step{goqite(sync, "send", "-for", loop),
			riverSQLite(sync, "insert", riverLite, "-for", loop)}
	}
	steps := slices.Concat(
		[]step{throughputStep(z, sqlite)}, work(full),
		[]step{submitStep(z, sqlite)}, send(full),
		[]step{latencyStep(z, sqlite), goqite(full, "latency", "-submits", submits),
			riverSQLite(full, "latency", riverLiteQuick, "-submits", submits)},
		work(normal), send(normal), []step{idleStep(z, sqlite)})
	return group{name: "sqlite", steps: steps,
		rows: slices.Concat(sqliteWork(z), sqliteSubmit(), sqliteLatency(), idleRows(z, sqlite))}
}

func sqliteWork(z sizes) []row {
	ax := series{step: "throughput " + sqlite}
	goqite := func(sync string) series {
		return series{label: "goqite " + sync, step: sync + " goqite work"}
	}
	river := func(sync string) series {
		return series{label: "River " + sync, step: sync + " " + riverName("work", riverLite)}
	}
	what := fmt.Sprintf("SQLite FULL, %s stored no-op tasks to SUCCEEDED",
		thousands(float64(z.tasks)))
	return []row{
		{what: what, unit: "tasks/s", more: true, ax: ax, peers: []series{goqite("FULL")},
			goal: goal{min: 40_000, minRatio: 10}},
		{what: what + ", against River", unit: "tasks/s", more: true, ax: ax,
			peers: []series{river("FULL")}},
		{what: what + ", peers at NORMAL", unit: "tasks/s", more: true, ax: ax,
			peers: []series{goqite("NORMAL"), river("NORMAL")}},
	}
}

func sqliteSubmit() []row {
	against := func(what, sync, ax, goqite, river string, g goal) row {
		return row{what: "SQLite FULL, " + what, unit: "tasks/s", more: true, goal: g,
			ax: series{step: "submit " + sqlite, figure: ax},
			peers: []series{
				{label: "goqite " + sync, step: sync + " goqite send", figure: goqite},
				{label: "River " + sync, step: sync + " " + riverName("insert", riverLite),
					figure: river},
			}}
	}
	one, many := ", 1 goroutines", ", 32 goroutines"
	return []row{
		against("submit one by one, 1 goroutine", "FULL", one, one, one, goal{min: 5000}),
		against("submit one by one, 32 goroutines", "FULL", many, many, many, goal{min: 30_000}),
		against("submit one by one, 32 goroutines, peers at NORMAL", "NORMAL", many, many, many,
			goal{}),
		against("SubmitMany of 1,000", "FULL", "unique keys: false", "SendTx", "InsertManyFast",
			goal{min: 80_000}),
		against("SubmitMany of 1,000 with unique keys", "FULL", "unique keys: true", "SendTx",
			"InsertManyFast", goal{}),
	}
}

func sqliteLatency() []row {
	rows := make([]row, 2)
	for i, p50 := range []bool{true, false} {
		rows[i] = row{what: "SQLite FULL, submit to start", unit: "ms p99",
			ax: series{step: "latency " + sqlite, p50: p50},
			peers: []series{
				{label: "goqite FULL", step: "FULL goqite latency", p50: p50},
				{label: "River FULL", step: "FULL " + riverName("latency", riverLiteQuick),
					p50: p50},
			}}
	}
	rows[0].unit, rows[0].goal = "ms p50", goal{max: 0.6}
	return rows
}
