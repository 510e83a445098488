# Thin wrappers of Scripts/; CI calls the same ones.
.PHONY: run test bench format lint docs setup

run: setup
	@Scripts/selftest.sh

test: setup
	@Scripts/test.sh

bench: setup
	@Scripts/bench.sh

format:
	@Scripts/format.sh

lint:
	@Scripts/lint.sh

docs: setup
	@Scripts/docs.sh

setup:
	@Scripts/setup.sh
