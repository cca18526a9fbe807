# make demo: from nothing to a trained model, its BLEU and an alignment matrix.   make test, make check, make clean.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := runs/demo
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -c constraints.txt

.PHONY: install demo test check clean

install: $(VENV)/with-tools

# Stamps, so that nothing is installed again until what is to be installed changes.
$(VENV)/with-nmt: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "make: $(PYTHON) is missing or older than Python 3.11; say which to use: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV): PyTorch and what else is needed, for a minute or two ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/with-tools: $(VENV)/with-nmt
	@echo "Setting up $(VENV): the tools for tests and checks ..."
	@$(PIP) -e '.[dev]'
	@touch $@

demo: $(VENV)/with-nmt
	@$(BIN)/nmt-train run_dir=$(DEMO) overwrite=true
	@echo; $(BIN)/nmt-evaluate run=$(DEMO) split=test
	@echo; $(BIN)/nmt-align run=$(DEMO) text="I love you." translation="je t'aime."
	@$(BIN)/nmt-align run=$(DEMO) text="I love you." translation="je t'aime." output=$(DEMO)/i-love-you.png
	@echo
	@echo "The run directory is $(DEMO); the matrix as a picture is $(DEMO)/i-love-you.png. Try next:"
	@echo "  $(BIN)/nmt-translate run=$(DEMO) text=\"she wants to see them.\""
	@echo "  $(BIN)/nmt-align run=$(DEMO) text=\"do you know the old man?\""
	@echo "  $(BIN)/nmt-train attention=local_p"

test: $(VENV)/with-tools
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

check: $(VENV)/with-tools
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
