# `make run` trains CartPole-v1, `make test` runs every test, `make check` runs the static checks, `make docs` builds the site.
# The first of them makes .venv and installs everything into it; later calls install again only when a pyproject.toml
# or constraints.txt has changed.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PROJECTS := core $(patsubst %/pyproject.toml,%,$(sort $(wildcard plugins/*/pyproject.toml)))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then echo $$python; break; fi; done)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt

# Its makers tell of the next version on every call.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.DELETE_ON_ERROR:
.PHONY: run test check docs install clean

run: install
	@$(BIN)/agents run --plugin ppo

test: install
	@$(BIN)/python -m pytest

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MKDOCS) --quiet

docs: install
	$(MKDOCS)
	@echo 'Open build/site/index.html, or: $(BIN)/mkdocs serve'

install: $(INSTALLED)

$(INSTALLED): constraints.txt pyproject.toml $(PROJECTS:%=%/pyproject.toml) | $(BIN)/python
	$(PIP) hatchling editables
	$(PIP) --no-build-isolation $(PROJECTS:%=--editable %) --editable '.[dev]'
	@touch $@

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.10 or newer found. Install one, or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed; $(PYTHON) is $$('$(PYTHON)' --version 2>&1)." >&2; exit 1; }
	@'$(PYTHON)' -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'Python could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
