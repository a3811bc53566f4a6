# The two commands that matter: "make demo" and "make test". Both do their own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
DEVICE ?= cpu
RANKS ?= 8

.PHONY: help setup build demo test test-full test-launchers test-python test-pages soak verify-report conformance lint fmt golden gen man docs release-snapshot bench-gpu bench-layers scoreboard verify-gpu verify-failures clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## Install cmake, ninja and a C++ compiler if they are missing
	@scripts/setup.sh

build: setup ## Build bin/hirgen
	@go build -o bin/hirgen -ldflags "-X main.commit=$$(git describe --match= --always --abbrev=40 --dirty)" ./cmd/hirgen

demo: build ## Spec to running program, explained on the way (DEVICE=cpu|cuda)
	@scripts/demo.sh $(DEVICE)

test: setup ## Run the whole suite
	@scripts/test.sh

test-full: setup ## All that tests claim: every combination of choices, 2 to 8 ranks, rows and grids, 20 orders, transfers 50 (some 75 minutes on 2 cores)
	@HIRGEN_TEST_FULL=1 go test -count=1 -timeout 6h ./lowering/... ./internal/release
	@HIRGEN_TEST_FULL=1 go test -count=1 -timeout 6h -v ./internal/e2e

test-launchers: setup ## Start an emitted program by Open MPI, MPICH and Slurm themselves and on two hosts (network namespaces); installs what is missing
	@scripts/test_launchers.sh

test-python: build ## The package for PyTorch on the CPU device, by torchrun; installs PyTorch (5 GB under .tools/)
	@scripts/test_python.sh

test-pages: ## Open the pages that hirgen writes in Chromium, from Debian's packages if it is missing; pictures in build/pages/
	@scripts/test_pages.sh

soak: setup ## Look for mistakes with random specs (SECONDS=600 SEED=1; ONLY=NUMBER repeats one; ARGS="-findings 10"); .ci/run takes the seed from the commit
	@go run ./internal/tools/soak/cmd -seconds $(or $(SECONDS),600) -seed $(or $(SEED),1) $(if $(ONLY),-only $(ONLY) -show) $(ARGS)

verify-report: setup ## How long proofs take, and how many wrong programs they reject, by kind of mistake (ARGS="-per-kind 4 -seed 2 -device 40", "-ring 1024 -only-times")
	@go run ./internal/tools/recall/cmd $(ARGS)

lint: ## Check style: Go by golangci-lint, C++ by clang-format and clang-tidy
	@scripts/lint.sh

fmt: ## Format Go and C++
	@scripts/fmt.sh

golden: setup ## Rewrite the golden files; emitted programs are built and checked first
	@scripts/golden.sh

gen: ## Bring generated/ up to date with testdata/specs/
	@scripts/gen.sh

man: build ## Write manual pages to build/man/ (man build/man/hirgen-emit.1)
	@bin/hirgen man build/man

docs: build ## Check and build the documentation as a site into build/site/
	@scripts/docs.sh

release-snapshot: setup ## Make archives and packages of a release into build/dist/, and look at them; publishes nothing
	@scripts/release-snapshot.sh

bench-gpu: build ## Compare with PyTorch on this machine's GPUs (RANKS=8); tables and JSON under build/bench/
	@scripts/bench_gpu/bench.py --ranks $(RANKS) $(ARGS)

bench-layers: build ## Layers of a model beside PyTorch (RANKS=8), 8 minutes a call; ARGS=--resume goes on
	@scripts/bench_gpu/bench_layers.py --ranks $(RANKS) $(ARGS)

scoreboard: build ## Solve the problems of ParallelKernelBench on two GPUs (BENCH=CHECKOUT), 8 minutes a call; the next call goes on
	@examples/parallel_kernel_bench/scoreboard.py $(BENCH) --minutes 8 --compile $(ARGS)

verify-gpu: build ## Long checked runs and memcheck on this machine's GPUs (RANKS=8; ARGS=--resume goes on)
	@scripts/verify_gpu.py --ranks $(RANKS) $(ARGS)

conformance: ## Whether this machine's GPUs do what the CPU device does (ARGS=--build-only needs none)
	@scripts/conformance.py $(ARGS)

verify-failures: build ## Processes that outlive their peers, on two GPUs of this machine (ARGS="--only nccl"; ARGS="--device cpu")
	@scripts/verify_failures.py $(ARGS)

clean: ## Remove what was built; .tools/ with the downloaded tools stays
	@rm -rf bin build out
