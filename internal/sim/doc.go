// Package sim runs whole schedulers against faults and checks what they promise.
//
// One seed decides a run: one to three nodes on one memory store in a bubble of fake time, what
// is submitted, what the handlers do, and what goes wrong. A store wrapper stands between each
// node and the store ([link]); it sees every call and its answer, and tells the [checker], which
// keeps its own copy of the table and knows which handlers really run. A run has two halves:
// with faults, and after them, when everything must become right within a bound.
//
//	go test ./internal/sim                       500 seeds
//	AX_SIM_SEEDS=3000 go test ./internal/sim     seeds 1 to 3000
//	AX_SIM_SEED=17 go test -v ./internal/sim     one seed with its trace
//	AX_SIM_SEED=17 AX_SIM_SEEDS=100 go test ...  seeds 17 to 116
//
// # What a seed fixes
//
// All choices of the simulation come from the seed, and nearly every store call has a latency of
// its own, so that events rarely share an instant. What happens at one instant is still ordered
// by the Go scheduler: a failing seed almost always fails again, but not by promise. Repeat it.
//
// # What is not modelled
//
//   - A pause stops a node's store calls and handlers. Its goroutines go on between two calls:
//     its timers and time-outs act in memory, and what they want to write waits for the end.
//   - A paused node's clock runs on, as the boot clock of a suspended machine does. Its wall clock
//     may jump; no node's monotonic clock does.
//   - The store's clock steps by at most one second, as the promises assume.
//   - A crash loses the memory of a node, never of the store. Torn writes, deadlocks and the
//     isolation of real databases are tested by storetest.
//   - All executions run in the process of the leader; there is no remote executor yet.
package sim
