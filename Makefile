# Every target sets up .venv by itself; a second run reuses it. Every other interpreter gets an environment of its own:
# `make test PYTHON=python3.13` sets up .venv-3.13.
PYTHON ?= python3
VENV := $(if $(filter python3,$(PYTHON)),.venv,.venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Twice the number of processors for slow tests, which mostly wait for processes and sockets. The quick tests hardly wait,
# and every worker imports all of them, so they get fewer workers.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
QUICK_WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')

# Some machines forbid Python to write compiled files. Then every process of every test would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

# tools/gate.py records the results by another program.
PYTEST = $(BIN)/python -m pytest

# The suites. Every test is in exactly one of the first two, or in the third; `tests/test_suites.py` checks that.
QUICK := not slow and not peers
LONG_ONES := slow and not peers
PEERS := peers or kubectl

.PHONY: demo gate full test test-long fuzz chaos mutate test-peers test-languages check format docs bench data oracle test-oracle operators test-operators robustness clean

# Runs a control plane with an example app until `q` or Ctrl-C; without a terminal, shows it command by command and ends.
demo: $(READY)
	$(BIN)/setpoint demo

# What each change passes: `make check`, `make test` and `make demo`, on a clean clone of HEAD, on the oldest tested Python
# that is installed. A failed test runs again alone (tools/gate.py). build/gate/last has the result.
gate:
	$(PYTHON) -m tools.gate --in-clone

# Everything that the gate leaves out: the slow tests, the tests with peers, and on the newest tested Python that is
# installed the packages that depend most on the interpreter. This needs Go.
INTERPRETERS = $(shell tools/interpreters)
AGAIN := api cache client fuzz objects plane server/edge workload
full:
	$(MAKE) test-long PYTHON="$(firstword $(INTERPRETERS))"
	$(MAKE) test-peers LONG=--long PYTHON="$(firstword $(INTERPRETERS))"
	$(MAKE) test PYTHON="$(lastword $(INTERPRETERS))" PACKAGE="$(AGAIN)"

# The quick tests of every package; five to twelve minutes on two processors. `make test PACKAGE=client` runs those in
# tests/client; PACKAGE="objects workload/process" names several directories.
PACKAGE :=
test: $(READY)
	@for package in $(PACKAGE); do test -d tests/$$package || { echo "There is no directory tests/$$package. PACKAGE is one" \
		"of:"; find tests -name 'test_*.py' -path '*/*/*' -exec dirname {} + | sort -u | cut -d/ -f2-; exit 2; } >&2; done
	$(PYTEST) -n $(QUICK_WORKERS) -m "$(QUICK)" $(addprefix tests/,$(PACKAGE))

# The suites that run a second time with the process layer of other systems than Linux: those in which processes start,
# end, survive or listen, and files change. The tests in tests/machine choose their layers themselves.
CONTROLLERS := $(patsubst %,controllers/test_%.py,executables old_trees file_restart probe_listeners replica_sets)
PORTABLE := $(addprefix tests/workload/,process filewatch chaos logs/test_file_follower.py session/test_dcp_commands.py \
	$(CONTROLLERS)) $(patsubst %,tests/session/test_%.py,session leftovers)

# The slow tests: containers, etcd, terminals, real clients, kills, the pages of the documentation.
test-long: $(READY)
	$(PYTEST) -n $(WORKERS) -rs -m "$(LONG_ONES)"
	SETPOINT_PORTABLE=1 $(PYTEST) -n $(WORKERS) $(PORTABLE)

# Sends malformed requests to its own server; the same SEED sends the same requests. FIRST is the number of the first.
SEED ?= 1
FIRST ?= 0
fuzz: COUNT ?= 1000000
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --seed $(SEED) --count $(COUNT) --first $(FIRST)

# Applies COUNT small changes to copies of the sources, and fails if tests notice fewer than 90 % of the changes. The
# first run records the lines that each test runs, for about twenty minutes; RECORD=tests/... records only some tests.
mutate: COUNT ?= 100
mutate: $(READY)
	$(BIN)/python -m tools.mutation --seed $(SEED) --count $(COUNT) $(if $(RECORD),--record $(RECORD))

# Kills a control plane with workloads a hundred times; takes some minutes.
chaos: $(READY)
	$(PYTEST) --long tests/workload/chaos

# Runs rounds of concurrent clients on every store, with compactions, slow readers, restarts and kills, and verifies all answers
# and all watches. The same SEED gives the clients the same operations; STORE selects one store.
robustness: COUNT ?= 300
robustness: $(READY)
	$(BIN)/python -m tests.consistency --seed $(SEED) --rounds $(COUNT) $(addprefix --store ,$(STORE))

# Repeats the kubectl tests with the current kubectl, and runs programs on client-go and controller-runtime; then
# controller-runtime's own suites, including the slow ones with LONG=--long. This needs Go.
test-peers: $(READY)
	@command -v go >/dev/null || { echo "make test-peers needs Go to build its programs; install it from https://go.dev/dl"; exit 1; }
	cd tests/clients/go && go build -ldflags "-X k8s.io/component-base/version.gitVersion=v1.37.2" -o $(CURDIR)/build/peers/kubectl ./kubectl
	cd tests/clients/porcupine && go build -o $(CURDIR)/build/peers/porcupine .
	cd tests/clients/helm && go build -o $(CURDIR)/build/peers/helm helm.sh/helm/v4/cmd/helm
	cd tests/clients/go && go test -c -o $(CURDIR)/build/peers/programs ./peers
	cd tests/clients/go && go test -c -o $(CURDIR)/build/peers/operator ./operator
	$(BIN)/python -m tests.clients.controller_runtime build/peers/controller-runtime $(LONG)
	HELM=$(CURDIR)/build/peers/helm PORCUPINE=$(CURDIR)/build/peers/porcupine KUBECTL=$(CURDIR)/build/peers/kubectl GO_PEERS=$(CURDIR)/build/peers/programs GO_OPERATOR=$(CURDIR)/build/peers/operator \
		$(PYTEST) -n $(WORKERS) -rs -m "$(PEERS)" tests/clients --ignore tests/clients/test_controller_runtime.py
	CONTROLLER_RUNTIME=$(CURDIR)/build/peers/controller-runtime \
		$(PYTEST) -rs $(LONG) -m "$(PEERS)" tests/clients/test_controller_runtime.py

# Runs the examples of docs/other-languages.md with the tools of each language that are installed. Compiling the client of
# Rust takes many minutes the first time; afterwards `make test-long` runs that example, too.
test-languages: $(READY)
	LANGUAGES=1 $(PYTEST) -rs --long tests/docs/test_other_languages.py tests/clients/test_go_page.py

# Builds a real control plane into build/peers: kube-apiserver, kube-controller-manager, kube-scheduler, etcd and KWOK, in
# the versions of the modules in tests/oracle/go. This needs Go; the first build takes about 20 minutes.
KUBERNETES := kube-apiserver kube-controller-manager kube-scheduler
ORACLE := tests/oracle/go
ORACLE_PEERS := $(KUBERNETES:%=build/peers/%) build/peers/etcd build/peers/kwok build/peers/stages.yaml
STAMP = k8s.io/component-base/version

oracle: $(ORACLE_PEERS)

$(KUBERNETES:%=build/peers/%): build/peers/%: $(ORACLE)/kubernetes/go.mod $(ORACLE)/kubernetes/go.sum
	@command -v go >/dev/null || { echo "make oracle needs Go to build its programs; install it from https://go.dev/dl"; exit 1; }
	version=$$(cd $(ORACLE)/kubernetes && go list -m -f '{{.Version}}' k8s.io/kubernetes) && cd $(ORACLE)/kubernetes && \
		go build -ldflags "-X $(STAMP).gitVersion=$$version -X $(STAMP).gitMajor=1 -X $(STAMP).gitMinor=37" -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/$*

build/peers/etcd: $(ORACLE)/etcd/go.mod $(ORACLE)/etcd/go.sum
	cd $(ORACLE)/etcd && go build -o $(CURDIR)/$@ go.etcd.io/etcd/server/v3

build/peers/kwok: $(ORACLE)/kwok/go.mod $(ORACLE)/kwok/go.sum
	version=$$(cd $(ORACLE)/kwok && go list -m -f '{{.Version}}' sigs.k8s.io/kwok) && cd $(ORACLE)/kwok && \
		go build -ldflags "-X sigs.k8s.io/kwok/pkg/consts.Version=$$version" -o $(CURDIR)/$@ sigs.k8s.io/kwok/cmd/kwok

# The life of nodes and pods, which KWOK simulates: the stages that its module contains.
build/peers/stages.yaml: $(ORACLE)/kwok/go.mod build/peers/kwok
	cd $(ORACLE)/kwok && stages=$$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage && \
		for file in $$stages/node/fast/node-*.yaml $$stages/pod/fast/pod-*.yaml; do echo ---; cat $$file; done > $(CURDIR)/$@

# Runs the real controller manager and scheduler on Setpoint and on the real server; then compares the answers of both
# servers to generated requests. The same SEED sends the same requests.
test-oracle: COUNT ?= 5000
test-oracle: $(READY) oracle
	$(BIN)/python -m tests.oracle.components.run
	$(BIN)/python -m tests.oracle.compare --seed $(SEED) --count $(COUNT)

# Builds operators of other projects from their Go modules into build/operators, each in some minutes, and runs them on
# simulated nodes. `make operators OPERATORS="argo-rollouts cert-manager"` builds some of them.
OPERATORS :=
operators: $(READY)
	@command -v go >/dev/null || { echo "make operators needs Go to build its programs; install it from https://go.dev/dl"; exit 1; }
	$(BIN)/python -m tests.clients.real_operators.programs $(OPERATORS)

test-operators: operators
	cd tests/clients/go && go build -ldflags "-X k8s.io/component-base/version.gitVersion=v1.37.2" -o $(CURDIR)/build/peers/kubectl ./kubectl
	KUBECTL=$(CURDIR)/build/peers/kubectl $(PYTEST) -rs -m peers tests/clients/real_operators

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.prose --check

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Builds the site of the pages in docs/; open build/site/index.html. A broken link fails the build.
docs: $(READY)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/site-read docs build/site

bench: $(READY)
	$(BIN)/python -m bench

# Generates the schemas, texts, protobuf messages and typed stubs of the built-in kinds from their published sources; this needs Go.
data: $(READY)
	$(BIN)/python -m pip install --quiet --group data
	$(BIN)/python -m tools.builtin_schemas
	$(BIN)/python -m tools.openapi_texts
	$(BIN)/python -m tools.column_texts
	$(BIN)/python -m tools.protobuf_tables
	$(BIN)/python -m tools.api_stubs
	$(BIN)/python -m tools.compose_schema

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Setpoint needs Python 3.11 or newer; run: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev --group clients
	$(BIN)/python -m compileall -q src  # as pip does for regular installs, so that the first command starts quickly
	touch $(READY)

clean:
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
