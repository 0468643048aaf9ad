# `make run` fits GCMF on real data, `make test` runs the tests; both create .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
endif
# Cores that a job may use, by affinity, control group or batch system: not those of the machine.
CORES = $(or $(shell $(PYTHON) transferbench/runs/machine.py),auto)
# Processes of the tests: one for each core, so one thread in each.
WORKERS ?= $(CORES)
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS
# Runs at the same time: one for each core.
JOBS ?= $(CORES)
# Folder of results of `make reproduce-all`; those in results/ are the committed ones.
REPRODUCED ?= reproduced
# Extras for `make test`; browser adds the tests of the report.
EXTRAS ?= test
# Versions to install: the locked ones; if empty, the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
# Folders and files for `make test`; by default all. NEWEST: what depends most on other libraries,
# such as readers, tables, estimators and models; not our own rules.
TESTS ?=
NEWEST := tests/test_strict_yaml.py tests/experiments/test_experiment.py tests/data \
	$(patsubst %,tests/own/test_%.py,comparison_page corpus dialects estimators predictions read \
	topics vectors) tests/models/test_model_contract.py tests/docs/test_reference.py
COMMA := ,
TESTED := $(VENV)/.installed-$(subst $(COMMA),-,$(EXTRAS))
# `make bench`: the folder of its results in benchmarks/results/, and options of `asv run`.
MACHINE ?= local
BENCH ?=
# What `make docs` needs: installed with the tests' if EXTRAS names it.
DOCUMENTED := $(if $(filter docs,$(subst $(COMMA), ,$(EXTRAS))),$(TESTED),$(VENV)/.installed-docs)

# Modules are compiled when they are first imported: most never are. Where the variable forbids that,
# each process would compile them again.
COMPILED := $(if $(PYTHONDONTWRITEBYTECODE),--compile,--no-compile)
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check -q $(COMPILED) \
	$(addprefix -c ,$(CONSTRAINTS))

.DEFAULT_GOAL := help
.PHONY: help install run test test-newest test-slow check tables verify restamp topics report docs reproduce-all bench soak constraints clean

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /	/' | expand -t 16

install: $(TESTED)  ## Install into .venv, with what the tests need.

run: $(VENV)/.installed  ## Fit GCMF on 20 Newsgroups, comp against rec.
	$(BIN)/transferbench run comp-vs-rec --model gcmf

test: $(TESTED)  ## Run the quick tests.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(TESTS)

test-newest:  ## Run a part of the quick tests with the newest versions that pyproject.toml allows.
	rm -rf $(VENV)/newest
	$(MAKE) test VENV=$(VENV)/newest CONSTRAINTS= EXTRAS=test TESTS="$(NEWEST)"

test-slow: $(TESTED)  ## Run the slow tests: wheel, browser, engines, kills, embeddings, documentation.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

check: $(TESTED)  ## Check format, lint, types, docstrings and experiment files.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tests/docstrings.py
	$(BIN)/python tests/experiment_files.py

tables: $(VENV)/.installed  ## Fail if a committed table does not follow from the runs.
	$(BIN)/transferbench tables --check

verify: $(VENV)/.installed  ## Repeat every model's quickest committed run and compare.
	$(BIN)/transferbench verify --jobs $(JOBS)

restamp: $(VENV)/.installed  ## Prove that code since the commit BASE gives equal results; finished runs then stay current.
	$(BIN)/transferbench verify --base $(or $(BASE),$(error name a commit: make restamp BASE=HEAD~1))

topics: $(VENV)/.installed  ## Write the topics of comp-vs-rec by each factorisation into results/topics/.
	for model in cd-plsa cocc dkt dtl gcmf hidc mrtl mtrick nmf tritl; do \
		$(BIN)/transferbench topics $$model comp-vs-rec --csv results/topics/$$model.csv >/dev/null || exit; done

report: $(VENV)/.installed  ## Write every result as a page: results/report/index.html.
	$(BIN)/transferbench report

docs: $(DOCUMENTED)  ## Build the documentation site, docs/_build/html/index.html. RUN=1: run the tutorials' cells first.
	$(if $(RUN),$(BIN)/python docs/_ext/outputs.py || failed=1;) \
		$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html && test -z "$$failed"

reproduce-all: $(VENV)/.installed  ## Run every experiment anew, into reproduced/; goes on where it was stopped. REPEATS=1: a quick look.
	$(BIN)/transferbench --results $(REPRODUCED) reproduce --all $(if $(REPEATS),--repeats $(REPEATS)) --jobs $(JOBS)

bench: $(VENV)/.installed-bench  ## Measure speed and memory against scikit-learn. MACHINE=reference: keep the results.
	$(BIN)/python benchmarks/run.py --machine $(MACHINE) $(BENCH)

soak: $(VENV)/.installed  ## Kill reproductions at random moments for a minute; nothing may be lost.
	$(BIN)/python tests/soak.py

constraints: $(BIN)/python  ## Write the newest versions that fit every system and Python, with all extras.
	$(BIN)/python -m pip install --disable-pip-version-check -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --all-extras --upgrade \
		--no-header --no-annotate pyproject.toml -o constraints.txt

clean:  ## Remove .venv and caches of tools; keep data and results.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build docs/_build

$(VENV)/bin/python $(VENV)/Scripts/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing transferbench and its libraries into $(VENV), once"
	@start=$$(date +%s); $(INSTALL) -e . && echo "Installed in $$(($$(date +%s) - start)) s"
	@touch $@

$(TESTED): $(VENV)/.installed
	@echo "Installing what the tests need, once"
	@start=$$(date +%s); $(INSTALL) -e '.[$(EXTRAS)]' && echo "Installed in $$(($$(date +%s) - start)) s"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "Installing what the documentation needs, once"
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "Installing what the benchmarks need, once"
	$(INSTALL) -e '.[bench]'
	@touch $@
