# Needs make and Python 3.11 or newer, nothing else. Every target builds .venv first and
# rebuilds it only when the lock or pyproject.toml changes.

PYTHON ?= python3
WORKERS ?= 2
UV_VERSION := 0.13.8

BIN := .venv/bin
STAMP := .venv/.ready
SHELL := /bin/bash
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-quick acceptance check fix bench bench-quality docs arch release-check lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): requirements/dev.txt pyproject.toml
	@echo "== setup: .venv from $(PYTHON), with the pinned tools of requirements/dev.txt"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Recollect needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(STAMP) ## make .venv with the pinned tools and the package in editable mode
	@echo "== ready: $$($(BIN)/python --version), recollect $$($(BIN)/python -c 'import importlib.metadata as m; print(m.version("recollect"))')"

demo: $(STAMP) ## play the story of examples/story.py: no key, no server
	@echo "== demo: examples/story.py"
	@$(BIN)/python examples/story.py

test: $(STAMP) ## the whole test suite
	@echo "== test: everything, on $(WORKERS) workers"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-quick: $(STAMP) ## the tests that are not marked slow, in under a minute
	@echo "== test: without the slow ones"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow"

acceptance: $(STAMP) ## the table of acceptance items and promises, each with its tests
	@echo "== acceptance: every item with the tests that prove it"
	@$(BIN)/python tools/acceptance.py

check: $(STAMP) ## format, lint, types, import rules, size gates, generated files
	@echo "== check: format"
	@$(BIN)/ruff format --check --quiet .
	@echo "== check: lint"
	@$(BIN)/ruff check --quiet .
	@echo "== check: types, by mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "== check: types, by basedpyright"
	@$(BIN)/basedpyright
	@echo "== check: import rules"
	@$(BIN)/lint-imports --no-cache --no-logo
	@echo "== check: sizes, cycles, broad excepts, SQL"
	@$(BIN)/python tools/gates.py
	@echo "== check: generated files"
	@for tool in $(wildcard tools/gen_sync.py) tools/docs.py; do $(BIN)/python $$tool --check || exit 1; done

fix: $(STAMP) ## format, fix what can be fixed, write the generated files anew
	@echo "== fix: lint and format"
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .
	@echo "== fix: generated files"
	@for tool in $(wildcard tools/gen_sync.py) tools/docs.py; do $(BIN)/python $$tool || exit 1; done

bench: $(STAMP) ## measure; prints ratios, writes JSON and Markdown
	@echo "== bench"
	@$(BIN)/python -m bench

bench-quality: $(STAMP) ## measure how well it recalls: make bench-quality DATA=folder
	@test -n "$(DATA)" || { echo "say where the data is: make bench-quality DATA=folder"; exit 1; }
	@echo "== bench-quality: $(DATA), results in build/quality"
	@mkdir -p build/quality
	@$(BIN)/recollect bench "$(DATA)" --folds --ablate --json build/quality/results.json \
	  --markdown build/quality/results.md --plot build/quality/results.svg

docs: $(STAMP) ## write the generated reference pages anew
	@echo "== docs: docs/reference from the source"
	@$(BIN)/python tools/docs.py

arch: $(STAMP) ## draw docs/explanation/architecture.svg from the real imports
	@echo "== arch: docs/explanation/architecture.svg"
	@$(BIN)/python tools/arch.py

release-check: $(STAMP) ## build, install the wheel alone, run the tutorial with it
	@echo "== release-check: build, install the wheel alone, run README and tutorial"
	@$(BIN)/python tools/release_check.py

lock: $(STAMP) ## resolve the newest allowed versions into requirements/dev.txt
	@echo "== lock: requirements/dev.txt"
	@test -x .venv/lock/bin/uv || { $(PYTHON) -m venv .venv/lock && \
	  .venv/lock/bin/python -m pip install --quiet uv==$(UV_VERSION); }
	@.venv/lock/bin/uv pip compile pyproject.toml --all-extras --group dev --universal --upgrade \
	  --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock" --quiet --output-file requirements/dev.txt

clean: ## remove .venv and everything that was built
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache \
	  .coverage .coverage.* htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
