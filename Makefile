# Everything a checkout needs, from set-up to the picture. `make help` lists the targets.
#
# Set-up is done by scripts that end at once when there is nothing to do, so every target asks for
# it and a second run starts in seconds. PYTHON=/path/to/python chooses the interpreter, VENV=folder
# another environment, ARGS="..." is handed to pytest.

VENV := .venv
PYTHON :=
EXTRAS := mujoco,app,gym,dev
ARGS :=
# Tests wait for programs and windows most of the time: three at once fill two cores.
WORKERS := 3
BIN := $(VENV)/bin
# Where images of machines set this, each of the hundreds of processes compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE
ON_DISPLAY := $(BIN)/python packaging/with_display.py
PYTEST := $(ON_DISPLAY) $(BIN)/pytest

.DEFAULT_GOAL := help
.PHONY: help setup check demo test test-all pictures bench soak fuzz clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: ## Virtual environment, system packages, robot models for tests
	@python=$$(PYTHON="$(PYTHON)" sh packaging/choose_python.sh) && \
	sh packaging/system_packages.sh "$$python"
	@sh packaging/venv.sh "$(VENV)" "$(PYTHON)" "$(EXTRAS)"
	@sh packaging/typeroot.sh
	@[ "$(MAKECMDGOALS)" != setup ] || echo "Ready: make demo, or . $(BIN)/activate and then stroboscope run your_script.py"

demo: setup ## Open the window with the cross-thread demo (no display: leaves demo.png)
	@$(BIN)/python packaging/demo.py

check: setup ## Format, lint, layers, types
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports
	$(BIN)/mypy .typeroot/stroboscope

test: check ## All checks, then the tests, the window's too (under Xvfb)
	@$(BIN)/python packaging/fetch_robots.py
	@sh packaging/mcap_core.sh
	@STROBOSCOPE_TEST_SECONDS=420 $(PYTEST) -m "not slow" -n $(WORKERS) --dist load $(ARGS)

test-all: setup ## The tests on every Python from 3.11 to 3.13 found, and on MuJoCo 3
	@sh packaging/test_all.sh "$(VENV)" $(ARGS)

pictures: setup ## Pictures of the window in all its states, into pictures/; the README's film
	@$(ON_DISPLAY) $(BIN)/python packaging/pictures.py
	@$(BIN)/python packaging/film.py

bench: setup ## The benchmarks of docs/benchmarks.md, as one table
	@$(ON_DISPLAY) $(BIN)/python benchmarks/run_all.py

soak: setup ## The tests that take long
	@$(BIN)/python packaging/fetch_robots.py
	@$(PYTEST) -m "slow or late" --timeout 1800 $(ARGS)

fuzz: setup ## The fuzz tests with ten million inputs (about half an hour)
	@STROBOSCOPE_FUZZ_FACTOR=250 $(BIN)/pytest -k "fuzz or mutated" --timeout 10800 $(ARGS)

clean: ## Remove everything that make made
	rm -rf .venv .venv-3.11 .venv-3.12 .venv-3.13 .venv-mujoco3 .typeroot .cache build dist
	rm -rf *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf pictures demo.png MUJOCO_LOG.TXT
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
