# SPDX-License-Identifier: Apache-2.0
# needs: git
# Commits, rebase, worktree, gc, stash, bisect, hooks, submodule, push, clone over file:// and from the daemon.
export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
set -e
git config --global user.email a@example.test
git config --global user.name A
git config --global protocol.file.allow always
git init -q -b main origin
cd origin
for i in $(seq 20); do
	mkdir -p "d$((i % 5))"
	echo "$i" | tee -a all >"d$((i % 5))/f$i"
	git add -A
	git commit -q -m "commit $i"
done
git checkout -q -b side HEAD~10
echo side >side
git add side
git commit -q -m side
git checkout -q main
cd ..
git clone -q "file://$PWD/origin" copy
cd copy
git checkout -q -b side origin/side
git rebase -q main
git log --oneline | head -n 3
git worktree add -q ../tree main~3
git -C ../tree status --short --branch
git worktree list | wc -l
git gc -q --prune=now
git fsck --full
echo more >>all
git stash -q
git stash pop -q
git status --short
git checkout -q all
git push -q origin side:pushed
git -C ../origin branch --list pushed
git tag -a v1 -m v1
git describe
git archive HEAD | tar -t | head -n 3
git bisect start HEAD HEAD~15 >/dev/null
git bisect run sh -c 'test "$(wc -l <all)" -lt 12' | grep 'first bad'
git bisect reset 2>&1 | grep -v "^Prev"
printf '#!/bin/sh\necho the hook ran\n' >.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
git commit -q --allow-empty -m hooked 2>&1
git submodule --quiet add "file://$PWD/../origin" sub
git commit -q -m sub
git -C sub log --oneline | wc -l
git daemon --base-path="$PWD/.." --export-all --listen=127.0.0.1 --port=19418 --reuseaddr &
daemon=$!
for _ in $(seq 1000); do ! (exec 3<>/dev/tcp/127.0.0.1/19418) 2>/dev/null || break; sleep 0.05; done
git clone -q git://127.0.0.1:19418/origin ../net
git -C ../net log --oneline | wc -l
kill "$daemon"
wait "$daemon" || echo "the daemon ended with $?"
