#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shell_compare.py PROGRAMS ROOT TEXTS SEED: called by tests/boundary/shell_jail.sh; prints TAP, and what differs as comments.

Acceptance: what `bash -n` or `dash -n` takes the reader takes or refuses with a problem; how many it refuses is reported and bounded.
Ground truth: each program that a shell ran in the jail must be among the commands the reader found, with the same arguments where
those are static; or the reader must have said that something is known at run time only (SHOW_UNKNOWN=1 in the environment prints these)."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import shell_texts

programs, root, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
source_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
results = 0
failed = 0


def result(good, name):
    global results, failed
    results += 1
    failed += not good
    print('%s %d %s' % ('ok' if good else 'not ok', results, name), flush=True)


def note(text):
    print('# ' + text, flush=True)


def batch(command, records):
    """Feeds records of (head, bytes) to a program that answers a line of JSON for each."""
    data = b''.join(b'%s %d\n' % (head.encode(), len(text)) + text for head, text in records)
    run = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=False)
    lines = run.stdout.decode('latin-1').splitlines()
    if len(lines) != len(records):
        note('%s: exit %d after %d of %d texts: %r' % (command[0], run.returncode, len(lines), len(records), records[min(len(lines), len(records) - 1)]))
        result(False, '%s answers every text' % os.path.basename(command[0]))
        sys.exit(1)
    return [json.loads(line) for line in lines]


def read_all(records):
    return batch([os.path.join(programs, 'shell_dump')], records)


def run_all(records):
    """In two jails side by side; the second half of the records goes to a copy of the folder."""
    answers = [None, None]
    half = (len(records) + 1) // 2
    parts = records[:half], records[half:]

    def run(i, folder):
        answers[i] = batch([os.path.join(programs, 'shell_jail'), folder], parts[i]) if parts[i] else []

    os.makedirs(os.path.join(root, 'second'), exist_ok=True)
    second = os.path.join(root, 'second')
    for name in os.listdir(root):
        if name not in ('second', 'log', 'w', 'dev'):
            target = os.path.join(second, name)
            if os.path.islink(target) or os.path.exists(target):
                shutil.rmtree(target)
            subprocess.run(['cp', '-al', os.path.join(root, name), target], check=True)
    for name in ('log', 'w', 'dev'):
        os.makedirs(os.path.join(second, name), exist_ok=True)
    subprocess.run(['cp', '-a', os.path.join(root, 'dev/null'), os.path.join(second, 'dev/null')], check=True)
    threads = [threading.Thread(target=run, args=(0, root)), threading.Thread(target=run, args=(1, second))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if answers[0] is None or answers[1] is None:
        sys.exit(1)
    return answers[0] + answers[1]


def matches(words, argv):
    """Whether a found command can be this argv: None is any one argument, 0 any number."""
    states = {0}
    for word in words:
        following = set()
        for i in states:
            if word == 0:
                following.update(range(i, len(argv) + 1))
            elif i < len(argv) and (word is None or word == argv[i]):
                following.add(i + 1)
        states = following
        if not states:
            return False
    return len(argv) in states


def stand_in(name):
    """A name in a text becomes a program of the jail."""
    path = os.path.normpath(name if name.startswith('/') else '/bin/' + name)
    target = root + path
    if not re.match(r'/(bin|sbin|usr|opt|lib)/', path) or os.path.lexists(target) or '.so' in path:
        return
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.link(os.path.join(root, 'bin/stand-in'), target)
    except OSError:
        pass


SHELLS = {'bash': 'bash', 'dash': 'posix', 'sh': 'posix'}


def compare(name, records):
    """records: (shell, text). Every program that ran has to have been found."""
    found = read_all([(SHELLS[shell], text) for shell, text in records])
    readable = [(record, f) for record, f in zip(records, found) if 'problem' not in f]
    ran = run_all([record for record, _ in readable])
    tally = collections.Counter()
    bad = 0
    for ((shell, text), f), commands in zip(readable, ran):
        for argv in commands:
            tally['programs'] += 1
            # the loader is the only real program of the jail beside the shells
            commands_found = f['commands'] + [words[1:] for words in f['commands'] if re.search(r'/ld-linux[^/]*$', str(words[0]))]
            alike = [words for words in commands_found if words and (words[0] == argv[0] or not isinstance(words[0], str))]
            if any(matches(words, argv) for words in alike if isinstance(words[0], str)):
                tally['static'] += 1
            elif any(matches(words, argv) for words in alike):
                tally['dynamic'] += 1
            elif f['unknown']:
                tally['unknown'] += 1
                if os.environ.get('SHOW_UNKNOWN'):
                    note('unknown: %r in %r; found %r' % (argv, text[:200], f['commands']))
            else:
                bad += 1
                if bad <= 5:
                    note('%s ran %r, not found in %r; found %r' % (shell, argv, text, f['commands']))
    problems = collections.Counter(f['problem'] for f in found if 'problem' in f)
    note('%s: %d texts, %d read, %d programs run: %d found as such, %d by a dynamic command, %d in texts with an unknown evaluation' % (
        name, len(records), len(readable), tally['programs'], tally['static'], tally['dynamic'], tally['unknown']))
    for problem, nr in problems.most_common(5):
        note('  %d refused: %s' % (nr, problem))
    result(bad == 0, '%s: every program that ran was found (%d of %d not)' % (name, bad, tally['programs']))
    result(tally['static'] > 0, '%s: programs ran' % name)


def acceptance(scripts):
    small = [s for s in scripts if len(s[2]) <= 65536]
    found = read_all([(dialect, data) for _, dialect, data in small])
    taken = refused = 0
    why = collections.Counter()
    for (path, dialect, _), f in zip(small, found):
        shell = 'bash' if dialect == 'bash' else 'dash'
        if subprocess.run([shell, '-n', path], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            continue
        taken += 1
        if 'problem' in f:
            refused += 1
            why[f['problem']] += 1
    times = sorted(f['us'] for f in found)
    note('%d installed scripts that -n accepts: %d refused (%.1f %%)' % (taken, refused, 100.0 * refused / max(taken, 1)))
    for problem, nr in why.most_common(8):
        note('  %d refused: %s' % (nr, problem))
    note('reading a script takes %.0f us in the median, %.0f at most' % (times[len(times) // 2], times[-1]))
    result(taken >= 100, 'scripts were found on this machine')
    result(refused <= taken * 0.03, 'at most 3 % of the installed scripts are refused')
    return small


def shfmt(texts):
    """What another parser takes as bash should not be refused as ungrammatical more often than what it refuses."""
    tool = shutil.which('shfmt')
    if not tool:
        print('ok %d # SKIP shfmt is not installed' % (results + 1))
        globals()['results'] += 1
        return
    found = read_all([('bash', text) for text in texts])
    tally = collections.Counter()
    for text, f in zip(texts, found):
        taken = subprocess.run([tool, '-ln', 'bash'], input=text, capture_output=True, check=False).returncode == 0
        tally[taken, 'problem' not in f] += 1
    note('shfmt and the reader: both take %d, both refuse %d, only shfmt takes %d, only the reader takes %d' % (
        tally[True, True], tally[False, False], tally[True, False], tally[False, True]))
    result(tally[True, True] > 0, 'shfmt was asked')


scripts = acceptance(list(shell_texts.installed_scripts()))
bash_texts = list(shell_texts.generate(count * 2 // 3, seed, False))
posix_texts = list(shell_texts.generate(count // 3, seed, True))
cases = sorted(set(shell_texts.case_texts(source_root)))
for n in range(30):
    stand_in('c%d' % n)
compare('generated for bash', [('bash', text) for text in bash_texts if b'\0' not in text])
compare('generated for sh', [(shell, text) for text in posix_texts for shell in ('dash', 'sh')])
shfmt(bash_texts[:150])
for text in cases + [data for _, _, data in scripts]:
    for token in set(re.findall(rb'[A-Za-z0-9_./+-]+', text)):
        if len(token) < 40 and not re.fullmatch(rb'[-0-9.]*', token):
            stand_in(token.decode())
compare('cases', [('bash', text) for text in cases if b'\0' not in text])
compare('installed scripts', [('bash' if dialect == 'bash' else 'dash', data) for _, dialect, data in scripts])
# Most end at once without their arguments: once more where exit does not.
compare('installed scripts that do not exit', [('bash', b'exit() { :; }\n' + data) for _, _, data in scripts])
print('1..%d' % results)
sys.exit(failed > 0)
