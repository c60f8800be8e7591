# `make demo` and `make test` need Python 3.11 or newer, make and git; they do the rest.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
DEMO_READY = $(VENV)/.demo-ready
READY = $(VENV)/.ready
DOCS_READY = $(VENV)/.docs-ready
INTEROP = .venv-interop
INTEROP_READY = $(INTEROP)/.ready
INTEROP_BIN = $(INTEROP)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INTEROP_SECONDS ?= 900
WHEEL = .venv-wheel
WHEEL_BIN = $(WHEEL)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
WORKERS ?= 2
NUMBA ?= numba
SLOWER = $(addprefix --ignore=tests/claims/test_,trust.py threads.py own_kernel.py)
FAST = tests/claims tests/skeletons tests/graph tests/groups tests/models tests/test_tree.py $(SLOWER)

.PHONY: help demo test test-fast test-interop try-interop test-numba lint check check-slow format
.PHONY: docs picture benchmarks figures wheel try-wheel clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\): .*## */  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(DEMO_READY)   ## a model on which Gibbs fails and LMH does not, beside the exact answer
	$(BIN)/orbitmc demo

test: $(READY)   ## all tests that are not slow
	$(BIN)/python -m pytest -n $(WORKERS)

test-fast: $(READY)  ## what users are promised, and the core; under a minute
	$(BIN)/python -m pytest -n $(WORKERS) $(FAST)

test-interop: $(INTEROP_READY)  ## tests beside dimod, pgmpy, pyAgrum, networkx, xarray, ArviZ and dask
	$(INTEROP_BIN)/python -m pytest tests/interop

# the other libraries are large and need not be there: only tests that run and fail count
try-interop:
	@if timeout $(INTEROP_SECONDS) $(MAKE) --no-print-directory $(INTEROP_READY); \
	    then $(MAKE) --no-print-directory test-interop; \
	    else echo "the other libraries could not be installed: tests/interop was not run"; fi

test-numba: $(READY)  ## tests of compiled code with another Numba, say NUMBA="numba==0.61.*"
	$(BIN)/python -m pip install --quiet --upgrade $(NUMBA)
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow" tests/numba
	$(BIN)/python -m pytest -n $(WORKERS) tests/claims tests/golden tests/kernels

lint: $(READY)   ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## all a change must pass: format, lint, types, layers, tests

check-slow: $(READY)  ## long chains, big graphs, fifty kills
	$(BIN)/python -m pytest -m slow

format: $(READY)  ## put sources into their usual shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(DOCS_READY)  ## the documentation, in docs/_build
	$(BIN)/sphinx-build -q -W docs docs/_build
	@echo "open docs/_build/index.html"

picture: $(READY)  ## draw the pictures of the README and of the pages again
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/explanation/stuck_minority.py
	$(BIN)/python docs/explanation/architecture_picture.py
	$(BIN)/python docs/how-to/explore_picture.py

benchmarks: $(READY)  ## speed, accuracy, start-up and memory, beside peers; about three hours
	$(BIN)/python benchmarks/peers.py
	for name in gibbs_updates accuracy questions wide_networks stuck startup memory orbital_moves webkb_like symmetry_detection markov_logic webkb_learning never_worse trust; do $(BIN)/python benchmarks/$$name.py; done

figures: $(READY)  ## the experiments, in experiments/out; hours, or two minutes with QUICK=1
	for name in webkb osa_bias ising chimera blocks_table beside_peers; do \
	    $(BIN)/python experiments/$$name.py $(if $(QUICK),--quick) $(FIGURE_OPTIONS) || exit 1; \
	done
	$(BIN)/python experiments/uai_mar.py $(if $(QUICK),--quick)
	$(BIN)/python experiments/summary.py > experiments/out/summary.md

wheel: $(DEMO_READY)  ## sources and a wheel for all systems, in dist, as a package index accepts them
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

try-wheel: wheel  ## install the wheel into an empty environment, and answer questions with it
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL_BIN)/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd examples && ../$(WHEEL_BIN)/orbitmc infer sprinkler.bif -e grass=wet
	cd examples && ../$(WHEEL_BIN)/orbitmc infer ring.uai --method gibbs --samples 400

clean:           ## remove the environment and all that was made from sources
	rm -rf $(VENV) $(INTEROP) $(WHEEL) docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist

# only what the package itself needs
$(DEMO_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "orbitmc needs Python 3.11 or newer; say make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): $(DEMO_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group test
	@# pgmpy brings torch; the tests only read the networks that it ships
	$(BIN)/python -m pip install --quiet --no-deps "pgmpy==1.1.2" || \
	    echo "pgmpy could not be installed: its networks will not be tested"
	$(BIN)/python -m pip install --quiet --only-binary :all: "python-sat>=1.9.dev17" || \
	    echo "python-sat could not be installed: its use will not be tested"
	$(BIN)/python -m pip install --quiet --group browser || \
	    echo "playwright could not be installed: pages will not be clicked in a browser"
	@touch $@

# an environment of its own: these libraries are large, and the package must work without them
$(INTEROP_READY): pyproject.toml
	$(PYTHON) -m venv $(INTEROP)
	$(INTEROP_BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(INTEROP_BIN)/python -m pip install --quiet --prefer-binary --editable .
	$(INTEROP_BIN)/python -m pip install --quiet --only-binary :all: --group interop
	@touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@
