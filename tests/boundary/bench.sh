#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether the benchmark still measures; what it measures is nobody's pass or failure (docs/BENCH.md). Prints TAP.
set -uo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)

for program in bwrap git make gcc curl; do
	command -v "$program" >/dev/null || { echo "ok 1 the benchmark measures # SKIP $program is not installed"; echo 1..1; exit 0; }
done
if output=$("$ROOT/tests/bench/run" --smoke --only micro,launch,memory,workloads 2>&1); then
	echo "ok 1 the benchmark measures"
else
	echo "not ok 1 the benchmark measures"
	tail -n 30 <<<"$output" | sed 's/^/# /'
fi
echo 1..1
