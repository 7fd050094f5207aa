package lint

// table is the import table: what each package may import of this module. A new package gets
// a row here, a new edge is argued in the commit that adds it, and `make golden` copies the
// table to ARCHITECTURE.md. It binds product code; tests may import what they need.
var table = map[string][]string{
	// Nouns and pure rules.
	"task":  {},
	"cron":  {},
	"retry": {},
	// A leaf, so that a tool can open what it reads from the database without the scheduler.
	"seal": {},
	// What an observer is told: by the engine, and through prom.
	"observe": {"task"},

	// Contracts, and the suites of the small ones.
	"lease":                 {"task"},
	"lease/leasetest":       {"task", "lease"},
	"registry":              {"task"},
	"registry/registrytest": {"task", "registry"},
	"store":                 {"task", "retry"},

	// Stores.
	"store/memory": {"task", "store", "lease", "registry"},
	"store/sqlite": {"task", "store", "lease", "registry", "store/sqlite/internal/lite",
		"store/sqlite/internal/owner", "store/sqlite/internal/schema"},
	"store/sqlite/internal/lite": {},
	// leadership of a file
	"store/sqlite/internal/owner": {"lease", "store"},
	// Migrations, and what they make: needed when a store is opened or inspected.
	"store/sqlite/internal/schema": {"store", "store/internal/sqlstore",
		"store/sqlite/internal/lite"},
	// Leases, kinds and notes are in a package below it.
	"store/postgres": {"task", "store", "registry", "store/postgres/internal/schema",
		"store/postgres/internal/wire", "store/postgres/internal/aside", "internal/batch"},
	"store/postgres/internal/aside":  {"task", "store", "lease", "store/postgres/internal/wire"},
	"store/postgres/internal/schema": {"task", "store", "store/internal/sqlstore"},
	"store/postgres/internal/wire":   {"task", "store"},
	"store/internal/sqlstore":        {"store"},
	"store/mysql": {"task", "store", "store/mysql/internal/schema", "store/mysql/internal/wire",
		"store/mysql/internal/aside", "internal/batch"},
	"store/mysql/internal/aside": {"task", "store", "lease", "registry",
		"store/mysql/internal/wire"},
	"store/mysql/internal/wire":   {"task", "store"},
	"store/mysql/internal/schema": {"task", "store", "store/internal/sqlstore"},
	// The memory store is the oracle of the suite.
	"store/storetest": {"task", "retry", "store", "lease", "registry", "store/memory"},

	// Mechanisms.
	"internal/wheel":  {},
	"internal/timer":  {"internal/wheel"},
	"internal/clock":  {},
	"internal/group":  {},
	"internal/batch":  {"task"},
	"internal/plant":  {},
	"internal/random": {"task"},

	// Steps of the walk.
	"internal/leader":   {"lease", "store", "internal/clock"},
	"internal/admit":    {"task"},
	"internal/complete": {"task", "retry", "store", "internal/clock"},
	// A fire moves the job's waiting fire aside: what that means is decided in complete.
	"internal/trigger": {"task", "cron", "store", "internal/timer", "internal/clock",
		"internal/admit", "internal/complete"},
	"internal/dispatch": {"task", "store", "executor", "internal/clock", "internal/admit",
		"internal/complete"},
	"internal/sweep":  {"task", "store", "registry", "internal/clock", "internal/complete"},
	"internal/retain": {"task", "store", "internal/clock"},
	// What handlers say while they run; it decides nothing.
	"internal/notes": {"task", "store", "internal/clock"},
	// An executor keeps its own lease: heartbeats belong to who does the work.
	"executor": {"task", "registry", "internal/clock", "internal/timer"},

	// Where they meet: the engine puts the parts together, starts and stops them.
	composition: {"task", "lease", "registry", "store", "executor", "internal/clock",
		"internal/group", "internal/leader", "internal/trigger", "internal/dispatch",
		"internal/complete", "internal/sweep", "internal/retain", "internal/notes", "observe"},

	// What callers see. The root sees contracts and never a driver; the binary sees all.
	"": {"task", "cron", "retry", "lease", "registry", "store", "executor", composition,
		"internal/clock", "internal/trigger", "internal/complete", "internal/random",
		"internal/kinds", "internal/notes", "observe",
		"seal"},
	// A package of its own, so that only who imports it links the client of Prometheus.
	"prom": {"", "task", "observe", "store", "lease"},
	// The same for OpenTelemetry. What an error of a handler means is decided in complete, and the
	// executor knows what has ended its context.
	"otelax":           {"", "task", "executor", "internal/complete"},
	"internal/kinds":   {"task", "retry", "seal", "internal/complete"},
	"internal/crontab": {"cron"},
	// It asks the code that fires when a job should have fired.
	"internal/doctor": {"task", "store", "lease", "registry", "internal/trigger"},
	// What a file of ax run says becomes what a task does: a command here, a call in webcall.
	"internal/command": {"", "internal/manifest"},
	// What an answer means is an error of a handler.
	"internal/webcall":  {"", "task", "internal/manifest"},
	"internal/manifest": {"task", "retry"},
	// A store in memory checks a file of jobs before the first is written.
	"internal/jobs": {"", "task", "seal", "store/memory", "internal/manifest", "internal/crontab",
		"internal/show"},
	"internal/show": {"task", "seal"},
	"internal/demo": {"", "task", "retry", "internal/group"},
	// It wraps the store and what hangs on it, to count the calls.
	"internal/bench": {"", "task", "store", "lease", "registry", "internal/group",
		"internal/wheel"},
	"cmd/ax": {"", "task", "cron", "retry", "seal", "store", "lease", "store/sqlite",
		"store/postgres", "store/mysql", "internal/jobs", "internal/manifest", "internal/webcall",
		"internal/demo", "internal/bench", "internal/show", "internal/clock", "internal/group",
		"internal/crontab", "internal/command", "internal/doctor"},

	// For users' own tests; and the guides, whose code is in tests.
	"axtest":      {"", "task", "store/memory"},
	"docs/guides": {},

	// Tests.
	"internal/lint":   {},
	"internal/testdb": {},
	"internal/sim": {"", "task", "cron", "retry", "lease", "registry", "store", "executor",
		"store/memory", "internal/clock", "internal/group", "internal/leader",
		"internal/trigger", "internal/admit", "internal/dispatch", "internal/complete",
		"internal/sweep"},
}

// composition is the package that imports most others, as many as the root may.
const composition = "internal/engine"

// plant is importable by every package: it holds constants, false in every build without
// their tag, that put a known fault into the code so that the simulation can find it.
const plant = "internal/plant"

// testSupport are the packages for tests whose names do not end in "test". They may import
// testing, start goroutines and use the wall clock.
var testSupport = []string{"internal/lint", "internal/testdb", "internal/sim"}

// pure packages take the time as an argument and never read a clock.
var pure = []string{"task", "cron", "retry", "internal/wheel", "internal/admit",
	"internal/complete"}

// goroutines is the only package with the go keyword.
const goroutines = "internal/group"

// backgrounds are the files of product code that may make a context from nothing, and why.
// Everywhere else a context comes from the caller; context.WithoutCancel serves what must
// outlive it.
var backgrounds = map[string]string{
	"prom/collector.go": "Collect of prometheus.Collector is called without a context",
}

// varying are the package variables that may change, as package.name, and why.
var varying = map[string]string{}
