# Every verb sets up what it needs, on a fresh machine too: `make run` and `make test` are the two to know.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JARS   := .cache/kafka/jars
ARGS   ?=

# Every test process would compile all that it imports, and rewrite its asserts, anew: half a minute
# of CPU to collect the tests alone. `make clean` takes the bytecode away.
unexport PYTHONDONTWRITEBYTECODE

SOURCES := setup.py $(shell find kcore clients -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run .pipeline test test-long bench sim lint debug sanitize fuzz build kafka connector yarn older clean distclean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

run: build $(VENV)/.extra-demo $(if $(KAFKA),kafka)  ## the demo: three embedded nodes, real data, a group of three, a Spark job (KILL=1: a node dies; KAFKA=1: a real Kafka; BOOTSTRAP= TOPIC= GROUP= : yours)
	@$(BIN)/kcore demo $(if $(KAFKA),--kafka) $(if $(KILL),--kill-node) $(if $(BOOTSTRAP),--bootstrap '$(BOOTSTRAP)') \
		$(if $(TOPIC),--topic '$(TOPIC)') $(if $(GROUP),--group '$(GROUP)') $(ARGS)
	@$(if $(BOOTSTRAP),,$(MAKE) --no-print-directory .pipeline)

# A fourteenth of the rows, to be quick. Without Java Spark is not installed for it: kcore says so.
.pipeline: $(if $(shell command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java"),$(VENV)/.extra-jobs)
	@$(BIN)/kcore pipeline delays --rows 24000 --out .cache/pipeline --optional

# gssapi is built against the system's Kerberos; without libkrb5-dev its tests say that they are left out.
KERBEROS := $(if $(shell command -v krb5-config),$(VENV)/.extra-kerberos)

test: build $(VENV)/.extra-test $(KERBEROS) kafka  ## everything that proves it, in minutes (ARGS= goes to pytest)
	@$(BIN)/pytest -n 6 --dist loadgroup -m "not slow" $(ARGS)

test-long: build $(VENV)/.extra-test $(KERBEROS) kafka connector yarn older  ## the slow suites too: failover, outages, a million records
	@$(BIN)/pytest $(ARGS)

bench: build $(VENV)/.extra-bench kafka connector  ## everything that is measured, beside other clients; results, plots, tables (twenty minutes)
	@$(BIN)/python bench/all.py $(ARGS)
	@$(BIN)/python bench/broker_report.py

sim: build $(VENV)/.extra-demo  ## groups under faults from seeds, judged at every step (SEED= RUNS=)
	@$(BIN)/kcore sim --seed $(or $(SEED),1) --runs $(or $(RUNS),200) $(ARGS)

lint: build $(VENV)/.extra-lint $(VENV)/.extra-test $(VENV)/.extra-demo  ## ruff, mypy strict, stubs against the extensions, cython-lint, and the tidy tests
	@$(BIN)/ruff check .
	@$(BIN)/python tools/typecheck.py
	@$(BIN)/python tools/stubcheck.py
	@find kcore clients -name '*.pyx' -o -name '*.pxd' | sort | PATH="$(CURDIR)/$(BIN):$$PATH" xargs -r cython-lint
	@$(BIN)/pytest -q tests/tidy

debug: build $(VENV)/.extra-test  ## a build with bounds checks, line trace and C warnings as errors, and the tests on it
	@PATH="$(CURDIR)/$(BIN):$$PATH" tools/debug.sh $(ARGS)

sanitize: build $(VENV)/.extra-test  ## a build with gcc's address and undefined behaviour sanitizers; record, wire and fuzz tests on it
	@PATH="$(CURDIR)/$(BIN):$$PATH" tools/sanitize.sh $(ARGS)

fuzz: build $(VENV)/.extra-test  ## atheris on a build that tells which edges were reached (SECONDS= each, TARGETS= some)
	@PATH="$(CURDIR)/$(BIN):$$PATH" tools/fuzz.sh $(TARGETS) --seconds $(or $(SECONDS),60) $(ARGS)

build: $(VENV)/.built  ## the environment and the compiled extensions, in place

kafka: build $(VENV)/.extra-demo  # the real broker's jars; says so when there is no Java or Maven
	@tools/fetch_kafka.sh $(JARS)
	@$(BIN)/python tools/share_classes.py $(JARS)

connector:  # Spark's own Kafka connector, beside which ours is tested and measured
	@tools/fetch_spark_connector.sh .cache/spark/connector

yarn:  # a real YARN, for jobs that are submitted to one
	@tools/fetch_yarn.sh .cache/yarn/jars

older:  # older releases of Kafka, that clients work with, too
	@tools/fetch_older.sh .cache/older

clean:  ## what was built and cached (keeps the environment and Kafka's jars)
	rm -rf build dist kcore.egg-info .cache/java .cache/pipeline .cache/debug .cache/sanitize .cache/fuzz .cache/mypy .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find $(wildcard kcore transports clients embedded pipeline cli tests bench tools examples) -name '*.so' -delete
	find $(wildcard kcore transports clients embedded pipeline cli tests bench tools examples) -name '__pycache__' -prune -exec rm -rf {} +
	rm -f $(VENV)/.built

distclean: clean  ## the environment and Kafka's jars too
	rm -rf $(VENV) .cache

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kcore needs Python 3.11 or later: make PYTHON=python3.11 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# What a verb needs beyond the standard library is an extra of pyproject.toml; each is installed once, and again when that file changes.
$(VENV)/.extra-%: pyproject.toml tools/requirements.py | $(VENV)/.created
	@echo "installing: $*"
	@$(BIN)/python tools/requirements.py $* > $@.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $@.txt
	@touch $@

# Without build isolation, so that the C compiler only sees what changed.
$(VENV)/.installed: pyproject.toml $(VENV)/.extra-build $(VENV)/.extra-core
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.built: $(SOURCES) $(VENV)/.installed
	@touch $(VENV)/.building
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@mv $(VENV)/.building $@
