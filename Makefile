# Two commands are all a stranger needs: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
# One more than cores: many tests wait for clusters, limits and agents, not for the processor.
WORKERS = $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)')
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(VENV)
export UV_PYTHON_DOWNLOADS := never

.PHONY: env demo check test bench soak lint types layers plane clean help

help:
	@echo "make demo   run the starter matrix on the embedded control plane"
	@echo "make test   lint, types, import layers and the whole test suite"
	@echo "make check  the inner loop: lint, types, layers, unit tests"
	@echo "make bench  figures beside their baselines; make soak: full seeded counts"

$(VENV)/.stamp: pyproject.toml uv.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv sync --quiet --locked --all-extras --inexact --python $(BIN)/python
	@touch $@

env: $(VENV)/.stamp

lint: env
	@$(BIN)/ruff check src tests bench
	@$(BIN)/ruff format --check src tests bench

types: env
	@$(BIN)/mypy

layers: env
	@$(BIN)/lint-imports --no-cache

check: lint types layers
	@$(BIN)/pytest -q -n auto tests -m "not kwok and not soak" --ignore=tests/e2e
	@$(BIN)/pytest -q --collect-only tests/e2e >/dev/null || $(BIN)/pytest -q --collect-only tests/e2e

# The binary first: many tests at once would all wait for its build.
plane: env
	@$(BIN)/devops-bench clusters install

test: lint types layers plane
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests -m "not soak"

soak: plane
	@$(BIN)/python -m pytest tests -m soak -n 1

bench: plane
	@$(BIN)/python -m bench

demo: env
	@$(BIN)/devops-bench demo

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis
