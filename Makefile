# make demo: train on real data and predict.  make test: lint, types, all tests.
# make coverage: the tests again, with the lines they reach.
# make reproduce: the page of the paper's tables and figures from the records in results/.
# make docs: the documentation as a site, in site/.
# make bench: measure on the CPU, draw, fill docs/speed.md.  make bench-gpu: measure with CUDA.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: setup demo test lint types pytest coverage docs reproduce bench bench-gpu clean

setup: $(VENV)/.setup

$(VENV)/.setup: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adasent needs Python 3.11 or newer; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[train,vectors,distill,tables,plots,serve]'
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
	$(BIN)/lint-imports

types: $(VENV)/.setup-dev
	$(BIN)/mypy

pytest: $(VENV)/.setup-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# By itself: kernels in Triton's interpreter are Python, and counting their lines takes longer than
# all tests do.
coverage: $(VENV)/.setup-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-fail-under=90

$(VENV)/.setup-docs: $(VENV)/.setup
	$(PIP) --editable '.[docs]'
	@touch $@

docs: $(VENV)/.setup-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site/index.html"

$(VENV)/.setup-reproduction: $(VENV)/.setup
	$(PIP) --editable '.[reproduction]'
	@touch $@

# To train and test instead: python -m reproduction run table2 --sets MR --systems adasent
reproduce: $(VENV)/.setup-reproduction
	$(BIN)/python -m reproduction report --readme README.md

$(VENV)/.setup-bench: $(VENV)/.setup
	$(PIP) --editable '.[bench]'
	@touch $@

bench: $(VENV)/.setup-bench
	$(BIN)/python benchmarks/run.py cpu
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/tables.py --write

# With our environment if there is one, else with the Python that has torch for this GPU: a machine
# without network has no other. OUT keeps what each step wrote and said; ADASENT_DATA names the data.
OUT ?= gpu-output
GPU_PYTHON ?= $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

bench-gpu:
	$(GPU_PYTHON) benchmarks/run.py gpu --out "$(OUT)" $(if $(VECTORS),--vectors "$(VECTORS)")

clean:
	rm -rf $(VENV) demo-output gpu-output site .pytest_cache .mypy_cache .ruff_cache .coverage
