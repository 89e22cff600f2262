# Two commands on a fresh machine with Python 3.11+ and make: `make run` and `make test`. `make help` lists the others.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SHELLFLAGS := -eu -c

PYTHON ?= python3
VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python
# Processes that tests are spread over.
JOBS ?= 2
# What `make check` runs of the tests; the others start servers, synthesise or walk through thousands of histories.
QUICK := tests/tidy tests/unit tests/contract tests/api tests/services
# Options for what a target starts, as in: make run ARGS="--port 9000"
ARGS ?=
N ?= 1000
SECONDS ?= 54
STAGE ?=
EXECUTIONS ?=
SEED ?=
SEEDS ?= 2000
FROM ?= 0
PLANT ?=
PLAN ?=
FILE ?=

export PATH := $(VENV)/bin:$(PATH)
export PYTHONPATH := $(CURDIR):$(CURDIR)/layers/core/python:$(CURDIR)/layers/sdk/python
# Zone rules come from the pinned tzdata package, here as in Lambda.
export PYTHONTZPATH :=
# The code relies on its assertions.
unexport PYTHONOPTIMIZE
# Compiled modules are kept: every test run and every child process starts a few seconds sooner.
unexport PYTHONDONTWRITEBYTECODE
# jsii prints a banner on Node 20, which works.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- use

.PHONY: run
run: setup-run ## Start API, loops and a worker on this machine, with a demo (ARGS= for options)
	@exec $(PY) -m tickwright.local $(ARGS)

.PHONY: local-key
local-key: setup-run ## Make a key for the data of `make run`: ARGS="--tenant acme --scopes jobs:read,executions:run"
	@$(PY) -m tickwright.local.keys $(ARGS)

.PHONY: key
key: setup-run ## Make a key of an installation on AWS, and so a tenant: STAGE=dev ARGS="--tenant acme"
	@$(if $(STAGE),$(PY) -m tickwright.operator keys make --stage $(STAGE) $(ARGS),echo 'Say which: make key STAGE=dev ARGS="--tenant acme"'; exit 2)

.PHONY: operate
operate: setup-run ## Any command of the operator: STAGE=dev ARGS="keys list --tenant acme" (or ARGS=--help)
	@$(PY) -m tickwright.operator $(ARGS) $(if $(STAGE),--stage $(STAGE))

.PHONY: rollback
rollback: setup ## Take an installation back to the version that is checked out (STAGE=prod)
	@$(if $(STAGE),$(PY) -m infra.rollback $(STAGE),echo "Say which: make rollback STAGE=prod"; exit 2)

.PHONY: synth
synth: setup ## Write the CloudFormation templates of a stage to cdk.out (STAGE=dev, else what TICKWRIGHT_STAGE says)
	@$(if $(STAGE),TICKWRIGHT_STAGE=$(STAGE) )$(PY) app.py

# ---------------------------------------------------------------- install

.PHONY: setup
setup: ## Install the locked packages in .venv (and the CDK command line, where npm is)
	@$(PYTHON) tools/environment.py dev
	@$(PY) tools/cdk_cli.py

.PHONY: setup-run
setup-run: ## Install only what `make run` needs
	@$(PYTHON) tools/environment.py run

.PHONY: setup-emulators
setup-emulators: setup ## Install DynamoDB Local and ministack in .emulators
	@$(PY) tools/emulators.py

.PHONY: lock
lock: setup ## Recompile the requirements locks (ARGS=--upgrade for newer versions) and check them
	@$(PY) tools/lock.py $(ARGS)
	@$(PY) -m pytest -q tests/tidy/test_locks.py

# ---------------------------------------------------------------- check

.PHONY: check
check: setup static generated ## The fast part: format, lint, types, imports, house rules, unit and embedded contract tests
	@$(PY) -m pytest -q -n $(JOBS) -m "not slow and not emulator" $(QUICK)

.PHONY: static
static: setup ## Format, lint, types and import contracts
	ruff format --check --quiet --output-format concise .
	ruff check --quiet --output-format concise .
	mypy --no-error-summary layers/core/python layers/sdk/python functions infra app.py tests tools examples
	@echo lint-imports; said=$$(lint-imports --no-logo 2>&1) || { echo "$$said"; exit 1; }

.PHONY: format
format: setup ## Format the code and mend what ruff can
	ruff check --fix --quiet . || true
	ruff format --quiet .

.PHONY: docs-check
docs-check: generated ## Are the documents' generated parts, links, commands and promises current?
	@$(PY) -m pytest -q tests/tidy/test_documents.py tests/tidy/test_promises.py

.PHONY: generated
generated: setup ## Are the generated documents what the code says?
	@$(PY) -m tickwright.api.openapi check docs/api/openapi.json
	@$(PY) tools/semantics.py check
	@$(PY) -m tools.cost check
	@$(PY) tools/rights.py check

.PHONY: openapi
openapi: setup ## Write docs/api/openapi.json again
	@$(PY) -m tickwright.api.openapi write docs/api/openapi.json

.PHONY: semantics
semantics: setup ## Write docs/semantics.md again
	@$(PY) tools/semantics.py write

.PHONY: test
test: setup setup-emulators static generated gate ## Everything but the nightly sets
	@$(PY) -m pytest -n $(JOBS) tests
	@$(PY) -m tests.sim --seeds $(SEEDS) --jobs $(JOBS)
	@$(PY) -m tests.deploy

.PHONY: e2e-deploy
e2e-deploy: setup setup-emulators ## Deploy, use, update, roll back and destroy the app on a local AWS; seconds a phase
	@$(PY) -m tests.deploy

.PHONY: models
models: setup ## Check the models of the protocol, every row against its verdict (SIZE=night ARGS="only=Tick trace")
	@$(PY) tools/models.py $(or $(SIZE),fast) jobs=$(JOBS) $(ARGS)

.PHONY: nightly
nightly: setup setup-emulators ## The long sets: more examples, more seeds
	@HYPOTHESIS_PROFILE=nightly $(PY) -m pytest -n $(JOBS) -m nightly tests

.PHONY: gate
gate: setup ## Judge what would be deployed: rule packs, own checks, cfn-lint; 0 findings or failure
	@$(PY) -m infra.gate

.PHONY: cron-vectors
cron-vectors: setup ## Replay recorded cron answers (FILE=other.jsonl; both of ours by default)
	@$(PY) -m tests.cron_vectors $(FILE)

# ---------------------------------------------------------------- measure

.PHONY: bench-cron
bench-cron: setup ## Parse and next-tick times beside croniter, cronsim and croner
	@$(PY) -m tests.bench.cron

.PHONY: bench-units
bench-units: setup setup-emulators ## Write, read and queue units per cron execution (N=1000 ARGS="--retries 1 --run-s 50")
	@$(PY) -m tests.bench.units --jobs $(N) $(ARGS)

.PHONY: bench-idle
bench-idle: setup setup-emulators ## Units and awake seconds a minute of an installation without a job (STAGE=dev ARGS="--scale 1")
	@$(PY) -m tests.bench.idle --stage $(or $(STAGE),dev) $(ARGS)

.PHONY: bench-sizes
bench-sizes: setup setup-emulators ## Bytes of each kind of item, as the tables hold it
	@$(PY) -m tests.bench.sizes

.PHONY: cost
cost: setup ## What so many executions a day cost a month, beside others (EXECUTIONS=10000000 ARGS="--run-s 1 --json")
	@$(PY) -m tools.cost bill --executions $(or $(EXECUTIONS),10000000) $(ARGS)

.PHONY: rights
rights: setup ## Write the tables of rights of docs/security.md and docs/deploy.md again
	@$(PY) tools/rights.py write

.PHONY: cost-tables
cost-tables: setup ## Write the tables of docs/capacity.md again
	@$(PY) -m tools.cost write

.PHONY: bench-lag
bench-lag: setup ## Dispatch lag of N jobs due in the same second (N=1000)
	@$(PY) -m tests.bench.lag --jobs $(N) $(ARGS)

.PHONY: bench-cold
bench-cold: setup setup-emulators ## What each handler's cold start costs before its first event, packed as for Lambda (ARGS="--rounds 15 --enforce")
	@$(PY) -m tests.bench.cold $(ARGS)

.PHONY: bench-worker
bench-worker: setup $(if $(filter aws both,$(STORE)),setup-emulators) ## What one worker process carries: executions and heartbeats a second, memory (N=1000 STORE=embedded|aws|both)
	@$(PY) -m tests.bench.worker --jobs $(N) --store $(or $(STORE),embedded) $(ARGS)

.PHONY: chaos
chaos: setup $(if $(filter aws both,$(STORE)),setup-emulators) ## Kill and freeze processes, then count (SECONDS=54 SEED= STORE=embedded|aws|both)
	@$(PY) -m tests.chaos SECONDS=$(SECONDS) STORE=$(STORE) $(if $(SEED),SEED=$(SEED)) $(ARGS)

.PHONY: sim
sim: setup ## The real services and loops in virtual time, a plan of faults a seed (SEEDS=2000 FROM=0 PLANT= PLAN=file)
	@$(PY) -m tests.sim --seeds $(SEEDS) --from $(FROM) $(if $(PLANT),--plant $(PLANT)) $(if $(PLAN),--plan $(PLAN)) $(ARGS)

.PHONY: pairs
pairs: setup ## Any two operations on one job, every order of their calls, every death (PLANT= SCENE=)
	@$(PY) -m tests.pairs $(if $(PLANT),PLANT=$(PLANT)) $(if $(SCENE),SCENE=$(SCENE)) $(ARGS)

.PHONY: scenario
scenario: setup ## The fleet dies, traffic triples, the store fails over, a store or a Region is gone: NAME=fleet-crash, spike, db-failover, outage, region-failover or link-heals (SIZE=)
	@$(PY) -m tests.scenarios $(NAME) $(if $(SIZE),--size $(SIZE)) $(ARGS)

.PHONY: demo-billing
demo-billing: setup-run ## A worker is frozen past its lease, another finishes: the thawed one's bill is refused
	@$(PY) -m examples.billing

.PHONY: fuzz
fuzz: setup ## Guided bytes, requests from the OpenAPI, operations beside a model: so many seconds each (SECONDS=54 ONLY=)
	@$(PY) -m tests.fuzz --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY)) $(ARGS)

# ---------------------------------------------------------------- clean

.PHONY: clean
clean: ## Remove what the tools made, but keep .venv and .emulators
	rm -rf cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -not -path './.emulators/*' -type d -prune -exec rm -rf {} +
