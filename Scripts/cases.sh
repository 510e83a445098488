#!/usr/bin/env bash
# The cases of Tests/Cases/*.txt (one id a line, # begins a comment) and how many assertions the tests that carry them
# make: a test carries a case when its name has the id (`ICE-02`, `ICE_02` or `ICE02`), its display name or its
# function's; what arguments, bodies and comments quote is none. Assertions are #expect, #require, Issue.record. Fails
# when a case has no test or its tests assert nothing. `cases.sh GROUP…` looks at these groups only.
set -euo pipefail
cd "$(dirname "$0")/.."

groups=("$@")
((${#groups[@]})) || for file in Tests/Cases/*.txt; do groups+=("$(basename "$file" .txt)"); done
for group in "${groups[@]}"; do
    [[ $group != */* && -f Tests/Cases/$group.txt ]] && continue
    known=$(cd Tests/Cases && printf '%s ' *.txt)
    echo "error: no group $group: there are ${known//.txt/}" >&2
    exit 64
done

# One line a test and id: the id, where the test stands, its assertions. A test ends at the brace that stands as deep as
# its @Test.
tests=$(find Tests -name '*.swift' -print0 | sort -z | xargs -0 awk '
    function flush(   rest, id, seen) {
        if (!inside) return
        split("", seen)
        # The name of a test is what is left of its declaration without its arguments.
        sub(/arguments:.*func /, "func ", name)
        rest = name
        while (match(rest, /[A-Z][A-Z]+[-_]?[0-9][0-9]+/)) {
            id = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            gsub(/[-_]/, "", id)
            if (!(id in seen)) { seen[id] = 1; print id "\t" place "\t" asserts }
        }
        inside = 0
    }
    FNR == 1 { flush() }
    /^[[:space:]]*@Test/ {
        flush()
        inside = 1; isDeclared = 0; hasFunc = 0; name = ""; asserts = 0; place = FILENAME ":" FNR
        match($0, /^[[:space:]]*/); end = substr($0, 1, RLENGTH) "}"
    }
    inside && !/^[[:space:]]*\/\// {
        if (!isDeclared) {
            name = name " " $0
            if (/(^|[^[:alnum:]_])func /) hasFunc = 1
            if (hasFunc && /{[[:space:]]*$/) isDeclared = 1
        }
        asserts += gsub(/#expect|#require|Issue\.record/, "&")
    }
    inside && $0 == end { flush() }
    END { flush() }
')

failed=0
for group in "${groups[@]}"; do
    while read -r id _; do
        [[ -z $id || $id == \#* ]] && continue
        key=${id//-/}
        found=$(awk -F'\t' -v key="$key" '$1 == key { tests++; asserts += $3 } END { print tests + 0, asserts + 0 }' <<<"$tests")
        read -r count asserts <<<"$found"
        note=
        if ((count == 0)); then
            note="  <- no test" failed=1
        elif ((asserts == 0)); then
            note="  <- no assertion" failed=1
        fi
        printf '%-10s %3d tests %4d assertions%s\n' "$id" "$count" "$asserts" "$note"
    done <"Tests/Cases/$group.txt"
done
if ((failed)); then
    echo "error: a case is without a test or without an assertion" >&2
    exit 1
fi
