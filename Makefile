# `make run` does the main job on real data, `make test` runs the tests; both make .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
endif
# Tests in parallel: one process a core.
WORKERS ?= auto
# Runs at a time: one a core.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# What `make test` installs: with report and browser, the tests of diagrams and of the report, too.
EXTRAS ?= test

.DEFAULT_GOAL := help
.PHONY: help run test check tables verify report reproduce-all bench chaos constraints clean

help:  ## This list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /	/' | expand -t 16

run: $(VENV)/.installed  ## The main job: GCMF on real 20 Newsgroups, comp against rec.
	$(BIN)/transferbench run comp-vs-rec --model gcmf

test: $(VENV)/.installed-test  ## The whole test suite.
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.installed-test  ## Format, lint and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

tables: $(VENV)/.installed  ## Fail where a committed table, or the report, is not what the runs yield.
	$(BIN)/transferbench tables --check
	$(BIN)/transferbench report --check

verify: $(VENV)/.installed  ## Make every model's quickest committed run again and compare.
	$(BIN)/transferbench verify --jobs $(JOBS)

report: $(VENV)/.installed  ## Every result on one page, results/report.html.
	$(BIN)/transferbench report

reproduce-all: $(VENV)/.installed  ## Every experiment; finished runs are kept. REPEATS=1 for a quick look.
	$(BIN)/transferbench reproduce --all $(if $(REPEATS),--repeats $(REPEATS)) --jobs $(JOBS)

bench: $(VENV)/.installed  ## Speed and memory beside scikit-learn, measured in one run.
	for script in tests/bench*.py; do $(BIN)/python $$script || exit 1; done

chaos: $(VENV)/.installed-test  ## Break things on purpose, for a quarter of an hour. CHAOS="--times 20 kills" for some of it.
	PYTHONPATH=tests $(BIN)/python -m chaos $(CHAOS)

constraints: EXTRAS = test,report,browser,modern
constraints: $(VENV)/.installed-test  ## Write the versions now installed to constraints.txt.
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:  ## Remove .venv and what tools left; data and results stay.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

$(VENV)/bin/python $(VENV)/Scripts/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@
