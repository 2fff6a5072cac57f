# The default target says what there is.
.DEFAULT_GOAL := help
.PHONY: help demo test check build install release module pages bench dst fuzz glimpse models sim cover proto attack soak trust

GO ?= go
# The race detector needs a C compiler. Without one the tests run without it, and say so.
RACE := $(shell command -v gcc >/dev/null 2>&1 && echo -race)
FUZZTIME ?= 30s
SEEDS ?= 3000
RUNS ?= 1000000
MESSAGES ?= 1000000000
BENCH ?=

# Go runs what it builds for a moment from here: a /tmp that is mounted noexec would refuse it.
export GOTMPDIR := $(CURDIR)/bin/.tmp
$(shell mkdir -p bin/.tmp)

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/metasim
	@test -e bin/metasim || echo "building metasim: the first time takes a minute or two"
	$(GO) build -o bin/metasim ./cmd/metasim

PREFIX ?= /usr/local
INSTALLED = $(DESTDIR)$(PREFIX)

# Of the library that etcd's client speaks, tracing pages would make the binary 8 MB larger: adr 36.
TAGS = -tags grpcnotrace

# The manual and the completions are written by a metasim that runs here, also where GOARCH is another one.
install: ## install the stripped binary, its manual and completions below PREFIX=/usr/local
	CGO_ENABLED=0 $(GO) build $(TAGS) -trimpath -ldflags='-s -w' -o "$(INSTALLED)/bin/metasim" ./cmd/metasim
	env -u GOARCH -u GOOS $(GO) build -o bin/metasim ./cmd/metasim
	rm -rf bin/man && bin/metasim man bin/man
	install -d "$(INSTALLED)/share/man/man1" "$(INSTALLED)/share/man/man7" "$(INSTALLED)/share/bash-completion/completions" \
		"$(INSTALLED)/share/zsh/vendor-completions" "$(INSTALLED)/share/fish/vendor_completions.d"
	install -m 644 bin/man/*.1 "$(INSTALLED)/share/man/man1"
	install -m 644 bin/man/*.7 "$(INSTALLED)/share/man/man7"
	bin/metasim completion bash > "$(INSTALLED)/share/bash-completion/completions/metasim"
	bin/metasim completion zsh > "$(INSTALLED)/share/zsh/vendor-completions/_metasim"
	bin/metasim completion fish > "$(INSTALLED)/share/fish/vendor_completions.d/metasim.fish"

release: ## archives, Debian packages and checksums, for amd64 and arm64, in bin/release
	.ci/release

module: ## give the module another path: MODULE=github.com/you/metasim
	@.ci/module "$(MODULE)"

demo: build ## build, and run the flagship: a pole balanced over a bad network, then one that falls
	@bin/metasim demo

test: check ## run every test (what CI runs)

check: build
	@test -n "$(RACE)" || echo "SKIPPED LOUDLY: no gcc, so the tests run without the race detector"
	$(GO) vet ./...
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt these: $$unformatted"; exit 1; }
	GOGC=400 $(GO) tool staticcheck ./...
	$(TEST) --jsonfile bin/tests-alone.json -- -vet=off -timeout 20m $(ALONE)
	$(TEST) --jsonfile bin/tests-race.json -- -vet=off $(RACE) $(MANY) -timeout 40m $(LONG) $(filter-out $(ALONE:./%=$(shell GOWORK=off $(GO) list -m)/%),$(shell $(GO) list ./...))
	$(MAKE) --no-print-directory glimpse
	@echo; echo "All tests together, and what was skipped:"
	@$(TEST) --format none --raw-command -- cat bin/tests-alone.json bin/tests-race.json

# It lists failed and skipped tests at the end, whatever was printed before. A test binary that is built with the race detector would stay for
# a second at its end.
TEST = GORACE="$$GORACE atexit_sleep_ms=0" $(GO) tool gotestsum --format-hide-empty-pkg

# Most tests of the second list wait, for processes, connections and limits of time. So more of them than there are cores run at once, and the
# packages that take longest begin first.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
MANY = -p $(shell echo $$(($(CORES) + 1))) -parallel $(shell echo $$((2 * $(CORES))))
LONG = ./run ./cmd/metasim ./clients ./wire/transport/all

# Rooms that start no goroutine, which internal/tidy holds: the race detector would find nothing there, slowly.
ALONE = ./metasim ./dst ./metasim/simtime ./metasim/safetime ./delay ./scenarios ./analysis ./analysis/trace ./analysis/predict ./analysis/report ./analysis/show ./record/compare ./lcm ./lcm/types ./lcm/inspect ./federates/phold \
	./federates/cartpole ./federates/authority/tree ./federates/catalog ./federates/ecm ./federates/sdf ./federates/world ./record/output ./scenarios/advice ./scenarios/flow ./wire/session \
	./internal/atomicfile ./internal/descriptors ./internal/fifo ./internal/foldhash ./internal/pages ./internal/plain ./internal/pq ./internal/problem ./internal/slab ./internal/trig \
	./lcm/names ./wire ./wire/transport ./record ./federates/lockstep ./federates/systems ./federates/follower/frames \
	./federates/follower/scene ./federates/levels/worldmap ./federates/authority/claim ./federates/authority/credit ./federates/authority/balance ./federates/authority/shard ./internal/mutants ./internal/models ./internal/script ./internal/suggest ./internal/tidy

# What reads bytes from a peer, tried for a moment each time; `make fuzz` does it for longer, and all of it. The corpora of all
# targets are part of the tests.
FUZZED = ./wire:FuzzStream ./record/journal:FuzzReader ./lcm/bus:FuzzSession ./metasim:FuzzStep

# A fuzzer of which only our own code counts.
FUZZ = $(GO) test -toolexec '$(CURDIR)/.ci/instrument $(shell $(GO) list -m)'

# Go's fuzzer calls an input hung that was not served for ten seconds, as on a busy machine (golang/go#56238). So what it blames is tried once more, alone.
glimpse: ## a few seconds of fuzzing what reads bytes from outside
	@for t in $(FUZZED); do \
		package=$${t%%:*}; target=$${t##*:}; echo "$(GO) test $$package -fuzz $$target"; \
		out=$$($(FUZZ) $$package -run '^$$' -fuzz "^$$target$$" -fuzztime 1s 2>&1) && continue; \
		blamed=$$(echo "$$out" | sed -n '/fuzzing process hung/,$$s/^ *Failing input written to //p'); \
		[ -n "$$blamed" ] && $(GO) test $$package -run "^$$target$$/^$${blamed##*/}$$" -count 1 -timeout 1m || { echo "$$out"; exit 1; }; \
		echo "$$target was not served for ten seconds; its input passes alone"; rm "$$package/$$blamed"; \
	done

attack: build ## what a stranger or a careless client could do to a run, tried from outside
	python3 conformance/attack/attack.py bin/metasim

models: ## check the models of docs/model, the large sizes too (needs spin and gcc; some minutes)
	$(GO) test ./internal/models -v -count 1 -large -timeout 2h

dst: ## a million runs of the simulation of the system itself (RUNS=1000000)
	$(GO) run ./cmd/metasim-dst -runs $(RUNS)

soak: build ## 10^9 messages in one run, and 1000 runs in one process: does anything grow? (MESSAGES= RUNS=1000)
	$(GO) run ./cmd/metasim-soak -metasim bin/metasim -messages $(MESSAGES) $(if $(filter command line,$(origin RUNS)),-runs $(RUNS))

trust: build ## print the table of docs/trust.md (hours; TRUST=short, ROWS='bad network|soak')
	@.ci/trust

sim: ## the long interleaving test (SEEDS=3000)
	$(GO) test ./metasim -run Interleave -seeds $(SEEDS) -timeout 60m

fuzz: ## every fuzz target for FUZZTIME=30s
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; $(FUZZ) $$pkg -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

bench: build ## measure, beside what this machine can do; BENCH=--quick for a look (docs/performance.md)
	@bin/metasim bench $(BENCH)
	$(GO) test ./analysis/predict -run '^$$' -bench . -benchtime 1x -timeout 90m -times $(if $(BENCH),1,7)

cover: ## test coverage of the house
	$(GO) test -coverpkg ./... -coverprofile /tmp/metasim.cover ./... && $(GO) tool cover -func /tmp/metasim.cover | tail -1

proto: ## generate code from the .proto files (needs protoc, and protoc-gen-go v1.36.12)
	$(GO) generate ./wire/... ./record/...

PAGES ?= README.md $(wildcard docs/*.md)

# A page is tried in a copy of what git has, beside which there is nothing.
pages: build ## do what README and docs tell to type, each page in a fresh clone; PAGES=docs/live.md for one
	@rm -rf bin/.clone && mkdir -p bin/.clone/bin && git ls-files -z --cached --others --exclude-standard | \
		tar --null --files-from - --create | tar --extract --directory bin/.clone
	@cp bin/metasim bin/.clone/bin/ && cd bin/.clone && git init --quiet && git add . && git -c user.name=reader -c user.email=reader@localhost commit --quiet -m clone && cd ../.. && GOFLAGS=-trimpath $(GO) run ./internal/pages "$(CURDIR)/bin/.clone" $(PAGES); \
		status=$$?; rm -rf bin/.clone; exit $$status
