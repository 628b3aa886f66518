# The door for people: every target hands over to tools/dev.py, which does its own set-up.
# Only this file knows how to get a Python when there is none.
PYTHON ?= python3
DEV = $(PYTHON) tools/dev.py

.DEFAULT_GOAL := help
.PHONY: help setup build test lint format bench docs deb demo crash clean python
# dev.py spreads the work over the cores itself.
.NOTPARALLEL:

help:
	@echo "make demo     set up, build, and run the demonstration; its report goes to out/"
	@echo "make test     set up, build, and run every test"
	@echo "make lint     style rules, clang-format, ruff"
	@echo "make bench    run the micro-benchmarks, and the codec beside its peers"
	@echo "make docs     the documentation site, into out/site"
	@echo "make deb      Debian's packages, into out/debian"
	@echo "make build    set up and build into build/"
	@echo "make format   rewrite the sources in the house style"
	@echo "make crash    kill a writer at RUNS random instants (default 20) and recover its file"
	@echo "make setup    system packages and the Python environment only"
	@echo "make clean    remove build trees and out/"
	@echo "ARGS='...' is handed on: make test ARGS='--sanitize address'. More: tools/dev.py --help"

setup build test lint format bench docs deb demo clean: python
	@$(DEV) $@ $(ARGS)

crash: python
	@$(DEV) crash --runs $(or $(RUNS),20) $(ARGS)

python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	        echo "no $(PYTHON): installing it"; \
	        { apt-get update && apt-get install -y --no-install-recommends python3; } >/dev/null \
	            || { echo "apt-get could not install python3" >&2; exit 1; }; \
	    else \
	        echo "Caesura's tools need Python: sudo apt-get install -y python3" >&2; exit 1; \
	    fi; }
