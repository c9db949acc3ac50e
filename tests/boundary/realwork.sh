#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ordinary work under the shipped rules: what docs/PROGRAMS.md says works does, and no helper of a tool is refused on the way; what it says is refused is,
# by the rule it names. Then the helpers' ways as attacks: what an agent puts into them stays refused.
. "$(dirname "$0")/lib.sh"
cp -r "$SOURCE/policies" "$WORK/policies"
FIXTURE_POLICIES=$WORK/policies
has_record() { [ "$(records "$@")" -gt 0 ]; }

mkdir "$WORK/src"
(
	set -e
	cd "$WORK/src"
	mkdir c rs rs/src notes app
	printf 'int f(int);\nint main(void) { return f(2) != 42; }\n' >c/main.c
	printf 'int f(int x) { return x * 21; }\n' >c/f.c
	printf 'prog: main.o f.o\n\tcc -o prog main.o f.o\ncheck: prog\n\t./prog\nlib.a: f.o\n\tar rcs lib.a f.o\nclean:\n\trm -f prog *.o\n' >c/Makefile
	printf '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n' >rs/Cargo.toml
	printf 'fn main() { println!("{}", env!("BUILT")); }\n#[test]\nfn t() {}\n' >rs/src/main.rs
	printf 'fn main() { println!("cargo:rustc-env=BUILT=by-a-script"); }\n' >rs/build.rs
	printf '{"name":"app","version":"1.0.0","scripts":{"test":"node test.js","clean":"rm -rf dist"}}' >app/package.json
	echo 'console.log("tested")' >app/test.js
	for i in 1 2 3; do echo "note $i TODO" >notes/n$i.txt; done
	for how in z j J; do tar "-c${how}f" "notes.t$how" notes; done
	gzip -k notes/n1.txt
	export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.test GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.test GIT_CONFIG_GLOBAL=/dev/null
	git init -q -b main repo
	cd repo
	git config user.email a@example.test
	git config user.name A
	cp ../notes/*.txt .
	git add .
	git commit -q -m one
	git branch feature
	git commit-graph write
) >"$WORK/made" 2>&1 || bail "the sources of the work" "$(cat "$WORK/made")"
begin() {	# MODE UNREVIEWED
	fixture_start "$@"
	cp -r "$WORK/src" "$INSIDE/workspace/src"
	inside chown -R agent: /workspace/src
}

# works <<TABLE "NAME: TEXT" (a name with "(PROGRAM)" needs it): ends with 0, and nothing of it is refused.
works() {
	local name text needs refused
	while IFS= read -r line; do
		name=${line%%: *} text=${line#*: }
		needs=$(sed -n 's/.*(\(.*\)).*/\1/p' <<<"$name")
		if [ -n "$needs" ] && ! command -v "$needs" >/dev/null; then
			skip "$name" "not installed here: $needs"
			continue
		fi
		run --agent "work$RESULTS" -- bash -lc "$text"
		wait_until 60 has_record type=cmd_end "agent=work$RESULTS"
		refused=$(records --show type=syscall decision=deny "agent=work$RESULTS" 'sys.name~^(exec|open|rename|unlink|mkdir)')
		if [ "$STATUS" -eq 0 ] && [ -z "$refused" ]; then ok "$name"; else not_ok "$name" "status $STATUS" "$OUT" "$ERR" "$refused"; fi
	done
}
# refuses <<TABLE "RULE: TEXT": by the launch's text or at an exec of it.
refuses() {
	local rule text
	while IFS= read -r line; do
		rule=${line%%: *} text=${line#*: }
		run --agent "no$RESULTS" -- bash -lc "$text"
		if wait_until 60 has_record "agent=no$RESULTS" decision=deny "rule.id=$rule"; then ok "refused by $rule: $text"; else not_ok "refused by $rule: $text" "status $STATUS" "$OUT" "$ERR"; fi
	done
}

# ---- attended, without a reviewer

begin guarded allow
works <<'TABLE'
git status, diff: cd src/repo && git status && git diff --stat
git switch, add, commit, merge: cd src/repo && git switch -q feature && cp ../c/f.c . && git add . && git commit -q -m f && git switch -q main && git merge -q feature
git stash and apply: cd src/repo && cp ../notes/n1.txt n2.txt && git stash -q && git stash apply -q
git clone, fetch, pull: git clone -q src/repo copy && git -C copy fetch -q && git -C copy pull -q
git gc: git -C src/repo gc -q
make: cd src/c && make -j2 && make check && make lib.a
cmake (cmake): cd src && printf 'cmake_minimum_required(VERSION 3.13)\nproject(d C)\nadd_executable(p c/main.c c/f.c)\n' >CMakeLists.txt && cmake -B build . && cmake --build build
npm test (npm): cd src/app && npm test
cargo run, with a build script (cargo): cd src/rs && cargo run -q --offline
cargo test (cargo): cd src/rs && cargo test -q --offline
nmap -sT (nmap): nmap -sT -n -Pn -p 8099 127.0.0.1
tar, sed -i, find -exec: cd src && tar -czf new.tgz notes && tar -xzf new.tgz -C /tmp && sed -i s/TODO/DONE/ notes/n1.txt && find notes -name '*.txt' -exec grep -H DONE {} +
TABLE
refuses <<'TABLE'
guarded.destroy: rm src/notes/n1.txt
guarded.destroy: cd src/c && make clean
guarded.destroy: cd src/repo && git stash pop
guarded.destroy: cd src/repo && git rebase main
guarded.publish: cd copy && git push origin HEAD:x
guarded.wrap: ls | xargs cat
guarded.dynamic: node -e 1
exec.alone: cd src/c && make prog && ./prog
TABLE

# What cargo hands on is for what agents built: never for a program of the image, nor for its interpreters.
cat >"$WORK/hands.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	setenv("LD_LIBRARY_PATH", "/workspace/lib", 1);
	if (argc > 1) execv(argv[1], argv + 1);
	perror("exec");
	return argc > 1;
}
C
gcc -static -o "$INSIDE/workspace/hands" "$WORK/hands.c" || bail "a program that hands a name on"
cp "$INSIDE/workspace/hands" "$INSIDE/workspace/built"
printf '#!/bin/sh\necho script\n' >"$INSIDE/workspace/script" && chmod 755 "$INSIDE/workspace/"{hands,built,script}
run --agent hands -- ./hands /workspace/built
equal "its like gets it" 0 "$STATUS"
for program in /usr/bin/id /bin/sh /usr/bin/git /workspace/script; do
	run --agent hands -- ./hands $program
	equal "not $program" "1 exec: Permission denied" "$STATUS $OUT$(head -n 1 <<<"$ERR")"
done
check "as the records say" wait_until 60 eval '[ "$(records agent=hands tag=environment rule.id=environment.code decision=deny)" -ge 4 ]'
run_script 'LD_LIBRARY_PATH=/workspace/lib ./built' --agent script
equal "nor does a shell set it" 126 "$STATUS"
# find runs what its words say, and is nobody's helper.
echo keep >"$INSIDE/workspace/keep" && chmod 666 "$INSIDE/workspace/keep"
run_script 'find /workspace/keep -exec find /workspace/keep -delete ";"'
check "find below find deletes no more than find" test -e "$INSIDE/workspace/keep"
fixture_stop

# ---- where nobody reviews: what is allowed outright is allowed with its helpers

begin guarded deny
works <<'TABLE'
tar -t, gzip: tar -tzf src/notes.tz
tar -t, what it is: tar -tvf src/notes.tJ
tar -t, bzip2: tar -tjf src/notes.tj
git log: cd src/repo && git log --oneline -n 3
git fsck: cd src/repo && git fsck
zgrep: zgrep TODO src/notes/n1.txt.gz
find -exec grep: find src/notes -name '*.txt' -exec grep -H TODO {} +
TABLE
check "helpers are recorded as such" wait_until 60 eval '[ "$(records by=helper sys.name=execve decision=allow unreviewed=)" -ge 4 ]'
# git log of a clone that lacks an object fetches it, from wherever its configuration says: that is no helper that works on files.
listen 127.0.0.1 8000 1500 "$WORK/promised"
inside setpriv --reuid 1500 --regid 1500 --clear-groups sh -c 'cd /workspace/src/repo && git config extensions.partialClone origin && git config remote.origin.promisor true &&
	git config remote.origin.url http://127.0.0.1:8000/x && object=$(git rev-parse HEAD^{tree}) && mv .git/objects/$(echo $object | cut -c 1-2)/$(echo $object | cut -c 3-) /tmp/object'
run --agent lazy -- sh -c 'cd src/repo && git log --oneline --name-only'
equal "a fetch on behalf of git log is judged alone" "0 0" "$(connections "$WORK/promised") $(records agent=lazy by=helper sys.exec.argv~fetch decision=allow)"
check "and refused" wait_until 60 has_record agent=lazy sys.exec.argv~fetch decision=deny tag=review_unavailable
fixture_stop

# ---- wrappers that are followed

sed -i 's/"wrappers": "block"/"wrappers": "follow"/' "$WORK/policies/policy.json"
begin guarded allow
works <<'TABLE'
stdbuf: stdbuf -oL cat src/notes/n2.txt
timeout make: cd src/c && timeout 60 make
xargs: find src/notes -name '*.txt' | xargs grep -l note
TABLE
refuses <<'TABLE'
guarded.destroy: timeout 5 rm src/notes/n1.txt
TABLE
run_script 'LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so:/workspace/x.so cat src/notes/n1.txt' --agent two
equal "no other library beside stdbuf's" 126 "$STATUS"
check "the notes are whole" test "$(cat "$INSIDE"/workspace/src/notes/n1.txt)" = "note 1 TODO"
