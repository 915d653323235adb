# make run    create the environment and solve a problem: make run PROBLEM=examples/coin_toss.toml
# make test   create the environment; lint, types, the whole test suite
# make bench  measure against peers, as ratios in one run

PYTHON  ?= python3
PROBLEM ?= coin_toss
VENV    := .venv
BIN     := $(VENV)/bin

.PHONY: run test lint bench clean

run: $(VENV)/.run
	$(BIN)/bap solve $(PROBLEM)

test: $(VENV)/.dev lint
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
