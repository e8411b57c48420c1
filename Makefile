# Two commands for a newcomer: `make demo` and `make test`.  `make help` lists the rest.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test lint format docs bench accuracy clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$*]'
	@touch $@

# Without the libraries of CUDA, which no test needs.  Where that index cannot be reached, torch comes
# with the rest, from wherever pip looks.
CPU_TORCH ?= https://download.pytorch.org/whl/cpu
TORCH := $(shell grep -om1 'torch==[0-9.]*' pyproject.toml)

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	-$(BIN)/python -m pip install --quiet --retries 1 --no-deps --extra-index-url $(CPU_TORCH) $(TORCH)
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $@

demo: $(VENV)/.installed  ## install, read the bundled recording, print the answer, write a page
	@mkdir -p demo-output
	$(BIN)/timesink demo -o demo-output/timesink-demo.html

test: $(VENV)/.installed-test  ## install what the tests need and run them all
	$(BIN)/python -m pytest --doctest-modules -n auto

lint: $(VENV)/.installed-lint  ## style, types, direction of imports, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate_tables.py --check
	$(BIN)/python docs/generate_analysis.py --check
	$(BIN)/python docs/generate_counters.py --check

format: $(VENV)/.installed-lint  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed  ## write pages and tables that come from the code
	$(BIN)/python docs/generate_tables.py
	$(BIN)/python docs/generate_analysis.py
	$(BIN)/python docs/generate_counters.py

bench: $(VENV)/.installed-bench  ## reading beside its floor, comparing beside the plain way
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/ncu.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/recordings.py

accuracy: $(VENV)/.installed-bench  ## diagnoses of recordings with known faults; writes a page
	$(BIN)/python benchmarks/diagnose.py --write

clean:  ## remove the environment and what the demo wrote
	rm -rf $(VENV) demo-output
