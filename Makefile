# make run    create the environment and solve a problem: make run PROBLEM=examples/coin_toss.toml
# make test   create the environment; lint, types, the whole test suite
# make test-lowest  the same suite with the oldest versions that pyproject.toml allows
# make test-newest  the same suite with the newest versions there are, on PYTHON
# make sdist  build the source distribution and compare it with the files under version control
# make release  build sdist and wheel, try both in empty environments, and say what a person does next
# make docs   build the documentation site: docs/_build/html/index.html
# make bench  measure against peers, as ratios in one run

PYTHON  ?= python3
PROBLEM ?= coin_toss
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin

.PHONY: run test test-lowest test-newest sdist release lint docs browser bench clean

run: $(VENV)/.run
	$(BIN)/bap solve $(PROBLEM)

test: $(VENV)/.dev lint browser
	$(BIN)/python -m pytest -q -n $(WORKERS)

# the floors of pyproject.toml must be true: every dependency at its lowest, or at its newest, version
test-lowest: browser
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-lowest/bin/python tests/floors.py > .venv-lowest/floors.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-lowest/floors.txt -e '.[all,docs]' --group dev
	.venv-lowest/bin/python -m pytest -q -n $(WORKERS)

test-newest: browser
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[all,docs]' --group dev
	.venv-newest/bin/python -m pytest -q -n $(WORKERS)

sdist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --sdist --outdir dist .
	$(BIN)/python tests/sdist.py dist/*.tar.gz

release: sdist
	$(BIN)/python -m build --wheel --outdir dist .
	$(BIN)/python tests/release.py dist/*.whl dist/*.tar.gz

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

# every warning is an error; no page asks another host for anything
docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# the report is tested in a real browser; without one those tests are skipped
browser:
	@for name in chromium chromium-browser google-chrome chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium for the tests of the report"; \
		{ apt-get install -qq -y chromium || { apt-get update -qq && apt-get install -qq -y chromium; }; } >/dev/null 2>&1 \
			|| echo "chromium could not be installed: the browser tests will be skipped"; \
	else echo "no chromium or chrome found: install one (Debian: apt-get install chromium) to run the browser tests"; fi

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

# pip knows dependency groups since 25.1
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,docs]' --group dev
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist docs/_build *.egg-info .mypy_cache .ruff_cache .hypothesis
