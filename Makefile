# Two commands on a fresh machine: `make run` and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup run test lint format benchmark mutation clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip<27'
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,peers]'
	touch $@

run: setup
	$(BIN)/breakeven run

test: setup
	$(BIN)/pytest -n 2 --dist loadfile

lint: setup
	$(BIN)/ruff check flows stages kernels tests
	$(BIN)/ruff format --check flows stages kernels tests
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix flows stages kernels tests
	$(BIN)/ruff format flows stages kernels tests

# More peers than the tests need; ARGS='--quick' or ARGS='connected_components --only 256x256'.
benchmark: setup
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,peers,benchmark]'
	$(BIN)/python -m kernels.benchmark $(ARGS)

# Every planted fault, and twenty seeds of the correct operators: hours; ARGS='--only wdice'.
mutation: setup
	$(BIN)/python tests/mutation --seeds 20 --journal reports/mutation.jsonl \
		--table tests/mutation/kill_table.md $(ARGS)

clean:
	rm -rf reports .breakeven .mypy_cache .ruff_cache .pytest_cache .hypothesis
