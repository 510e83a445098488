#!/usr/bin/env python3
"""Judges a call's JSON report: report.py FILE KEY=VALUE…

Every KEY=VALUE is a value that must be there (dots go down, "none" is null). KEY>=NUMBER and KEY<=NUMBER compare. Prints the
values, or what differs, in one line. Exit codes: 0 all as expected, 1 not.
"""
import json
import operator
import re
import sys

COMPARISONS = {"=": operator.eq, ">=": operator.ge, "<=": operator.le}


def value_at(report, path):
    """The value at `path`; KeyError if the report has no such key."""
    for key in path.split("."):
        report = report[key]
    return report


def text(value):
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def judge(report, expectations):
    """A list of what was found, and a list of what differs."""
    found, wrong = [], []
    for expectation in expectations:
        parts = re.fullmatch(r"([\w.]+)(>=|<=|=)(.*)", expectation)
        if not parts:
            raise ValueError(f"not KEY=VALUE, KEY>=NUMBER or KEY<=NUMBER: {expectation}")
        path, sign, wanted = parts.groups()
        try:
            value = value_at(report, path)
        except (KeyError, TypeError):
            wrong.append(f"{path} is missing")
            continue
        found.append(f"{path.rsplit('.', 1)[-1]} {text(value)}")
        if sign == "=":
            holds = text(value) == wanted
        else:
            holds = isinstance(value, (int, float)) and not isinstance(value, bool) and COMPARISONS[sign](value, float(wanted))
        if not holds:
            wrong.append(f"{path} is {text(value)}, not {sign.removeprefix('=')}{wanted}")
    return found, wrong


def main(file, *expectations):
    try:
        with open(file, encoding="utf-8") as stream:
            report = json.load(stream)
    except (OSError, ValueError) as error:
        print(f"no report: {error}")
        return 1
    found, wrong = judge(report, expectations)
    print(", ".join(wrong or found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
