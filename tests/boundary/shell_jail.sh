#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shell reader against real shells: whether it takes what `bash -n`, `dash -n` and shfmt take, and whether it found every program
# that bash and dash really run, in a jail where every program is a stand-in that says it was called.
#
# usage: tests/boundary/shell_jail.sh [TEXTS [SEED]]   (2000 generated texts and seed 1 unless told; about a minute)
# CORDON_BUILD names the folder of the built programs. Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${CORDON_BUILD:-build/dev}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP the jail needs root"; exit 0; }

root=$(mktemp -d)
trap 'umount "$root" 2>/dev/null || :; rmdir "$root"' EXIT
mount -t tmpfs -o size=64m,nosuid,mode=0755 none "$root"
mkdir -m 0755 "$root"/{bin,log,w,dev}
mknod -m 0666 "$root/dev/null" c 1 3
mount -o remount,dev "$root"
# The shells and what they are linked to; their libraries lie where they expect them.
cp /bin/bash /bin/dash "$root/bin/"
ln -s dash "$root/bin/sh"
ldd /bin/bash /bin/dash | grep -o '/[^ ]*' | grep '\.so' | sort -u | while IFS= read -r library; do
	mkdir -p "$root/$(dirname "$library")"
	cp -L "$library" "$root/$library"
done
cp "$build/tests/shell_stub" "$root/bin/stand-in"
python3 tests/fuzz/shell_compare.py "$build/tests" "$root" "${1:-2000}" "${2:-1}"
