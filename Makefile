# What a developer runs is `make check test race`; .ci/run calls the same names.

SHELL = bash
.SHELLFLAGS = -o pipefail -c

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod

# Number of simulation seeds, and the first of them: make sim N=3000 SEED=17
N ?= 500
SEED ?= 1

# bench: runs of each benchmark, and an earlier bench.txt to compare with.
COUNT ?= 10
BASE ?=

# Packages that start no goroutine gain nothing from the race detector and cost it much time.
PURE = /(task|cron|retry|internal/(wheel|admit|lint))$$

.DEFAULT_GOAL := help
.PHONY: help dev test check race bench peers sim fuzz golden shape stores clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

dev: ## a scheduler with sample tasks on a temporary SQLite file, for 20 s
	$(GO) run ./cmd/ax dev --for 20s

test: ## all tests, 500 simulation seeds; installs PostgreSQL and MariaDB if root and missing
	AX_SIM_SEEDS=500 $(GO) test -shuffle=on -timeout=15m ./...

check: ## gofmt, vet, go fix, staticcheck, deadcode, the rules of internal/lint
	@GO=$(GO) scripts/check

race: ## the packages with goroutines under the race detector
	AX_SIM_SEEDS=50 $(GO) test -race -shuffle=on -timeout=15m \
		$$($(GO) list ./... | grep -vE '$(PURE)')

bench: ## Go benchmarks into bench.txt (COUNT=10, BASE=old.txt compares), then ax bench
	$(GO) test -run='^$$' -bench=. -benchmem -count=$(COUNT) -timeout=60m ./... | tee bench.txt
	$(if $(BASE),$(TOOL) benchstat $(BASE) bench.txt)
	$(GO) run ./cmd/ax bench throughput
	$(GO) run ./cmd/ax bench latency
	$(GO) run ./cmd/ax bench wheel

peers: ## ax against its peers, 25 min at most, needs PostgreSQL: make peers ARGS='-only wheel'
	cd bench/peers && $(GO) run ./compare $(ARGS)

sim: ## the simulation alone: N=500 seeds from SEED=1, then each planted fault must be caught
	AX_SIM_SEEDS=$(N) AX_SIM_SEED=$(SEED) \
		$(GO) test -count=1 -run='^TestSim' -timeout=80m ./internal/sim
	$(GO) test -tags ax_plant -count=1 -run='^(TestPlantedBugs|TestUntilBroken)$$' -timeout=20m \
		./internal/sim

fuzz: ## each fuzz target for 20 s
	@GO=$(GO) scripts/fuzz 20s

golden: ## rewrite the golden files; look at the difference before you commit it
	AX_GOLDEN=1 $(GO) test -count=1 ./...
	git diff --stat

shape: ## sizes, fan-out, documentation, test ratio
	$(GO) test -count=1 -v -run='^TestShape$$' ./internal/lint

stores: ## the suites against each database, no result from the cache
	$(GO) test -count=1 -shuffle=on -timeout=15m ./internal/testdb/... ./store/...

clean: ## remove what the targets leave behind
	rm -rf bin dist bench.txt
	$(GO) clean -testcache -fuzzcache
