# Headwater's commands. `make` alone lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
# Else each of hundreds of processes compiles the same modules again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PAGE := src/headwater/server/page/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) $(PAGE) ## Make .venv with everything the project needs, and build the page

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) tools/environment.py $(VENV)
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(PAGE): $(PAGE_SOURCES) tools/page.py | $(STAMP)
	$(BIN)/python tools/page.py build

.PHONY: demo
demo: $(STAMP) $(PAGE) ## Set everything up and run the whole story: platform, pipeline, lineage
	$(BIN)/headwater demo

.PHONY: lock
lock: ## Renew requirements.txt from pyproject.toml
	@$(PYTHON) tools/environment.py $(VENV)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
		--no-emit-index-url --no-header --no-annotate pyproject.toml requirements-build.in -o requirements.txt

.PHONY: check
check: $(STAMP) ## Format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/page.py check

# Suites with a Spark or a browser of their own run apart, two at a time and the longest first: a
# process holds only one Spark. PYTEST has more options, such as --reversed for the other order.
APART := pipeline capture stack demo page examples
# A loop that never waits can swallow the exception of a timeout: then this ends the process.
WATCHDOG := -o faulthandler_timeout=2000 -o faulthandler_exit_on_timeout=true
PYTEST ?=
ARCHIVE := $(VENV)/spark.jsa

$(ARCHIVE): $(STAMP) tests/spark_archive.py tests/jvm.py
	PYTHONPATH=tests $(BIN)/python tests/spark_archive.py

.PHONY: test
test: $(STAMP) $(PAGE) $(ARCHIVE) ## Run every test
	$(BIN)/python tools/page.py test
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder $(WATCHDOG) $(APART:%=--ignore=tests/%) $(PYTEST)
	$(MAKE) --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) $(APART:%=test-%)

test-%:
	$(BIN)/pytest $(WATCHDOG) -o cache_dir=.pytest_cache/$* tests/$* $(PYTEST)

.PHONY: dist
dist: $(STAMP) $(PAGE) ## Build the wheel and the source archive into dist
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

.PHONY: kills
kills: $(STAMP) ## Kill the worker ten times under load, and count every order
	HEADWATER_KILLS=10 $(BIN)/pytest tests/pipeline/test_worker.py -k killed --timeout 1800

STEPS ?= 200
SEED ?= 20
.PHONY: worker-model
worker-model: $(STAMP) ## Change, break and kill a worker in STEPS (200) random steps, and compare every row
	HEADWATER_MODEL_STEPS=$(STEPS) HEADWATER_MODEL_SEED=$(SEED) $(BIN)/pytest -n 0 -q tests/pipeline/test_model.py -o timeout=7200

.PHONY: worker-clients
worker-clients: $(STAMP) ## Run public clients of Kafka Connect against the worker, with a table
	$(BIN)/python tools/worker_clients.py

.PHONY: stress
stress: $(STAMP) ## Read and write everything from many threads for a minute, on both stores
	HEADWATER_STRESS_SECONDS=60 $(BIN)/pytest -n 0 -q tests/server/test_stress.py -o timeout=600

.PHONY: hostile
hostile: $(STAMP) ## Send requests that cost far more than they seem to, with a report
	$(BIN)/python benchmarks/hostile.py --out docs/benchmarks/hostile.md

MINUTES ?= 30
.PHONY: soak
soak: $(STAMP) ## Run the lab under load and faults for MINUTES (30), and count every order
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES)

.PHONY: outage
outage: $(STAMP) ## Kill the lineage server for ten minutes under load, and write what came of it
	HEADWATER_OUTAGE_SECONDS=600 HEADWATER_OUTAGE_REPORT=docs/benchmarks/outage.md \
		$(BIN)/pytest tests/capture/test_harmless.py -o timeout=4000

FUZZ ?= 25
.PHONY: fuzz
fuzz: $(STAMP) ## Send FUZZ (25) times as many mutated events as the tests do, and run the Kafka faults
	HEADWATER_FUZZ=$(FUZZ) $(BIN)/pytest tests/server/test_fuzz.py -o timeout=7200
	HEADWATER_FUZZ=5 $(BIN)/pytest tests/stack/test_consume_faults.py -o timeout=7200

.PHONY: oracle
oracle: $(STAMP) ## Judge column lineage by TPC-H, TPC-DS and 2,000 random queries, with a report
	$(BIN)/pytest tests/capture/test_oracle.py --oracle-queries 2000 -o timeout=7200
	$(BIN)/python benchmarks/columns.py --anew --report

.PHONY: row-oracle
row-oracle: $(STAMP) ## Judge the records behind rows of 300 random pipelines, with a report
	$(BIN)/python benchmarks/rows.py --anew --report

.PHONY: matrix
matrix: $(STAMP) ## Run capture's tests on Spark 3.5 and 4.0 too, and write docs/matrix.md
	$(BIN)/python tools/matrix.py

PYTHONS ?=
.PHONY: pythons
pythons: dist ## Install the wheel and run the demo with each Python found (or PYTHONS="…"), with a table
	$(BIN)/python tools/pythons.py $(PYTHONS)

.PHONY: producers
producers: $(STAMP) ## Run dbt, Airflow and OpenLineage's Spark listener against a server, with a table
	$(BIN)/python tools/producers.py

REV ?= HEAD~1
.PHONY: compare
compare: $(STAMP) ## Measure the lineage server beside its version at REV, in one run
	$(BIN)/python benchmarks/versions.py $(REV)

.PHONY: bench
bench: $(STAMP) $(PAGE) ## Run the benchmarks and write docs/benchmarks (PEERS=1: beside others)
	$(BIN)/python benchmarks/lineage.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/capture.py
	$(BIN)/python benchmarks/stack.py --cold
	$(BIN)/python benchmarks/pipeline.py $(if $(PEERS),--peers)
	PYTHONPATH=tests $(BIN)/python benchmarks/page_speed.py

.PHONY: docs
docs: $(STAMP) ## Write the reference from the code, and build the documents as a site
	$(BIN)/python tools/reference.py
	$(BIN)/mkdocs build --quiet

.PHONY: types
types: $(STAMP) ## Write the page's types of the server's answers from its OpenAPI document
	$(BIN)/python tools/page.py types

.PHONY: screenshots
screenshots: $(STAMP) $(PAGE) ## Make the pictures of docs/images anew
	PYTHONPATH=tests $(BIN)/python -m page.screenshots

.PHONY: fmt
fmt: $(STAMP) ## Format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python tools/page.py fmt

.PHONY: clean
clean: ## Remove what the other commands made
	rm -rf $(VENV) web/node_modules $(dir $(PAGE)) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
