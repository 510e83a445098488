#!/usr/bin/env bash
# Everything about the sources that a machine can check without building them. Prints each finding; fails on any.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
finding() {
    echo "lint: $1" >&2
    failed=1
}

# Lines of `find … | grep`: prints the matches under a heading and fails if there are any.
forbid() {
    local what=$1 pattern=$2
    shift 2
    local paths=() path
    for path in "$@"; do [[ -e $path ]] && paths+=("$path"); done
    ((${#paths[@]})) || return 0
    local hits
    hits=$(grep -rnE --include='*.swift' "$pattern" "${paths[@]}" || true)
    if [[ -n $hits ]]; then
        finding "$what"
        echo "$hits" >&2
    fi
}

swift format lint --strict -r -p Package.swift Sources Tests Benchmarks Fuzz || failed=1

import='^[[:space:]]*(@[a-zA-Z_()]+[[:space:]]+)*((internal|package|public|private|fileprivate)[[:space:]]+)?import[[:space:]]+([a-z]+[[:space:]]+)?'

# Only the runtime and the endpoint's driver do I/O. The test kit's relay and the tools stand outside the library.
hits=$(grep -rnE --include='*.swift' "${import}(Glibc|Musl|CLinux)\\b" Sources/ICELite Sources/Transport |
    grep -vE '^Sources/Transport/(Runtime|Endpoint)/' || true)
if [[ -n $hits ]]; then
    finding "only Transport/Runtime and Transport/Endpoint may import Glibc or CLinux"
    echo "$hits" >&2
fi

forbid "ICELite imports no Foundation" "${import}Foundation" Sources/ICELite
forbid "Transport imports FoundationEssentials at most" "${import}Foundation([[:space:].]|\$)" Sources/Transport
forbid "the packet path imports no Foundation" "${import}Foundation" \
    Sources/Transport/{Path,DTLS,SRTP,RTP,Audio}
forbid "C modules are imported internally" \
    '^[[:space:]]*(package|public)[[:space:]]+import[[:space:]]+C(Linux|OpenSSL|SRTP|Opus)\b' Sources
forbid "no force try, no forced cast, no trap on purpose outside tests" \
    '(^|[^[:alnum:]_])(try!|as!|fatalError\()' Sources Benchmarks

# Arrows go down: what lies below imports or names nothing that lies above.
forbid "ICELite knows nothing of Transport" "${import}(Transport|TransportTestKit|CSRTP|COpus|CLinux)\\b" Sources/ICELite
forbid "Transport knows nothing of its tools" "${import}TransportTestKit\\b" Sources/Transport
below="Sources/Transport/RTP Sources/Transport/SDP Sources/Transport/DTLS Sources/Transport/SRTP Sources/Transport/Path \
Sources/Transport/Line Sources/Transport/Audio Sources/Transport/Call"
# shellcheck disable=SC2086
forbid "the machines name neither session nor endpoint" \
    '^[^/]*\b(TransportSession|AgentEndpoint|AgentCall)\b[.(]' $below
# Machines read no clock and draw nothing: now and Randomness are handed in.
# shellcheck disable=SC2086
forbid "machines read no clock and draw no randomness" \
    '\b(ContinuousClock|SuspendingClock|clock_gettime|SystemRandomNumberGenerator|\.random\(in:[^,]*\)[^,]*$|Date\(\))' $below \
    Sources/ICELite/STUN Sources/ICELite/Candidate Sources/ICELite/Agent

Scripts/cases.sh >/dev/null || finding "a case has no test or no assertion: Scripts/cases.sh lists them"

((failed == 0)) || { echo "error: lint found something" >&2; exit 1; }
