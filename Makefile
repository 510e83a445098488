# Thin wrappers of the scripts that CI calls.
.PHONY: setup test lint format

setup:
	@Scripts/setup.sh

test: setup
	@Scripts/test.sh

lint: setup
	@Scripts/lint.sh

format:
	@Scripts/format.sh
