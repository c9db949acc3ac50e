#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The readers of sed and awk programs against the tools themselves: a program that a reader calls harmless must be harmless to the tool.

usage: programs_compare.py PROGRAM_FACTS [SECONDS [SEED]]

GNU sed refuses e, r and w in a program under --sandbox; gawk's debugger dumps the code it made of one, where each redirection, pipe, getline and
system() stands. Nothing of the generated programs runs. Prints TAP.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

SED = r"""s/a/b/|s/a/b/g|s,a,b,w|s/a/b/e|s!x!y!gw out|w out|W o|r f|R f|e id|e|1|$|/x/|/a\/b/|\cxc|0,/x/|1,3|1~2|2,+3|1!|{|}|;|@| |p|d|n|N|x|h|G|D|P|=|l|l 5|q|q5|Q|z|F
|y/abc/def/|a\|a text|i\@foo|c bar|:a|ba|bb;|t|T x|#c|#n|\|/|[|[/]|[^/]|\n|s/[/]/b/|s/\(a\)/\1/|I|M|m|w|W|s/a/b/;w o|s/x/\@y/|}w o|$!N|s/a/b/2w x|y/a/b/;w|v|L
|a|i|c|s|sxaxbxw o|sxa\xbxcx|s/a\nb/c/|s@a@b@|1,/x/w|\%x%w o|/x/I|/x/M,/y/|+1|~2|0~3"""
SED = [atom.replace("@", "\n") for atom in SED.replace("\n|", "|").split("|")]

EXPRESSIONS = ["a", "$1", "$NF", "1", '"s"', r'"x\"y"', "/re/", '/[/"]/', '/"/', "x[1]", 'x["k"]', "length", "length(a)", "(a)", "(a,b) in x", "a b", "a/b", "a / b", "(a)/b", "x[1]/2",
               "a++", "++a", "a++/2", "-a", "!a", "a~/x/", "a>b", "(a>b)", "a>b?c:d", "split(a,x,/,/)", 'gsub(/"/,"")', 'match(a,/x"/)', "a=b", "a/=2", "f(a)", 'f(/"/)', '"a" "b"', "$(1)/2",
               "a in x", "1e3", ".5", 'index(a,"/")', "getline", "getline z"]
STATEMENTS = ["print", "print E", "print E,E", "print(E)", "print (E)(E)", 'printf "%s",E', "E", "if(E)S", "if(E)S;else S", 'if (E) /"/;', "while(E)S", 'while (0) /"/', "for(i=0;i<2;i++)S",
              "for(k in x)S", "for(;;)S", "do S;while(E)", "{S}", "{S;S}", "{S\nS}", "next", "exit E", "delete x[1]", 'switch(E){case "a":S\ncase /"/:S\ndefault:S}', 'print E > "o"',
              'print E >> "o"', 'print E | "sh"', 'printf "x" > E', '"id" | getline x', 'getline x < "f"', 'system("id")', "print E > E", 'print > "o"', 'print a, b > ("x" y)', 'S # "c\n', "E; E",
              "@f(a)", 'print E |& "sh"', 'print "x" > "/dev/null" "y"']
RULES = ["{S}", "BEGIN{S}", "END{S}", '/"/{S}', "E{S}", "E", "E,E{S}", "NR>1", "!/x/", "function f(p){S}{S}", "function g(p,q){return E}\n{S}", "{S}\n{S}", '/x/&&/y"/{S}', "$1>2||$2<3",
         'BEGIN{S}\n#c "\n{S}', '{S}#"\n']
OUTSIDE = re.compile(r'redir_type = " [^"]|getline_redir|builtin *: system|indirect_func')


def spoil(text, letters, often):
    if text and random.random() < often:
        at = random.randrange(len(text))
        text = text[:at] + random.choice(letters) + text[at + random.randint(0, 1):]
    return text


def sed_program():
    return spoil("".join(random.choice(SED) for _ in range(random.randint(1, 7))), "swrWReay{};\\/ \n#", 0.3)


def expand(text, depth):
    out = ""
    for letter in text:
        if letter == "S":
            out += expand(random.choice(STATEMENTS), depth + 1) if depth < 4 else "print"
        elif letter == "E":
            out += expand(random.choice(EXPRESSIONS), depth + 1) if depth < 5 else "a"
        else:
            out += letter
    return out


def awk_program():
    text = random.choice(RULES).replace("BEGIN", "\1").replace("END", "\2")
    text = spoil(expand(text, 0).replace("\1", "BEGIN").replace("\2", "END"), '"/ ;{}()>|\n\\#', 0.25)
    return text.replace(" ", random.choice(["", "  ", "\t"])) if random.random() < 0.2 else text


def sed_refuses(text, folder):
    del folder
    run = subprocess.run(["sed", "--sandbox", "-n", "--", text], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return "sandbox" in run.stderr, "sandbox" in run.stderr or run.returncode == 0


def gawk_reaches_outside(text, folder):
    path = os.path.join(folder, "program.awk")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    run = subprocess.run(["gawk", "-D", "-f", path], input="dump\nquit\ny\n", capture_output=True, text=True, errors="replace")
    return bool(OUTSIDE.search(run.stdout)), "error" not in run.stderr


def compare(number, tool, make, oracle, facts, seconds, folder):
    tried = accepted = 0
    missed = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        texts = [text for text in (make() for _ in range(100)) if text.strip() and "\0" not in text]
        said = subprocess.run([facts, tool], input="".join(text + "\0" for text in texts), capture_output=True, text=True, check=True).stdout.split()
        for text, flags in zip(texts, said):
            if flags != ".":
                continue
            tried += 1
            outside, understood = oracle(text, folder)
            accepted += understood
            if outside:
                missed.append(text)
            if time.monotonic() >= end:
                break
    good = not missed and accepted
    print(f"{'' if good else 'not '}ok {number} {tool}: of {tried} programs the reader calls harmless, {accepted} are programs and {len(missed)} reach outside")
    for text in missed[:10]:
        print(f"# {text!r}")
    return good


def main():
    facts, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 3
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    print("1..2")
    with tempfile.TemporaryDirectory() as folder:
        good = compare(1, "sed", sed_program, sed_refuses, facts, seconds, folder)
        if shutil.which("gawk"):
            good &= compare(2, "awk", awk_program, gawk_reaches_outside, facts, seconds, folder)
        else:
            print("ok 2 awk # SKIP gawk is not installed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
