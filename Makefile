# Every target installs what it needs first, so `make demo` and `make test` work on a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench bench-peers faults-storage sql-coverage clean java

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_STATE := penstock-demo
FLINK_JARS := org.apache.flink:flink-sql-parquet:2.3.0 org.apache.hadoop:hadoop-client-api:3.4.2 \
	org.apache.hadoop:hadoop-client-runtime:3.4.2

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Options: make demo STEPS=50 | make test ARGS='-k join' | make bench NAME=latency | make setup PYTHON=python3.12"

setup: java $(READY) ## create .venv with Penstock and its tools (skipped when up to date)

java:
	@scripts/check-java

# Reinstall when pyproject.toml is newer than the stamp file.
$(READY): pyproject.toml scripts/find-python
	@python=$$(scripts/find-python) && { [ -x $(BIN)/python ] || "$$python" -m venv $(VENV); }
	@echo "Installing Penstock and its tools into $(VENV); the first time this takes a few minutes."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup ## run the shop demo; a second run resumes from the state of the first
	@$(BIN)/penstock demo --storage $(DEMO_STATE) $(if $(STEPS),--steps $(STEPS))

test: setup ## run all tests
	$(BIN)/python -m pytest $(ARGS)

check: setup ## check style, types and import rules, and run every example in README and docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/docs

# Flink's wheel cannot read Parquet: Maven downloads the jars for that.
bench-peers: setup ## create environments for the systems that the benchmarks compare with
	@for peer in duckdb 'flink apache-flink==2.3.*' 'pathway pathway==0.33.*'; do \
		set -- $$peer; \
		[ -x artifacts/peers/$$1/bin/python ] || $(BIN)/python -m venv artifacts/peers/$$1; \
		artifacts/peers/$$1/bin/python -m pip install --quiet --disable-pip-version-check $${2:-$$1} pyarrow || exit 1; \
	done
	@for jar in $(FLINK_JARS); do \
		mvn --quiet --batch-mode dependency:copy -Dartifact=$$jar -DoutputDirectory=artifacts/peers/flink/jars || exit 1; \
	done

bench: setup ## run all benchmarks (or NAME=…) against their goals; ARGS=--write updates docs/benchmarks
	@[ -x $(BIN)/tpcgen-cli ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m bench $(or $(NAME),all) $(ARGS)

faults-storage: setup ## damage real state folders at random (TRIALS=6000, SEED=1): nothing may stay unnoticed
	$(BIN)/python -m tests.faults $(if $(TRIALS),--trials $(TRIALS)) $(if $(SEED),--seed $(SEED))

sql-coverage: setup ## regenerate docs/sql-coverage.md and docs/sql-refused.md from the tests
	$(BIN)/python -m scripts.sql_coverage
	$(BIN)/python -m tests.sql.refused_page

clean: ## remove the environment, caches and the state of the demo
	rm -rf $(VENV) $(DEMO_STATE) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
