# `make demo` and `make test` set everything up by themselves, in .venv, from package registries alone.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
# Debian's old pip would build seqeval without isolation, which fails.
PIP_OPTIONS := --quiet --disable-pip-version-check --use-pep517
PIP := $(BIN)/python -m pip install $(PIP_OPTIONS) -c constraints.txt
# Bytecode is kept, for tests start many processes that would compile all modules again.
OFFLINE := HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=
# Each worker takes a stretch of the tests, so that few fixtures are built twice, and steals from another at the end.
TESTS := $(OFFLINE) $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal

.PHONY: demo test torture mutation check format docs picture site chromium wordnet clean help

help:  ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/demo  ## Set up, find the best tagger for the shipped corpus in under five minutes, and write runs/demo/report.html
	$(BIN)/nersery grow example:train.conll --raw example:unlabelled.txt --test example:test.conll --minutes 4.5 --out runs/demo

test: .venv/dev chromium  ## Set up and run the tests, offline
	$(TESTS)

# Everything that `make test` skips runs here too: `make test` installs no Ray, ONNX, GLiNER or WordNet.
torture: .venv-torture/ready .venv-gliner/ready chromium wordnet  ## All tests, and hostile use: kills, full disks, hard scripts; 40 minutes
	$(OFFLINE) .venv-torture/bin/pytest -n auto --maxprocesses 4 -m "" -rs --hypothesis-profile torture
	$(OFFLINE) .venv-gliner/bin/pytest -rs tests/annotate/test_gliner.py tests/io/annotation_tools/test_real_tools.py

mutation: .venv-mutation/ready  ## Mutation testing: is there a failing test for each small change? MODULES=core.system.files tries its survivors again
	$(OFFLINE) .venv-mutation/bin/python -m tests.mutation $(MODULES)

check: .venv/dev  ## Format, lint, types, tests, doctests, generated documents: before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(TESTS)
	$(BIN)/python docs/generate.py --check

format: .venv/dev  ## Fix what tools can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev  ## Regenerate methods.md, recipes.md, commands.md and papers.md in docs/
	$(BIN)/python docs/generate.py

picture: .venv/dev chromium  ## Take the pictures of the report and of the review page, after make demo
	$(BIN)/python docs/screenshot.py runs/demo/report.html

site: .venv/dev  ## Build the documentation site in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean:  ## Remove the environment and all caches, but no runs
	rm -rf .venv .venv-torture .venv-gliner .venv-mutation mutants .mypy_cache .ruff_cache .pytest_cache

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

.venv-torture/ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv-torture
	.venv-torture/bin/python -m pip install $(PIP_OPTIONS) -c constraints.txt $(TORCH)
	.venv-torture/bin/python -m pip install $(PIP_OPTIONS) -c constraints.txt -e ".[bundled,multilingual,onnx,ray,dev]" "transformers[serving]"
	@touch $@

# tests/mutation.py reaches into mutmut, so its version is fixed.
.venv-mutation/ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python -m pip install $(PIP_OPTIONS) -c constraints.txt $(TORCH)
	.venv-mutation/bin/python -m pip install $(PIP_OPTIONS) -c constraints.txt -e ".[bundled,multilingual,dev]" mutmut==3.8.1
	@touch $@

# GLiNER and Label Studio want other versions than those in constraints.txt.
.venv-gliner/ready: pyproject.toml
	$(PYTHON) -m venv .venv-gliner
	.venv-gliner/bin/python -m pip install $(PIP_OPTIONS) $(TORCH)
	.venv-gliner/bin/python -m pip install $(PIP_OPTIONS) -e ".[gliner]" accelerate bratiaa hypothesis label-studio-sdk pytest
	@touch $@

# Some tests open pages in a browser, one reads Debian's WordNet. Without these packages they are skipped, by name.
chromium:
	@command -v chromium >/dev/null || $(call install,chromium,tests in a browser are skipped)

wordnet:
	@test -e /usr/share/wordnet || $(call install,wordnet-base,a test of WordNet is skipped)

install = { \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
	  command -v apt-get >/dev/null && $$SUDO apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive $$SUDO apt-get -qq install -y --no-install-recommends $(1) >/dev/null; \
	} || echo "note: no $(1) here and apt may not install it: $(2)"
