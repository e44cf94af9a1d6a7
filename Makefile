# `make` lists what there is. Everything is installed into folders below this one.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
SERVERS := .venv-mcp-servers
NODE_SERVERS := tests/servers/node_modules
DEMO := docs/examples/handbook/agent.yaml
QUESTION ?= What is the refund policy?
PYTEST := -m pytest -n 2 --dist loadfile
# Left out with the oldest versions, for CI's time: what is ours alone, and what depends least on
# a version. `make test-oldest LEFT_OUT=` leaves nothing out.
LEFT_OUT := docs planted cli/test_chat.py cli/test_index.py cli/test_offline.py cli/test_run.py \
	cli/test_stored_chats.py e2e/test_auth_providers.py e2e/test_event_loops.py e2e/test_memory.py \
	e2e/test_model_settings.py e2e/test_renewal.py e2e/test_restarted_sessions.py \
	e2e/test_resumed_sessions.py e2e/test_store_faults.py e2e/test_subagents.py \
	e2e/test_third_party_plugin.py e2e/test_warm_clients.py faults/test_cancel.py \
	faults/test_cloud_logins.py faults/test_commands.py faults/test_full_disks.py \
	faults/test_native_servers.py faults/test_parts.py faults/test_program_turns.py \
	faults/test_scale.py faults/test_tools.py retrieval/test_chunking.py \
	retrieval/test_hostile_documents.py retrieval/test_processes.py retrieval/test_quality.py \
	tools/mcp/test_network.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo servers test test-newest test-oldest test-unit fuzz faults faults-page lint \
	lint-fix format type-check security bench memory lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/installed ## Index a document folder and ask it a question, offline, through Claude Code
	@$(BIN)/holodeck-claude run $(DEMO) "$(QUESTION)" --offline

test: lint type-check test-newest test-oldest ## Every check that CI runs

test-newest: $(VENV)/installed servers ## The tests on the newest versions, as locked in constraints/newest.txt
	$(BIN)/python $(PYTEST)

test-oldest: $(OLDEST)/installed servers ## What libraries take part in, on the oldest versions allowed
	$(OLDEST)/bin/python $(PYTEST) $(addprefix --ignore tests/,$(LEFT_OUT))

test-unit: $(VENV)/installed servers ## The tests that start no Claude Code process
	$(BIN)/python $(PYTEST) --ignore tests/e2e

servers: $(SERVERS)/installed $(NODE_SERVERS)/installed ## MCP servers and a Chroma server, for the tests

fuzz: $(VENV)/installed ## Random command lines, let through here and run by bash, for five minutes
	$(BIN)/python -m tests.claude.permissions.fuzz_command_lines 300 $$(date +%s)

faults: $(VENV)/installed ## Provoke everything that is known to go wrong, and print what comes of it
	@$(BIN)/python -m tests.faults

faults-page: $(VENV)/installed ## Write the table of docs/reference/faults.md
	@$(BIN)/python -m tests.faults --page

lint: $(VENV)/installed ## Style, formatting and security rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-fix: $(VENV)/installed ## Mend what can be mended by itself
	$(BIN)/ruff check --fix .

format: $(VENV)/installed ## Format the code
	$(BIN)/ruff format .

type-check: $(VENV)/installed ## mypy, strict
	$(BIN)/mypy

security: $(VENV)/installed ## The security rules alone
	$(BIN)/ruff check --select S holodeck_backend_claude

bench: $(VENV)/installed ## Every measured claim, each beside its baseline
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

memory: $(VENV)/installed ## Memory after 50 turns and after 550, and after as many conversations
	@$(BIN)/python benchmarks/memory.py; turns=$$?; \
	$(BIN)/python benchmarks/memory.py --way calls && exit $$turns

lock: ## Move constraints/newest.txt to the newest versions there are
	rm -rf $(VENV)
	$(MAKE) $(VENV)/installed CONSTRAINTS=
	$(BIN)/pip freeze --exclude-editable | grep -v '@ file' > constraints/newest.txt

clean: ## Remove what was installed and built here
	rm -rf $(VENV) $(OLDEST) $(SERVERS) $(NODE_SERVERS) dist build .mypy_cache .ruff_cache .pytest_cache

CONSTRAINTS := -c constraints/newest.txt

$(VENV)/installed: pyproject.toml constraints/newest.txt
	$(call install,$(VENV),$(CONSTRAINTS))

$(OLDEST)/installed: pyproject.toml constraints/oldest.txt
	$(call install,$(OLDEST),-c constraints/oldest.txt)

$(SERVERS)/installed: tests/servers/requirements.txt
	@$(PYTHON) -m venv $(SERVERS)
	@$(SERVERS)/bin/pip install --quiet --requirement $<
	@$(SERVERS)/bin/pip install --quiet --no-deps chromadb==1.5.9  # its server needs none of them
	@touch $@

$(NODE_SERVERS)/installed: tests/servers/package.json tests/servers/package-lock.json
	@command -v npm >/dev/null || { echo "Node.js with npm is needed for the tests" >&2; exit 1; }
	@cd tests/servers && npm ci --no-fund --no-audit --loglevel=error --omit-lockfile-registry-resolved
	@touch $@

define install
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; set PYTHON=..." >&2; exit 1; }
	@echo "Installing into $(1) (this downloads the Claude Code program once) ..."
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/pip install --quiet 'pip>=25.1'
	@$(1)/bin/pip install --quiet --editable '.[documents,local,otel,postgres,qdrant,faiss]' --group dev $(2)
	@touch $@
endef
