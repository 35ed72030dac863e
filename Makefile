# Every one-command task. `make run` is the first to try.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?= config.yaml
CORES ?= all
# Of a release: its number, and `yes` to tag the commit.
VERSION ?=
TAG ?=
# Memory that is not given back to the system between steps: 7 to 26 % faster training on a CPU.
export MALLOC_TRIM_THRESHOLD_ := 268435456
export MALLOC_MMAP_THRESHOLD_ := 268435456
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Our logger shows one line with the time left; a plain `snakemake` has Snakemake's own log.
SNAKEMAKE = snakemake --configfile $(CONFIG) --cores $(CORES) --logger collateral
PRESENT = metrics plan gather tables figures theory report index check

.PHONY: help setup run figures test test-cpu test-slow test-all slurm-test mutants bugs torture suite lint schema docs board bench release clean-results

help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.done ## make the environment in .venv (done once)

$(VENV)/.done: pyproject.toml envs/constraints.txt
	@echo 'Once: torch and all else into $(VENV), 7 GB on disk; three minutes or more, without a word.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip install --quiet -c envs/constraints.txt -e '.[torch,workflow,ann,parquet,evidence,dev]'
	@touch $@

# Figures need neither torch nor the tools of development; an environment with all of it will do.
FIGURES_ENV := $(if $(wildcard $(VENV)/.done),$(VENV)/.done,$(VENV)/.figures)
$(VENV)/.figures: pyproject.toml envs/constraints.txt
	@echo 'Once: what figures need into $(VENV), 0.7 GB on disk; a minute or two, without a word.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip install --quiet -c envs/constraints.txt -e '.[figures,workflow]'
	@touch $@

run: setup ## everything, on this machine; CONFIG=configs/smoke.yaml for another experiment
	collateral unlock
	@# Results that differ from the plan and that Snakemake knows nothing of: a copy, an old folder.
	stale=$$(collateral stale --config $(CONFIG)) && $(SNAKEMAKE) --forcerun $$stale

figures: $(FIGURES_ENV) ## tables, figures and pages from cached outputs: no torch, no data, no training
	collateral unlock
	collateral cached --config $(CONFIG)
	$(SNAKEMAKE) --allowed-rules all $(PRESENT) --forcerun $(PRESENT)

# Tests of a file share its fixtures, so that a file runs in one process.
BY_FILE = --numprocesses 2 --dist loadfile --no-loadscope-reorder

test: setup lint ## lint and all tests that are not marked slow: ten minutes on two cores
	pytest --numprocesses 2 -m 'not slow' tests/unit tests/contract
	pytest $(BY_FILE) -m 'not slow' tests/workflow

# A CPU without AVX-512 rounds otherwise: what a test says must be right there too.
LESSER_CPU = ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2
test-cpu: setup ## the tests that train, as on a CPU without AVX-512: about four minutes on two cores
	$(LESSER_CPU) pytest --numprocesses 2 -m 'trains and not slow' tests/contract

test-slow: setup ## the slow tests alone; what this machine lacks (SLURM, a browser) is skipped, and named
	@# SLURM's tests mostly wait: beside those that compute.
	pytest -m slurm tests/workflow & slurm=$$!; \
	pytest $(BY_FILE) -m 'slow and not slurm' tests; computed=$$?; wait $$slurm && exit $$computed

test-all: test test-slow ## every test

slurm-test: setup ## a small run through a SLURM of one node; root, `envs/slurm/cluster install`
	pytest -v -m slurm tests/workflow

mutants: setup ## break the pure modules in 300 places: which does no test notice? (CONTRIBUTING.md)
	OMP_NUM_THREADS=1 python tools/mutants.py --sample 300

bugs: setup ## put in fifty bugs, one at a time: do the nearest tests see them? (CONTRIBUTING.md)
	python tools/bugs.py

torture: setup ## kill, fill the disk, set the clock back ...: what a run must survive (an hour)
	python tools/torture.py

suite: setup ## the settings of configs/suite in miniature, with made images (docs/settings.md)
	python tools/suite.py --cores $(CORES)

lint: setup
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow/Snakefile workflow/rules
	mypy
	codespell --quiet-level 2 README.md CHANGELOG.md docs workflow
	snakemake --lint

schema: setup ## write what is generated: the editors' JSON schema, pages of docs/, the picture of the rules
	python docs/generate.py

DOCS_ENV := build/docs-env
$(DOCS_ENV)/.done: pyproject.toml envs/constraints.txt
	@echo 'Once: what the site needs into $(DOCS_ENV), 0.2 GB on disk; a minute or two, without a word.'
	@$(PYTHON) -m venv $(DOCS_ENV)
	@$(DOCS_ENV)/bin/pip install --quiet -c envs/constraints.txt -e '.[docs]'
	@touch $@

docs: $(DOCS_ENV)/.done board ## docs/ as a site, in build/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS_ENV)/bin/mkdocs build --strict

bench: setup ## speed as ratios to a plain flow, memory, disk: one table (benchmarks/README.md)
	python benchmarks/all.py

board: $(FIGURES_ENV) ## the board in build/board.html: kept results, judged submissions, settings of papers
	cd docs && python -m generators.board --out ../build/board.html

release: setup docs ## VERSION=0.2.0: number, build, install and run a release, in dist/; TAG=yes tags it
	VERSION=$(VERSION) TAG=$(TAG) .ci/release

clean-results: ## forget everything that was computed
	rm -rf results/[!R]* results/.checkpoints logs
