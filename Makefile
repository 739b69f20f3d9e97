# Incastle: everything that is built, checked and shown, by one name each. `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name 'Cargo.toml' -o -name '*.cdf') Cargo.toml Cargo.lock

# The native module and the Rust tests must agree on the interpreter, or one rebuilds what the other built.
export PYO3_PYTHON := $(abspath $(BIN)/python)
export VIRTUAL_ENV := $(abspath $(VENV))
unexport CONDA_PREFIX

.DEFAULT_GOAL := help
.PHONY: module-is-missing rust-tests help setup reproduce check test test-all bench bench-ns3 bench-ns3-rdma bench-transports validate-worlds docs wheel clean system deny lab wasm-digest kernel

help: ## list these names
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/.native ## build everything up to .venv/bin/incastle

# The interpreter's packages, exactly those of the lock file.
$(VENV)/.packages: requirements.lock
	@PYTHON="$(PYTHON)" scripts/prerequisites.sh
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@echo "installing the Python packages of requirements.lock"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

# The engine, optimized, and the package, editable. Its module lies among the sources: where it is gone, it is built
# again, whatever the stamp's time.
MODULE := python/incastle/_engine.abi3.so
$(VENV)/.native: $(VENV)/.packages pyproject.toml $(RUST_SOURCES) $(if $(wildcard $(MODULE)),,module-is-missing)
	@PYTHON="$(PYTHON)" scripts/prerequisites.sh
	@echo "building the engine (a minute or two the first time)"
	@PIP_QUIET=1 $(BIN)/maturin develop --quiet --release --locked
	@touch $@
	@echo "ready: $(BIN)/incastle"

module-is-missing:

reproduce: setup ## every shipped paper: figures, claims, report/index.html
	$(BIN)/incastle reproduce

check: $(VENV)/.packages ## formatting, lints, types, and unit tests of what changed
	@$(BIN)/python scripts/check_changed.py

test: $(VENV)/.packages ## the quick checks; the last line counts
	@scripts/system.sh --if-possible
	@$(MAKE) --no-print-directory -j2 setup rust-tests
	@$(BIN)/python scripts/test.py

# The tests of Rust are built while one core links the engine. scripts/test.py reports their mistakes.
rust-tests: $(VENV)/.packages
	@cargo test --quiet --locked --workspace --no-run >/dev/null 2>&1 || true

test-all: test ## `test`, then the full counts of random inputs, the documents, the wheel
	@$(BIN)/python scripts/test.py --tier full

bench: setup ## all benchmarks, compared with ns-2 and ns-3 (downloads it), docs/benchmarks.md
	@$(BIN)/python bench/bench.py

validate-worlds: setup ## the kernel's TCP in real time against the simulator (needs root; goes on where it ended)
	$(BIN)/incastle validate-worlds --out validate-worlds --figure validate-worlds/ratios.png --table validate-worlds/table.md

bench-ns3: setup ## the cluster benchmark and the star compared with ns-3 (downloads it)
	@$(BIN)/python bench/versus_ns3/run.py

bench-ns3-rdma: setup ## an incast and a fabric compared with HPCC's ns-3 (SOURCE=its folder simulation)
	@$(BIN)/python bench/versus_ns3_rdma/versus_rdma.py $(if $(SOURCE),--source $(SOURCE))

bench-transports: ## our DCUDP and UDT compared with TCP, QUIC, UDT4 and SRT, on this machine (needs root)
	@$(PYTHON) bench/versus_transports/versus.py

docs: $(VENV)/.packages ## the documentation, into site/ (after `make lab` with live figures)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	cp -r "$${CARGO_TARGET_DIR:-target}/doc" site/rust

wheel: setup lab ## a wheel for machines without Rust, into dist/
	@$(BIN)/python scripts/check_wheel.py --out dist

system: ## Debian packages that some tests use (needs root)
	scripts/system.sh

lab: $(VENV)/.packages ## the page that runs the engine in a browser (incastle lab)
	@$(BIN)/python scripts/lab.py

wasm-digest: ## the same digest from the lab's engine
	@$(PYTHON) scripts/wasm_digest.py

deny: ## licences, sources and advisories of all dependencies (needs cargo-deny and its database)
	cargo deny --locked check

kernel: $(VENV)/.packages ## our congestion controls in Linux by eBPF (needs clang, libelf and zlib)
	@$(BIN)/python scripts/kernel.py build

clean: ## remove what was built
	rm -rf $(VENV) target site dist report report-quick report-full .mypy_cache .ruff_cache .pytest_cache .hypothesis
