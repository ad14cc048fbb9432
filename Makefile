# Every command of the project; README says what each is for.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
CODE := app.py cuadre.py consumer reconcile reports sandbox tests tools

# Databases of tests lie in memory where that has 3 GB to spare: their transactions wait for no disk there. Some tests
# wait for processes, browsers and retries: three workers keep two cores busy meanwhile.
TESTS := $(BIN)/python tests/in_memory.py -n 3 --dist worksteal

# Where Python may keep no bytecode, each of the tests' processes would compile the whole program anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-dev run test test-sandbox slowest mutants proof proof-kills proof-disk proof-soak proof-machines bench bench-ingest bench-backfill bench-reconcile bench-accuracy bench-reports bench-sandbox bench-scale external-data bench-external lint figures wheel migration keep-release ways words golden format types lock clean

help:  ## say what each command does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | column -t -s '|'

$(VENV)/.runtime: locks/runtime.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.development: locks/development.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/development.txt
	@touch $@

install: $(VENV)/.runtime  ## make the environment alone, from the hashed lock

install-dev: $(VENV)/.development

run: install  ## the whole product with a sandbox provider and a month of trade
	$(BIN)/cuadre demo --port $(PORT)

test: install-dev lint types  ## linters, types and every test
	$(TESTS)

test-sandbox: install-dev  ## the imitated provider's tests alone
	$(TESTS) tests/sandbox

slowest: install-dev  ## every test without its budget; writes the slowest into docs/testing.md
	CUADRE_TEST_WRITE_SLOWEST=1 $(TESTS)

mutants: install-dev  ## 150 small changes of money, time, signatures and windows: how many does a test notice?
	$(BIN)/python tools/mutants.py

proof: install-dev  ## the proofs at their full counts: kills, fuzzing, seeds
	CUADRE_TEST_PROOF=1 CUADRE_TEST_KILLS=200 $(BIN)/python -m pytest

proof-kills: install-dev  ## the kill matrix alone: 200 kills of receiver, worker and database, half on each store
	CUADRE_TEST_KILLS=200 $(BIN)/python -m pytest tests/proof/test_kills.py

proof-disk: install-dev  ## half an hour of writers and checkpointers on one SQLite file: nothing acknowledged is lost
	CUADRE_TEST_PROOF=1 $(BIN)/python -m pytest tests/proof/test_lost_commits.py

proof-soak: install-dev  ## two hours of trade, nights, readers and kills: no event is lost, memory and handles stay flat
	CUADRE_TEST_PROOF=1 CUADRE_TEST_SOAK_MINUTES=120 $(BIN)/python -m pytest -s tests/proof/test_soak.py

proof-machines: install-dev  ## half an hour of load on three machines: kills, a pooler between, a failover to the standby
	CUADRE_TEST_PROOF=1 CUADRE_TEST_MACHINES_MINUTES=30 $(BIN)/python -m pytest -s tests/proof/test_machines.py

bench: bench-ingest bench-backfill bench-reconcile bench-accuracy bench-reports bench-sandbox  ## every measurement below

bench-ingest: install-dev  ## webhooks a second against a bare route, a naive insert and peers; draining a backlog
	$(BIN)/python tests/benchmarks/ingest/bench_ingest.py
	$(BIN)/python tests/benchmarks/ingest/bench_drain.py
	$(BIN)/python tests/benchmarks/ingest/bench_beside_a_night.py
	$(BIN)/python tests/benchmarks/ingest/bench_full_inbox.py

bench-backfill: install-dev  ## events a second from a list server with latency, the budget used, memory
	$(BIN)/python tests/benchmarks/backfill/bench_backfill.py

bench-reconcile: install-dev  ## invoices against items: seconds and memory, beside plain joins and peers
	$(BIN)/python tests/benchmarks/reconcile/bench_reconcile.py
	$(BIN)/python tests/benchmarks/reconcile/bench_journal.py

bench-scale: install-dev  ## runs of 200 connections by engine, and a night after closed months: seconds, memory
	$(BIN)/python tests/benchmarks/scale/bench_engine.py
	$(BIN)/python tests/benchmarks/scale/bench_horizon.py --closed 12 36 100 --payments 100000
	$(BIN)/python tests/benchmarks/scale/bench_plan.py

bench-accuracy: install-dev  ## precision and recall on known truth; writes docs/accuracy.md
	$(BIN)/python tests/benchmarks/accuracy/bench_accuracy.py

external-data: install-dev  ## check Olist's files in a folder: make external-data FOLDER=/where/they/are
	$(BIN)/python tests/benchmarks/external/bench_external.py "$(FOLDER)" --check

bench-external: install-dev  ## precision on Olist's public orders and payments: make bench-external FOLDER=/where/they/are
	$(BIN)/python tests/benchmarks/external/bench_external.py "$(FOLDER)"

bench-reports: install-dev  ## files of a million rows, pages of a hundred thousand payouts, the search of 1.8 million rows
	$(BIN)/python tests/benchmarks/reports/bench_reports.py
	$(BIN)/python tests/benchmarks/reports/bench_search.py

bench-sandbox: install-dev  ## a million payments told: seconds and memory
	$(BIN)/python tests/benchmarks/sandbox/bench_sandbox_scale.py

lint: install-dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: install-dev
	$(BIN)/mypy $(CODE)

figures: install-dev  ## how large the code is, how it hangs together, how it speaks
	$(BIN)/python tools/figures.py --circles

ways: install-dev  ## how many files one webhook, one payout and one invoice cross
	PYTHONPATH=. $(BIN)/python tools/ways.py

words: install-dev  ## add new sentences to the catalogues of every language and name those without words
	$(BIN)/python tools/catalogues.py

golden: install-dev  ## write the approved files anew, reports, journeys and the reference's tables, and show what changed
	$(BIN)/python tools/reference.py
	CUADRE_TEST_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/reports/output/test_export.py tests/journeys/test_quiet_days.py tests/reconcile/journal/test_layouts.py
	git --no-pager diff --stat -- docs tests/data
	git --no-pager diff --unified=0 -- docs tests/data

format: install-dev  ## put the code in shape
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

migration: install-dev  ## write a migration for changed tables: make migration NAME=ledgers
	PYTHONPATH=. $(BIN)/python tools/migration.py "$(NAME)"
	$(BIN)/ruff format --quiet consumer/facts/migrations/versions

wheel: install-dev  ## build dist/cuadre-VERSION-py3-none-any.whl
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist .

keep-release: install-dev  ## keep a small database of this version, from which every later one must upgrade
	PYTHONPATH=. $(BIN)/python tools/keep_release.py

lock: install-dev  ## write the lock files anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--upgrade -o locks/runtime.txt pyproject.toml locks/build.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--upgrade -c locks/runtime.txt -o locks/development.txt --group dev pyproject.toml locks/build.in

clean:  ## remove the environment and what runs left behind
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
