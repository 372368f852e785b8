# make demo: train on real data and predict.  make test: lint, types, all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: setup demo test lint types pytest clean

setup: $(VENV)/.setup

$(VENV)/.setup: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adasent needs Python 3.11 or newer; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[all]'
	@touch $@

$(VENV)/.setup-dev: $(VENV)/.setup
	$(PIP) --editable '.[dev]'
	@touch $@

demo: $(VENV)/.setup
	@$(BIN)/python examples/demo.py

test: lint types pytest

lint: $(VENV)/.setup-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.setup-dev
	$(BIN)/mypy

pytest: $(VENV)/.setup-dev
	$(BIN)/python -m pytest --cov --cov-fail-under=90

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache .coverage
