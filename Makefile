# make setup       a virtual environment in .venv with the engine in it: about 2 minutes on 2 cores, later only what changed
# make reproduce   rerun Lehto et al. (2005) and write its report; others: sojourn reproduce NAME
# make test        the checks for every change: about 6 minutes on 2 cores
# The last two begin with `make setup`.

# Containers often set this. It would make every process compile its libraries again, 0.2 s for numpy alone.
unexport PYTHONDONTWRITEBYTECODE

# Property tests draw the same cases each time, so that only a code change can fail them; `make properties` draws new ones. Failing cases
# are printed but not stored, because stored ones would be repeated each time.
export PROPTEST_RNG_SEED ?= 1
export PROPTEST_DISABLE_FAILURE_PERSISTENCE ?= true

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMPS  := $(VENV)/stamps
LOWEST  := $(VENV)/lowest
RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock
# Registry files: cargo fmt misses them, because a macro declares their modules.
REGISTERED := $(wildcard crates/*/src/algorithms/*.rs crates/*/src/kinds/*.rs crates/*/src/*/profiles/*.rs)
# One process per core; tests of a file stay together, because they share fixtures.
PARALLEL := --numprocesses auto --dist loadfile

.PHONY: help setup test slow-test reproduce reproduce-all bench validate properties stacks hosts hunt mutants fuzz fuzz-lint abi-lint bpf live lint format rust-build rust-test python-test lowest deny lock wheel docs notebooks playground playground-test clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# make/make/p' Makefile
	@echo 'make reproduce-all  rerun all papers with their seeds, write results/index.html and print the time'
	@echo 'make slow-test   slow tests, such as the walk-throughs of CONTRIBUTING.md, and examples and benchmarks in Rust: about 2 minutes after `make test`'
	@echo 'make bench       measure speed, compared with ns-2.35 if it is installed'
	@echo 'make validate    compare with ns-2.35, ns-3 and Linux, or their stored results; build the playground'
	@echo 'make properties  property tests with PROPERTY_ROUNDS times as many new random cases'
	@echo 'make hunt        run HUNT_COUNT random scenarios, each in several modes; continues where it stopped'
	@echo 'make mutants     change one operator, value or branch of MUTANTS_PARTS at a time: tests must detect it'
	@echo 'make fuzz        fuzz each target for a minute or FUZZ_SECONDS, guided by coverage'
	@echo 'make fuzz-lint   compile and lint the fuzz targets'
	@echo 'make stacks      test foreign transport stacks over the network of sojourn-harness'
	@echo 'make hosts       build quinn, noq and s2n-quic for flows with `host`, into .venv: about 5 minutes'
	@echo 'make abi-lint    lint the Rust that is linked into a Linux kernel'
	@echo 'make bpf         replay random events through the algorithms for BPF and the engine; try them in this kernel, as root'
	@echo 'make live        live runs in network namespaces beside tcpdump, iperf3 and the shapers of the kernel, as root'
	@echo 'make lint        only formatting, types and lints'
	@echo 'make lowest      Python tests with the lowest library versions that pyproject.toml allows'
	@echo 'make deny        licenses, versions and known vulnerabilities of Rust dependencies, if cargo-deny is installed'
	@echo 'make lock        update requirements-dev.lock to the newest versions'
	@echo 'make wheel      a wheel and a source distribution in dist/, and the first scenario in an empty environment'
	@echo 'make docs       the site, in build/site'
	@echo 'make playground       the page that runs the engine, in build/playground/site'
	@echo 'make playground-test  test it in headless browsers: presets, links, accessibility'
	@echo 'make notebooks  run examples/notebooks, into build/notebooks'
	@echo 'make clean       remove what was built (not results/)'

setup: $(STAMPS)/build
	@:

$(STAMPS)/venv:
	@echo 'setup 1 of 3: a virtual environment in $(VENV)'
	@sh scripts/preflight.sh "$(PYTHON)"
	@sh scripts/venv.sh "$(PYTHON)" $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# uv is ten times faster than pip, but ignores pip's configuration, so pip is the fallback.
$(STAMPS)/dependencies: $(STAMPS)/venv requirements-dev.lock
	@sh scripts/preflight.sh $(BIN)/python
	@echo 'setup 2 of 3: Python packages'
	@sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.lock > $(STAMPS)/uv.txt
	@$(BIN)/python -m pip install --quiet --requirement $(STAMPS)/uv.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --requirement requirements-dev.lock || { \
	    echo 'setup: uv failed; pip is tried, which takes longer'; \
	    $(BIN)/python -m pip install --quiet --requirement requirements-dev.lock; }
	@touch $@

$(STAMPS)/build: $(STAMPS)/dependencies $(RUST)
	@echo 'setup 3 of 3: the engine, in Rust'
	@$(BIN)/python scripts/build.py
	@touch $@

# Two jobs, because many steps use a single core: linking the engine, mypy, the last tests of a crate.
test:
	@sh scripts/preflight.sh "$(PYTHON)"
	@$(MAKE) --no-print-directory --jobs 2 setup rust-build
	@$(MAKE) --no-print-directory --jobs 2 format rust-test python-test

# Clippy is the compiler with more lints, so one pass compiles what is tested and lints it. What is inlined is compiled again in each
# unit of code generation that calls it, so there is one for each crate, as nothing is kept for the next build.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver RUSTFLAGS="--deny warnings" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=1

# `make slow-test` compiles and lints the rest: examples, benchmarks and the extension module.
TESTED := --workspace --tests

rust-build:
	@$(LINTED) cargo build --quiet $(TESTED)

lint: format
	cargo clippy --workspace --all-targets -- --deny warnings

format: setup
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(REGISTERED)
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path hosts/linux/abi/Cargo.toml --check
	cargo fmt --manifest-path hosts/bpf/Cargo.toml --check
	@for stack in stacks/*/; do cargo fmt --manifest-path $$stack/Cargo.toml --check || exit 1; done
	$(BIN)/ruff check --quiet python tests conformance examples scripts papers studies docs
	$(BIN)/ruff format --quiet --check python tests conformance examples scripts papers studies docs
	$(BIN)/mypy

# The fuzz targets are a separate workspace with other dependencies, which takes a minute to check. No C++ compiler is needed.
fuzz-lint:
	CUSTOM_LIBFUZZER_PATH=/libfuzzer.a cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz-lint -- --deny warnings

# The code linked into a Linux kernel is a separate workspace. It has no standard library, so it can't unwind.
abi-lint:
	cp Cargo.lock hosts/linux/abi/Cargo.lock
	CARGO_PROFILE_DEV_PANIC=abort cargo clippy --manifest-path hosts/linux/abi/Cargo.toml --target-dir target/abi-lint -- --deny warnings

# A separate workspace, which compiles C. What the machine cannot do is skipped, with the reason.
bpf: setup
	cargo clippy --manifest-path hosts/bpf/Cargo.toml --all-targets --target-dir target/bpf -- --deny warnings
	cargo test --manifest-path hosts/bpf/Cargo.toml --quiet --target-dir target/bpf
	$(BIN)/python -m pytest tests/bpf -m '' -rs

# What the machine cannot do is skipped, with the reason.
live: setup
	$(BIN)/python -m pytest tests/live -m '' -rs

# Cargo reads the settings of a workspace only in its folder.
hosts: setup
	@cd stacks/python && VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(BIN):$$PATH" maturin develop --uv --quiet --release \
	    --locked --target-dir $(CURDIR)/target/stacks

# Foreign stacks over the harness, each in a workspace of its own with the stack's dependencies and settings.
stacks: hosts
	$(BIN)/python -m pytest tests/harness
	@for stack in stacks/*/; do (cd $$stack && cargo test --quiet --target-dir $(CURDIR)/target/stacks) || exit 1; done

# Child processes must not use make's job server, which these variables describe.
ALONE := env -u MAKEFLAGS -u MFLAGS

rust-test: setup rust-build
	@$(ALONE) $(LINTED) cargo test $(TESTED) --quiet
	@$(ALONE) $(LINTED) cargo test --workspace --quiet --doc

python-test: setup
	@$(ALONE) $(BIN)/python -m pytest $(PARALLEL) -m 'not slow'

# Tests that take long, most of all the walk-throughs of CONTRIBUTING.md: they compile what it adds, with the settings of the other tests,
# so they take the dependencies that are compiled already.
slow-test: setup
	@$(LINTED) cargo build --quiet --workspace --all-targets
	@$(LINTED) $(BIN)/python -m pytest $(PARALLEL) --no-loadscope-reorder -m slow --ignore=tests/bpf
	@$(LINTED) cargo test $(TESTED) --quiet -- --ignored --exact --skip store

# Test modules that call no library which others do not call have a mark, or are in folders that are ignored; all others run with the lowest versions. The package is used from python/, with the
# extension module that `setup` built: it works with all these versions.
lowest: setup
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --extra all --group test \
	    pyproject.toml --output-file $(LOWEST)/requirements.txt
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --requirement $(LOWEST)/requirements.txt
	@printf '#!/bin/sh\nexec "$$(dirname "$$0")/python" -c "from sojourn_program import entry; entry()" "$$@"\n' \
	    > $(LOWEST)/bin/sojourn && chmod +x $(LOWEST)/bin/sojourn
	PYTHONPATH=python $(LOWEST)/bin/python -m pytest $(PARALLEL) -m 'not slow and not no_libraries' \
	    --ignore=tests/live --ignore=tests/bpf

deny:
	@sh scripts/deny.sh

lock: setup
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra all --extra dask --extra slurm --group dev --generate-hashes \
	    --custom-compile-command 'make lock' pyproject.toml --output-file requirements-dev.lock

# A wheel for Python 3.11 and newer; on Linux it needs glibc 2.17 (2012), which zig links against. Where there is llvm-profdata it is built
# twice, the second time with a profile of its runs. WHEEL_PROFILE=quick builds sooner.
wheel: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group wheel
	rm -rf dist
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/profiled.py --quiet --locked --strip \
	    --profile $${WHEEL_PROFILE:-release} $$([ "$$(uname)" != Linux ] || echo --zig --compatibility manylinux_2_17)
	$(BIN)/python scripts/wheel.py dist/*.whl
	$(BIN)/maturin sdist --out dist
	$(BIN)/python scripts/try_wheel.py

docs: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group docs
	$(BIN)/python scripts/site.py
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs/site build/pages build/site

notebooks: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group notebooks
	NOTEBOOKS=1 $(BIN)/python -m pytest tests/documents/test_notebooks.py

# Exit code 3 of scripts/wasm.sh: there is no compiler for WebAssembly here, which it says in one line.
PAGE := build/playground
playground: setup
	sh scripts/wasm.sh $(PAGE)/engine.wasm
	$(BIN)/python scripts/playground.py $(PAGE)
	cd playground && npm ci --silent --no-audit --no-fund && npm run --silent check
	node playground/build.mjs $(PAGE)/engine.wasm $(PAGE)/presets.json $(PAGE)/schema.json $(PAGE)/site

# CHROMIUM is the browser; by default that of the system. Firefox and WebKit are tested too where they are.
playground-test: playground
	cd playground && SOJOURN="$(CURDIR)/$(BIN)/sojourn" npm run --silent test

reproduce: setup
	$(BIN)/sojourn reproduce lehto

reproduce-all: setup
	$(BIN)/sojourn reproduce all

bench: setup
	$(BIN)/python conformance/bench/bench.py

validate: setup
	@failed=0; for judge in ns2 ns3 linux qlog; do \
	    $(BIN)/python -m conformance.oracles.$$judge.validate || failed=1; done; exit $$failed
	@if sh scripts/wasm.sh; then $(MAKE) --no-print-directory playground; fi

# Property tests with new cases each time. A failing case is printed, and should become a test.
properties: setup
	@for round in $$(seq $${PROPERTY_ROUNDS:-30}); do \
	    $(ALONE) -u PROPTEST_RNG_SEED $(LINTED) cargo test --quiet --tests \
	        $(patsubst crates/%/Cargo.toml,--package sojourn-%,$(shell grep -l '^proptest' crates/*/Cargo.toml)) || exit 1; done
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile anew -m 'not slow' $(shell grep -l '^from hypothesis' tests/*/test_*.py)

# Random worlds on two threads, in a fast build and in one with overflow checks. Progress and findings are stored in target/hunt. The two
# builds must give the same fingerprints.
HUNT := $(if $(HUNT_FIRST),--first $(HUNT_FIRST)) $(if $(HUNT_EVENTS),--events $(HUNT_EVENTS))
hunt: setup
	cargo build --quiet --profile quick --package sojourn-hunt
	cargo build --quiet --package sojourn-hunt
	RAYON_NUM_THREADS=2 target/quick/sojourn-hunt --count $${HUNT_COUNT:-10000} $(HUNT)
	RAYON_NUM_THREADS=2 target/debug/sojourn-hunt --count $${HUNT_DEBUG_COUNT:-1000} $(HUNT) --compare release
	$(BIN)/python -m conformance.malformed --count $${HUNT_FILES:-100000}
	$(BIN)/python -m conformance.kills --count $${HUNT_KILLS:-20}
	HUNT_PACKETS=$${HUNT_PACKETS:-10000000} cargo test --quiet --profile quick --package sojourn-live --lib -- --ignored

# Mutants of crates need cargo-mutants (`cargo install cargo-mutants --locked`). One build holds all that were drawn, in target/mutants.
MUTANTS := $(if $(MUTANTS_COUNT),--count $(MUTANTS_COUNT)) $(if $(MUTANTS_SEED),--seed $(MUTANTS_SEED)) \
    $(if $(MUTANTS_SHARD),--shard $(MUTANTS_SHARD))
mutants: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group mutants
	$(BIN)/python -m conformance.mutants $(MUTANTS_PARTS) $(MUTANTS)

# Inputs, logs and findings stay in target/fuzz. Fuzzing starts from the files of the repository. Each target says how many counters
# of coverage it has, how many it reached (cov) and how often it ran; where it fails, the end of its log says on what.
FUZZ_TARGETS := scenario sweep trace capture world
fuzz:
	@mkdir -p $(FUZZ_TARGETS:%=target/fuzz/%) target/fuzz/found
	cd fuzz && cargo build --release --quiet
	@failed=0; built=target/fuzz/$$(rustc --print host-tuple)/release; for target in $(FUZZ_TARGETS); do echo "fuzz $$target"; \
	    case $$target in world|capture) files=;; trace) files=examples/traces;; \
	        *) files="crates/scenario/tests examples $(wildcard papers/*/scenarios)";; esac; log=target/fuzz/$$target.log; \
	    $$built/$$target -max_total_time=$${FUZZ_SECONDS:-60} -max_len=8192 -len_control=0 -dict=fuzz/scenario.dict \
	        -print_final_stats=1 -print_funcs=0 -artifact_prefix=target/fuzz/found/ target/fuzz/$$target $$files \
	        > $$log 2>&1 || { failed=1; tail -n 30 $$log; }; \
	    grep -e 'inline 8-bit counters' -e DONE -e executed_units $$log; done; exit $$failed

clean:
	rm -rf $(VENV) target build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python -name '_sojourn*.so' -delete
