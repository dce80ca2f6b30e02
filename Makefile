# The commands of this project; each works in a fresh checkout. `make` alone lists them.

export UV_PYTHON_DOWNLOADS := never

# Some machines give a build no home; caches then live beside the checkout.
ifeq ($(HOME),)
export HOME := $(CURDIR)/.cache/home
endif

BIN := .venv/bin
PYTHON_FILES := $(wildcard studio api_client tests e2e bench scripts/vendor)
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help run test test-real-model test-phoenix test-otlp lint format bench vendor lock clean

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; \
		do printf '  make %-15s %s\n' "$$name" "$$text"; done

run: ## set up, then start the studio on this machine and print the link to sign in
	@scripts/setup run
	@scripts/setup-sandbox
	@exec $(BIN)/studio up $(ARGS)

test: ## set up, then lint, tests and browser tests
	@scripts/setup dev
	@scripts/setup-test
	@scripts/test

test-real-model: ## a real, tiny model answers on this machine (brings 200 MB of packages)
	@scripts/setup dev
	@scripts/test-real-model

test-phoenix: ## a real Phoenix takes our spans and shows the same tree (brings 850 MB of packages)
	@scripts/setup dev
	@scripts/test-phoenix

test-otlp: ## agents of other frameworks send their spans here (brings 130 MB of packages)
	@scripts/setup dev
	@scripts/test-otlp

lint: ## format, rules, types and templates, checked
	@scripts/setup dev
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/mypy $(wildcard studio api_client)
	$(if $(wildcard templates),$(BIN)/djlint --lint --quiet templates)

format: ## format the code and mend what can be mended
	@scripts/setup dev
	$(BIN)/ruff format $(PYTHON_FILES)
	$(BIN)/ruff check --fix $(PYTHON_FILES)

bench: ## measure speed, size and memory
	@scripts/setup dev
	@exec $(BIN)/python -m bench $(ARGS)

vendor: ## fetch the front end's files anew (by hand, after changing a version in scripts/vendor)
	@scripts/vendor

lock: ## pin the dependencies of pyproject.toml anew (UPGRADE=--upgrade for newer ones)
	@scripts/setup dev
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) --extra dev pyproject.toml -o requirements/dev.txt
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) -c requirements/dev.txt pyproject.toml -o requirements/run.txt
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) --group tools -o requirements/tools.txt
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) --no-deps tests/real_model/requirements.in -o tests/real_model/requirements.txt
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) tests/phoenix/requirements.in -o tests/phoenix/requirements.txt
	PATH="$(CURDIR)/.uv/bin:$$PATH" $(COMPILE) tests/otlp/requirements.in -o tests/otlp/requirements.txt

clean: ## remove what these commands made; the studio's data stays
	rm -rf .venv .uv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist .coverage*
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
