# Two commands set up a fresh machine with Python and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: demo test test-hosts lint bench fuzz changelog clean

demo: $(READY)
	$(BIN)/python demo/demo.py

test: $(READY)
	$(BIN)/python tools/ring.py --name test --minutes 25 -- \
		"$(BIN)/python tools/install_tools.py --lenient" \
		"$(BIN)/ruff check ." \
		"$(BIN)/ruff format --check ." \
		"$(BIN)/mypy" \
		"$(BIN)/python -m pytest -m 'not host'"

test-hosts: $(READY)
	$(BIN)/python tools/ring.py --name test-hosts --minutes 15 -- \
		"$(BIN)/python tools/install_hosts.py" \
		"$(BIN)/python -m pytest -m host tests/hosts"

lint: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/plugins.py
	$(BIN)/python benchmarks/loader.py
	$(BIN)/python benchmarks/routing.py
	$(BIN)/python benchmarks/tokens.py
	$(BIN)/python benchmarks/flush.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/shell.py
	$(BIN)/python benchmarks/facts.py --check
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/openclaw_shim.py
	$(BIN)/python benchmarks/openclaw_turn.py

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Nightly, not part of the tests: what it needs is installed by this target alone.
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "atheris>=3,<4"
	$(BIN)/python -m fuzz.run --seconds 60 --runs 500000
