.DEFAULT_GOAL := help
SHELL := /bin/bash
# Images of Python like to set it. Then each of the tests' thousand processes would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?=
STORE ?=
STREAMS ?=
BIN := .venv/bin
# spark-submit and what it needs, found first.
RUN := PATH="$(CURDIR)/$(BIN):$$PATH" scripts/with_java.sh
# What computes runs two at once, test by test.
TWO_AT_ONCE := -n 2 --dist worksteal
# What starts processes mostly waits for them: three at once, a file in one process, so that its engines start once.
THREE_AT_ONCE := -n 3 --dist loadfile --no-loadscope-reorder
FAST := not (slow or postgres or spark or system or dynamodb or kafka or kinesis or opensearch)
# What runs two at once; all else is collected by those that run three at once. conftest.py refuses a slow test in tests/unit.
BY_TEST := tests/unit tests/conformance
# What promises seconds, beside what does not: before all who only compute; conftest.py refuses such a test elsewhere.
TIMED := tests/system tests/browser/test_large.py tests/processes tests/merging/test_postgresql.py tests/branching/test_postgresql.py tests/integration/dynamodb/test_processes.py tests/integration/spark_faults/test_stopped.py tests/integration/balance/test_figures.py

.PHONY: help
help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/ready: requirements/dev.txt requirements/uv.txt pyproject.toml scripts/make_venv.sh
	@PYTHON=$(PYTHON) scripts/make_venv.sh

.PHONY: demo
demo: .venv/ready ## Watch real flights go through Airflow and Spark (STORE=dynamodb or postgresql+psycopg://… for another store, STREAMS=1 for Kinesis, too)
	@scripts/system_packages.sh java
	@DEMO_STREAMS=$(STREAMS) $(RUN) python scripts/demo.py $(STORE)

# CI leaves out what shows once more, or for longer, what it has shown: `make test-all` does not.
SHORT := and not long
TRIED := --changed
SHARE := 0.1
SECONDS := 15
# What computes gives way to what promises seconds.
GIVING_WAY := nice -n 19
# What runs when nobody else wants a processor, where the system knows that.
IDLE := $(if $(shell command -v chrt),chrt --idle 0) $(GIVING_WAY)
# By this name, so that `make -n test` says what would be done and begins none of it.
AGAIN := $(MAKE) --no-print-directory

.PHONY: test
test: ## Everything that CI runs
	@$(MAKE) --no-print-directory -j 2 --output-sync=target .venv/ready packages
	@mkdir -p .work; echo "The mutants are tried beside the following, in idle moments only (.work/mutants.log)"; \
	$(IDLE) $(BIN)/python -m tests.mutants $(TRIED) >.work/mutants.log 2>&1 & mutants=$$!; \
	$(AGAIN) -j 6 --output-sync=target test-by-test test-timed lint test-without-airflow || { kill $$mutants; exit 1; }; \
	$(AGAIN) test-by-file; code=$$?; \
	wait $$mutants || code=1; cat .work/mutants.log; exit $$code

.PHONY: test-all
test-all: ## Everything there is but `make proof`: also every mutant, moto, both demos, two million simulated calls
	@$(MAKE) test SHORT= TRIED= SHARE=1 SECONDS=

# What pip cannot install, while uv installs what it can.
.PHONY: packages
packages:
	@scripts/system_packages.sh java postgresql pgbouncer chromium

# Side by side in `make test`, beside the tests that want none but the first: most of them wait for the network.
.PHONY: engines servers dynamodb-local jars npm archive
engines: jars npm archive .work/site/ready

servers:
	@scripts/system_packages.sh java postgresql pgbouncer

dynamodb-local: .venv/ready
	@scripts/system_packages.sh java postgresql
	@$(BIN)/python scripts/java_packages.py dynamodb-local

jars: dynamodb-local servers
	@$(BIN)/python scripts/java_packages.py hadoop-aws kafka opensearch spark-kafka $(if $(SHORT),,yarn)

npm: .venv/ready
	@$(BIN)/python scripts/npm_packages.py kinesis

archive: .venv/ready servers
	@$(RUN) python scripts/spark_archive.py

# The plus lets its progress be seen as it is made, while the others' output comes whole.
.PHONY: test-by-test
test-by-test: dynamodb-local
	+$(RUN) $(GIVING_WAY) python -m pytest $(TWO_AT_ONCE) -m "not timed $(SHORT)" $(BY_TEST)

.PHONY: test-timed
test-timed: engines
	COORDINATION_TEST_SHARE=$(SHARE) COORDINATION_FAULT_SECONDS=$(SECONDS) $(RUN) python -m pytest $(TIMED) -m "timed $(SHORT)"

.PHONY: test-by-file
test-by-file: .venv/ready
	COORDINATION_TEST_SHARE=$(SHARE) $(RUN) python -m pytest $(THREE_AT_ONCE) $(BY_TEST:%=--ignore %) -m "not timed $(SHORT)"

.PHONY: mutants
mutants: .venv/ready ## Break the code in every way of a list, and see that the suite catches each (ONLY=name for one, ONLY=plain.supply for all of a plain module)
	@scripts/system_packages.sh postgresql
	$(BIN)/python -m tests.mutants$(if $(filter plain.%,$(ONLY)),.plain $(ONLY:plain.%=%),$(if $(ONLY), --only "$(ONLY)"))

.PHONY: test-system
test-system: SHORT := $(if $(WRITE_DOCS),,$(SHORT))
test-system: engines ## Its part with a real Airflow: kill tasks, drivers and triggerers, run the demo (WRITE_DOCS=1 writes docs/reference/kills.md)
	$(RUN) python -m pytest -m "system $(SHORT)" --capture=no tests/system

.PHONY: test-browser
test-browser: .venv/ready ## Look at the board in a real Airflow with Debian's chromium (WRITE_PICTURES=folder keeps what it saw)
	@scripts/system_packages.sh chromium postgresql
	$(BIN)/python -m pytest -s tests/browser

.work/compose/ready: requirements/compose.txt | .venv/ready
	@$(BIN)/python -m venv --clear --without-pip .work/compose/venv
	@VIRTUAL_ENV="$(CURDIR)/.work/compose/venv" $(BIN)/uv pip install --quiet --require-hashes -r requirements/compose.txt
	@touch $@

.PHONY: compose-check
compose-check: .work/compose/ready ## Run docker-compose.yaml whole by podman, as root: the example DAG, the board, down and up again
	@scripts/system_packages.sh java podman
	@$(RUN) python -m scripts.containers.compose_check

.PHONY: three-hosts
three-hosts: .venv/ready ## Drain by Spark on three hosts in containers, as root, and take one away in the middle
	@scripts/system_packages.sh java podman
	@$(RUN) python -m scripts.containers.three_hosts

.PHONY: test-without-airflow
test-without-airflow: .venv/ready ## Drain a partition where only the wheel and pyspark are installed
	@scripts/system_packages.sh java
	scripts/without_airflow.sh

# Rooms, the tree, the pages, the model's traces, the kit in memory and on SQLite; all else is for `make test`.
WHILE_WRITING := tests/unit tests/conformance tests/house tests/docs tests/packaging tests/site tests/model tests/mutants

.PHONY: test-fast
test-fast: .venv/ready .work/javascript/ready ## What can be tested in 90 seconds: lint, and what needs no engine, moto or Airflow process
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint test-while-writing

.PHONY: test-while-writing
test-while-writing: .venv/ready
	$(BIN)/python -m pytest $(TWO_AT_ONCE) -m "$(FAST) and not long" $(WHILE_WRITING)

SEED ?= 0

.PHONY: test-noise
test-noise: dynamodb-local ## Hold threads up at random while tests run: those that fail once in a hundred landings fail (ONLY=tests/unit/spark, SEED=7)
	COORDINATION_TEST_NOISE=$(SEED) $(RUN) python -m pytest -p tests.noise $(TWO_AT_ONCE) -m "not timed $(SHORT)" $(or $(ONLY),$(BY_TEST))

CELL ?=

.PHONY: matrix
matrix: .venv/ready ## Try other Airflows, Pythons and Sparks, each in an environment made from nothing, going on where it ended (CELL=airflow3.2-py3.14 for one)
	@scripts/system_packages.sh java
	$(RUN) python -m tests.matrix $(if $(CELL),--cell $(CELL))

MINUTES ?= 30

.PHONY: proof
proof: SHORT :=
proof: engines ## Try whole what CI tries in part, break what can be broken for MINUTES (default 30), go on where the last time ended, and write docs/reliability.md
	@scripts/system_packages.sh chromium
	$(RUN) python -m tests.proof --minutes $(MINUTES)

.PHONY: model
model: .venv/ready ## Explore the lease protocol's model within wide bounds, for MINUTES (default 30)
	$(BIN)/python -m tests.model --minutes $(MINUTES)

NAME ?=
QUICK ?=

.work/peers/ready: requirements/bench.txt requirements/iceberg.txt scripts/make_peers.sh | .venv/ready
	@scripts/make_peers.sh

.PHONY: bench
bench: .venv/ready .work/peers/ready ## Measure us beside our peers and write docs/benchmarks.md (NAME=postgresql for one, QUICK=1 only counts)
	@scripts/system_packages.sh java postgresql
	@$(BIN)/python scripts/java_packages.py delta dynamodb-local iceberg postgres-jdbc
	@$(RUN) python -m benchmarks $(NAME) $(if $(QUICK),--quick)

# The compiler lies beside the engines, as its lock says; Node and npm come with the requirements.
.work/javascript/ready: tests/javascript/package.json tests/javascript/package-lock.json | .venv/ready
	@mkdir -p $(@D) && cp tests/javascript/package.json tests/javascript/package-lock.json $(@D)
	@cd -P $(@D) && "$(CURDIR)/$(BIN)/npm" ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: lint
lint: .venv/ready .work/javascript/ready ## Style, types (the page's modules, too), the walls between the rooms, how large files are, what is pinned and needs no engine, and the site's navigation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/node .work/javascript/node_modules/typescript/bin/tsc -p tests/javascript
	$(BIN)/python scripts/accept.py --check
	$(BIN)/python -m pytest -q --no-header tests/site/test_nav.py tests/house/test_imports.py

.PHONY: accept
accept: dynamodb-local ## Write everything that is pinned (what is sent, the API's document, pages made from the code), and show what differs
	@$(RUN) python scripts/accept.py

# An environment of its own: what builds the site is none of what we run on.
.work/site/ready: requirements/docs.txt scripts/npm/site/package-lock.json | .venv/ready
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .work/site/venv
	@$(BIN)/uv pip install --quiet --require-hashes --python .work/site/venv/bin/python -r requirements/docs.txt
	@$(BIN)/python scripts/npm_packages.py site
	@touch $@

.PHONY: pages
pages: .venv/ready
	@$(BIN)/python scripts/docs_build.py

MKDOCS := NO_MKDOCS_2_WARNING=1 .work/site/venv/bin/mkdocs

.PHONY: docs
docs: pages .work/site/ready ## Build the site of docs/, the Python reference and the promises with their tests in it
	@$(MKDOCS) build --quiet && echo "built: .work/site/html/index.html"

.PHONY: docs-serve
docs-serve: pages .work/site/ready ## Show the site at an address of this machine, and again whenever a page changes
	@$(MKDOCS) serve

.PHONY: release
release: .venv/ready ## Build what is published into dist/ and check it as an index does; tags and uploads nothing
	@$(BIN)/python scripts/release/build.py

AGAINST ?=

.PHONY: sent
sent: dynamodb-local ## Write the texts that each engine is sent into .work/sent (AGAINST=commit shows what differs from there)
	@rm -rf .work/sent && $(RUN) python -m tests.sent .work/sent
	@$(if $(AGAINST),scripts/sent_against.sh $(AGAINST))

.PHONY: format
format: .venv/ready ## Let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: lock
lock: .venv/ready ## Pin requirements/*.in again; UPGRADE=--upgrade takes newer versions
	for name in uv dev bench iceberg docs compose; do $(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url requirements/$$name.in -o requirements/$$name.txt || exit 1; done
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --extra airflow --extra spark --extra postgres --extra amazon requirements/image.in pyproject.toml -o requirements/image.txt

.PHONY: clean
clean: ## Remove all that make made
	rm -rf .venv .demo .work dist build spark-warehouse metastore_db derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
