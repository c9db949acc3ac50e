#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The readers of sed and awk programs against sed and gawk: what a reader calls harmless must be harmless. Prints TAP.
exec python3 "$(dirname "$0")/../fuzz/programs_compare.py" "${CORDON_BUILD:?names the folder of the built programs; tests/run sets it}/tests/program_facts" 3
