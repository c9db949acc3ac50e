# SPDX-License-Identifier: Apache-2.0
"""Texts for the comparison of the shell reader with real shells: made from a grammar, spoiled on purpose, or found on the machine."""
import os
import random
import re

NASTY = ['\\\n', '\\', "'", '"', '`', '$', '$(', '$((', '((', '))', ')', '(', '{', '}', '${', '${x:-', '<<E', '<<-E', "<<'E'", '\nE\n', '\n\tE\n',
         '\nE \n', '#', ' #', ';', ';;', '&', '&&', '|', '||', '|&', '!', '! ', '\n', '\t', ' ', '<(', '>(', '>', '<', '>&', '&>', '>|', '<>', '2>',
         '[[ ', ' ]]', ' =~ ', 'if ', ' then ', ' fi ', ' do ', ' done ', 'case x in ', ' esac ', 'in ', 'function ', 'coproc ', 'time ', '=', '+=',
         'a=', 'a[', ']', '=(', '$\'', '$"', '\r', '\v', '\f', '\xa0', '{a,b}', '{c1,', ',}', '*', '?', '[', '~', '-', '--', '$[', '\\$', '\\`',
         '\\"', "\\'", '`c1`', '\\`c2\\`', '$(c3)', '<<<', '{fd}>', '3', '12', '${#', '${!', '@', '@P}', '%', '##', '//', '^^', ':', '()', '() { ',
         '<<E <<F', 'E', 'F', '\nF\n', '<<"E"', '<<\\E', '<<E\'\'', ';&', ';;&', 'select ', 'until ', 'eval ', 'trap ', 'let ', '[ ', 'test -v ',
         'declare ', 'a\\\nb', '"$(', '`"', '"`', '\')', '"}', "'}", '$(#', '$( (', '$((c4) )', '+(', '@(', '!(', 'echo ', ' c5 ', 'c6', '$x', '"$X"',
         '\x00'[:0], 'esac)', '(esac)', '<&-', '>&-', '&-', '$\\\n(', '<\\\n<', '&\\\n&', 'i\\\nf ']


class Grammar:
    """One text at a time; every program in it is called cN, so that whatever runs can be told from whatever is said."""

    def __init__(self, random_source, posix):
        self.r = random_source
        self.posix = posix
        self.here = [[]]        # bodies that wait for a newline, per nested text

    def pick(self, *choices):
        choice = self.r.choice(choices)
        return choice() if callable(choice) else choice

    def name(self):
        return 'c%d' % self.r.randrange(30)

    def spelled(self):
        n = self.name()
        i = self.r.randrange(1, len(n))
        forms = [n] * 6 + [n[:i] + '\\' + n[i:], "'%s'" % n, '"%s"' % n, n[:i] + "''" + n[i:], n[:i] + '\\\n' + n[i:], n[:i] + '"%s"' % n[i:]]
        if not self.posix:
            forms += ["$'\\x%02x'%s" % (ord(n[0]), n[1:]), "$'%s'" % n, '{%s,%s}' % (n, self.word(0)), "$'\\%03o'%s" % (ord(n[0]), n[1:])]
        return self.r.choice(forms)

    def plain(self):
        return self.pick('a', 'b1', '-x', '/w/f', 'x=y', '--', 'in', 'do', 'if', 'E', 'a#b', '1', '{}', 'a]', ']', '^', '%', ',', 'then', 'a}', '{')

    def inside_double(self, depth):
        return ''.join(self.pick(' ', 'a', "'", '#', '(', ')', '{', ';', '&', '|', '\\"', '\\\\', '\\$', '\\`', '\\\n', '\n', '$', '<', '!', '*', '~',
                                 lambda: self.expansion(depth, '"'), lambda: self.expansion(depth, '"')) for _ in range(self.r.randrange(4)))

    def operand(self, depth, quote):
        parts = []
        for _ in range(self.r.randrange(3)):
            choices = ['a', ' ', 'b c', '\\}', '#', ';', ')', '(', '*', lambda: self.expansion(depth, quote), lambda: self.expansion(depth, quote)]
            if quote == '':
                choices += [lambda: "'%s'" % self.pick('a', '}', '$(c1)', '"', 'a b'), lambda: '"%s"' % self.inside_double(depth)]
            elif quote == '"':
                choices += [lambda: '"%s"' % self.pick('a', 'b c', '}', '$X'), "'a'", "'$(c2)'"]
            else:
                choices += ["'a'", '"a"']
            parts.append(self.pick(*choices))
        return ''.join(parts)

    def parameter(self, depth, quote):
        name = self.pick('x', 'X', 'N', 'u', '1', '2', '@', '#', '?')
        ops = [':-', '-', ':=', '=', ':+', '+', ':?', '?', '#', '##', '%', '%%']
        if not self.posix:
            ops += ['/', '//', '/#', '/%', '^', '^^', ',', ',,']
        forms = [lambda: '$' + name, lambda: '${%s}' % name, lambda: '${#%s}' % self.pick('x', 'X', '@', '')]
        forms += [lambda: '${%s%s%s}' % (self.pick('x', 'X', 'u', 'N'), self.r.choice(ops), self.operand(depth, quote))] * 4
        if not self.posix:
            forms += [lambda: '${X:%s}' % self.arithmetic(depth), lambda: '${X:%s:%s}' % (self.arithmetic(depth), self.arithmetic(depth)),
                      '${X@Q}', '${!x*}', '${a[@]}', '${a[0]}', lambda: '${a[%s]}' % self.arithmetic(depth), '${#a[@]}', '${!a[@]}']
        return self.pick(*forms)

    def arithmetic(self, depth):
        if depth <= 0:
            return self.pick('1', '0', '2')
        return self.pick('1', ' 2 ', 'N', '$N', '0x1f', lambda: '%s+%s' % (self.arithmetic(depth - 1), self.arithmetic(depth - 1)),
                         lambda: '(%s)' % self.arithmetic(depth - 1), lambda: '$(%s)' % self.nested(depth - 1), lambda: '1%s' % self.pick('<2', '>1', '*3', '?4:5', '\n'),
                         lambda: self.backquotes(depth - 1, False), '1\\\n2', '"1"')

    def nested(self, depth):
        """The inside of $(…): its own here-documents."""
        self.here.append([])
        text = self.text(max(depth, 0), self.r.randrange(1, 3))
        text += self.bodies()
        self.here.pop()
        return self.pick('', ' ', '\n') + text + self.pick('', ' ', '\n', ' #)\n', '' if text.endswith('\n') else ';')

    def backquotes(self, depth, in_double):
        self.here.append([])
        text = self.text(max(min(depth, 2), 0), 1) + self.bodies()
        self.here.pop()
        text = re.sub(r'([\\`$])', r'\\\1', text) if self.r.random() < 0.5 or '`' in text or '\\' in text else text
        if in_double and self.r.random() < 0.5:
            text = text.replace('"', '\\"')
        return '`%s`' % text

    def expansion(self, depth, quote):
        if depth <= 0:
            return self.pick('$x', '${X}', '$1', '$N')
        forms = [lambda: self.parameter(depth - 1, quote), lambda: '$(%s)' % self.nested(depth - 1), lambda: '$(%s)' % self.nested(depth - 1),
                 lambda: self.backquotes(depth - 1, quote == '"'), lambda: '$((%s))' % self.arithmetic(depth - 1)]
        if not self.posix:
            forms.append(lambda: '$[%s]' % self.arithmetic(depth - 1))
        forms.append(lambda: '$((%s) | %s)' % (self.pipeline(0), self.simple(0)))
        return self.pick(*forms)

    def word(self, depth):
        parts = []
        for _ in range(self.r.choice((1, 1, 1, 2, 2, 3))):
            choices = [self.plain, self.plain, self.plain, lambda: "'%s'" % self.pick('a b', '$(c1)', '"', '\\', '`', '\n', '#', ''),
                       lambda: '"%s"' % self.inside_double(depth), lambda: '\\' + self.pick('a', ' ', '$', '"', "'", '`', ';', '&', '#', '\\', '{', '*'),
                       lambda: self.expansion(depth, ''), lambda: self.expansion(depth, ''), '*', '?', '[a]', '~', 'a\\\nb']
            if not self.posix:
                choices += [lambda: '{%s,%s}' % (self.pick('a', 'b', ''), self.pick('c', '$x', 'd*')), '{1..3}', lambda: "$'%s'" % self.pick('a', '\\n', "\\'", '\\x41', '\\\\'),
                            lambda: '%s(%s)' % (self.r.choice('<>'), self.nested(depth - 1)) if depth > 0 else 'a']
            parts.append(self.pick(*choices))
        word = ''.join(parts)
        return word if not word.startswith('#') else 'x' + word

    def redirection(self, depth):
        forms = ['2>&1', '>/dev/null', '</dev/null', '>f', '2>f', '>>f', '<>f', '>|f', '3>f', '<&0', '>&2', '<&-', lambda: '>%s' % self.pick('f', '"f"', '$x', 'f\\\ng')]
        if not self.posix:
            forms += ['&>f', '&>>f', '>&f', '{fd}>f', '12>f', lambda: '<<<%s' % self.word(depth), lambda: '< <(%s)' % self.nested(depth - 1) if depth > 0 else '<f']
        forms += [lambda: self.here_document(depth)] * 3
        return self.pick(*forms)

    def here_document(self, depth):
        end = self.pick('E', 'F', 'E F', 'end')
        strip = self.pick('', '', '-')
        quoted = self.r.random() < 0.4
        typed = self.pick("'%s'" % end, '"%s"' % end, end[0] + "'%s'" % end[1:], '\\' + end.replace(' ', '\\ ')) if quoted else end.replace(' ', '')
        if not quoted:
            end = end.replace(' ', '')
        lines = []
        for _ in range(self.r.randrange(4)):
            line = self.pick('', 'text', ' ' + end, end + ' ', "it's", '"', 'c1', '\\', 'a\\', '\t', '#', 'x' + end, '$x', 'cat <<G', end + '\r',
                             lambda: self.expansion(depth, 'here'), lambda: self.expansion(depth, 'here') + ' ' + self.expansion(depth, 'here'))
            if quoted and self.r.random() < 0.7:
                line = self.pick('$(c9)', '`c9`', "'", '"', '\\', ')', '}', 'c9')
            if '\n' in line and end in line.split('\n'):
                line = 'x'
            lines.append(line + '\n')
        if lines and not quoted and lines[-1].endswith('\\\n'):
            lines.append('x\n')
        tabs = '\t' * self.r.randrange(3) if strip else ''
        self.here[-1].append(''.join(tabs + line for line in lines) + tabs + end + '\n')
        return self.pick('', '0') + '<<' + strip + self.pick('', ' ') + typed

    def false_end(self):
        """A line of a here-document that is not its end, and what hides a command from a reader that takes it for one."""
        strip = self.pick('', '-')
        quoted = self.r.random() < 0.5
        ends = [' END', 'END ', 'END\r', 'END;', '"END"', 'ENDX', '\\END', 'END\\']
        if not quoted:
            ends += ['a\\\nEND', '\\\\\\\nEND', '$x\\\nEND']
        if not strip:
            ends += ['\tEND']
        false = self.r.choice(ends)
        if false.endswith('\\') and not quoted:
            false += '\nEND'
        command = self.name()
        self.here[-1].append("%s\ncat <<'X'\nEND\n%s\nX\n" % (false, command))
        return 'cat <<%s%s' % (strip, self.pick("'END'", '"END"', "E'N'D", 'E\\ND') if quoted else self.pick('END', 'EN\\\nD'))

    def fed_shell(self, depth):
        """A shell whose program is a here-document."""
        self.here.append([])
        text = self.text(min(max(depth - 1, 0), 1), 2)
        text += self.bodies() or '\n'
        self.here.pop()
        strip = self.pick('', '-')
        self.here[-1].append(text + 'END\n')
        return '%s <<%s%s' % (self.pick('sh', 'dash') if self.posix else 'bash', strip, self.pick("'END'", '"END"', "E\\ND"))

    def bodies(self):
        if not self.here[-1]:
            return ''
        text = '\n' + ''.join(self.here[-1])
        self.here[-1].clear()
        return text

    def newline(self):
        return self.bodies() or '\n'

    def assignment(self, depth):
        forms = [lambda: 'x=%s' % self.word(depth), 'x=', lambda: 'v="%s"' % self.inside_double(depth), lambda: 'w=%s' % self.expansion(depth, '')]
        if not self.posix:
            forms += [lambda: 'a=(%s %s)' % (self.word(depth), self.word(depth)), lambda: 'a[%s]=%s' % (self.arithmetic(depth), self.word(depth)), 'x+=y',
                      lambda: 'a+=([%s]=%s)' % (self.arithmetic(0), self.word(depth))]
        return self.pick(*forms)

    def simple(self, depth):
        parts = []
        while self.r.random() < 0.15:
            parts.append(self.assignment(depth))
        if self.r.random() < 0.1:
            parts.append(self.redirection(depth))
        roll = self.r.random()
        if roll < 0.72 or depth <= 0:
            parts.append(self.spelled())
        elif roll < 0.8:
            return ' '.join(parts + [self.builtin(depth)])
        elif roll < 0.85 and parts:
            return ' '.join(parts)
        else:
            parts.append(self.pick(lambda: self.word(depth), 'echo', ':', 'true', 'f1', 'f2', '$x', '"$X"', '[ a ]'))
        for _ in range(self.r.randrange(3)):
            parts.append(self.word(depth))
            if self.r.random() < 0.15:
                parts.append(self.redirection(depth))
        return self.pick(' ', ' ', '  ', ' \\\n').join(parts)

    def quoted(self, text):
        return "'%s'" % text.replace("'", "'\\''")

    def builtin(self, depth):
        code = self.quoted(self.text(min(depth - 1, 1), 1))
        forms = [lambda: 'eval ' + code, lambda: 'trap %s EXIT' % code, lambda: 'command %s %s' % (self.spelled(), self.word(depth)),
                 lambda: 'eval %s %s' % (self.spelled(), self.word(0)), 'set -- a b', 'shift', lambda: 'export x=%s' % self.word(depth),
                 lambda: 'read x y <f', lambda: 'test "%s" = a' % self.inside_double(depth), lambda: '[ %s ]' % self.word(depth), 'unset x',
                 lambda: 'exec %s %s' % (self.spelled(), self.word(0)), lambda: 'sh -c ' + code, lambda: 'dash -c ' + code, lambda: 'exec 3>f', lambda: self.fed_shell(depth), self.false_end, self.false_end, lambda: 'set -e; %s' % self.spelled(), lambda: 'PATH=/bin:. %s' % self.spelled(),
                 lambda: 'set -- %s; "$@"' % self.spelled(), lambda: 'y=%s; $y a' % self.spelled(), lambda: 'unset -f f1; f1', lambda: 'export -p']
        if not self.posix:
            forms += [lambda: 'let "x=%s"' % self.arithmetic(0), lambda: "let 'a[$(%s)]=1'" % self.name(), lambda: 'bash -c ' + code, lambda: 'bash -ec ' + code,
                      lambda: "[ -v 'a[$(%s)]' ]" % self.name(), lambda: "printf -v 'a[$(%s)]' x" % self.name(), lambda: 'declare -a b=(%s)' % self.word(depth),
                      lambda: 'bash <<<%s' % code, lambda: 'source /dev/stdin <<<%s' % code, lambda: "declare 'a[`%s`]=1'" % self.name(),
                      lambda: "read 'a[$(%s)]' <<<x" % self.name(), lambda: 'mapfile -t b <<<a', lambda: 'builtin eval ' + code, lambda: "declare -a 'x=($(%s))'" % self.name(),
                      lambda: "a=(1); declare 'a=(`%s`)'" % self.name(), lambda: "RANDOM='a[$(%s)]'" % self.name(), lambda: 'jobs -x ' + self.spelled(),
                      lambda: "unset 'a[$(%s)]'" % self.name(), lambda: "[[ 'a[$(%s)]' -eq 1 ]]" % self.name(), lambda: 'exec -a z ' + self.spelled(),
                      lambda: "BASH_CMDS[ls]=/bin/c1; ls", lambda: "mapfile -C '%s x' -c 1 b <<<a" % self.name(), lambda: "y='a[$(%s)]'; echo $((y))" % self.name(),
                      lambda: "y='a[$(%s)]'; echo ${!y} ${X:y}" % self.name(), lambda: "y='$(%s)'; echo ${y@P}" % self.name(), lambda: "PS4='$(%s)'; set -x" % self.name(),
                      lambda: "compgen -C %s x" % self.name(), lambda: "hash -p /bin/%s q; q" % self.name(), lambda: 'shopt -s extglob\n%s @(a|b)' % self.spelled(),
                      lambda: "declare -n r='a[$(%s)]'; echo $r" % self.name(), lambda: "wait -n -p 'a[$(%s)]'" % self.name()]
        return self.pick(*forms)

    def condition(self, depth):
        if depth <= 0:
            return self.pick('a', '-n x', '$x == a*', '! a')
        return self.pick(lambda: '%s && %s' % (self.condition(depth - 1), self.condition(depth - 1)), lambda: '( %s )' % self.condition(depth - 1),
                         lambda: '%s == %s' % (self.word(depth - 1), self.word(depth - 1)), lambda: '-n %s' % self.word(depth - 1),
                         lambda: '%s =~ %s' % (self.word(0), self.pick('a', '^(a|b)$', '$x', '(a b)', '"c"', '[a-z]+')), '1 -eq 1', '$x -lt 3',
                         lambda: "-v 'a[$(%s)]'" % self.name(), 'a < b', lambda: '! %s' % self.condition(depth - 1))

    def sep(self):
        return self.pick('; ', '; ', ';', self.newline)

    def compound(self, depth):
        d = depth - 1
        forms = [lambda: '{ %s%s}' % (self.list(d), self.sep()), lambda: '(%s)' % self.list(d), lambda: '( %s )' % self.list(d),
                 lambda: 'if %s%sthen %s%sfi' % (self.list(d), self.sep(), self.list(d), self.sep()),
                 lambda: 'if %s%sthen %s%selse %s%sfi' % (self.list(d), self.sep(), self.list(d), self.sep(), self.list(d), self.sep()),
                 lambda: 'while %s%sdo %s%sbreak; done' % (self.list(d), self.sep(), self.list(d), self.sep()),
                 lambda: 'for i in %s %s%sdo %s%sdone' % (self.word(d), self.word(d), self.sep(), self.list(d), self.sep()),
                 lambda: 'for i%sdo %s%sdone' % (self.pick(' ', '; ', '\n'), self.list(d), self.sep()), lambda: self.case(d), lambda: self.case(d)]
        if not self.posix:
            forms += [lambda: '[[ %s ]]' % self.condition(d), lambda: '((%s))' % self.arithmetic(d), lambda: 'for ((i=0; i<%s; i++)); do %s; done' % (self.pick('2', '$(c1;echo 1)'), self.list(d)),
                      lambda: 'for i in a; { %s; }' % self.list(d), lambda: 'coproc %s' % self.pick(lambda: self.simple(d), lambda: 'Z { %s; }' % self.list(d)),
                      lambda: '((%s) | %s)' % (self.list(d), self.simple(d))]
        text = self.pick(*forms)
        return text + (' ' + self.redirection(d) if self.r.random() < 0.15 else '')

    def case(self, depth):
        arms = []
        for _ in range(self.r.randrange(1, 4)):
            pattern = self.pick('x', '*', 'a|b', '"x y"', lambda: self.word(depth), 'if', '[a-z]', "')'", '\\)')
            end = ';;' if self.posix else self.pick(';;', ';;', ';&', ';;&')
            arms.append('%s%s)%s%s%s ' % (self.pick('', '(', '( '), pattern, self.pick(' ', '\n', ''), self.list(depth) if self.r.random() < 0.85 else '', self.pick(' ', self.newline) + end))
        return 'case %s in%s%sesac' % (self.word(depth), self.pick(' ', self.newline), self.pick(' ', '\n').join(arms))

    def function(self, depth):
        name = self.pick('f1', 'f2', self.name)
        body = self.pick(lambda: '{ %s; }' % self.list(depth - 1), lambda: '(%s)' % self.list(depth - 1))
        head = name + self.pick('()', ' ()', '( )')
        if not self.posix:
            head = self.pick(head, 'function ' + name, 'function %s ()' % name)
        return head + self.pick(' ', '\n') + body

    def command(self, depth):
        roll = self.r.random()
        if depth <= 0 or roll < 0.6:
            return self.simple(depth)
        return self.function(depth) if roll > 0.94 else self.compound(depth)

    def pipeline(self, depth):
        text = self.command(depth)
        while self.r.random() < 0.2:
            text += self.pick(' | ', '|', ' |' + self.newline() if not self.here[-1] else ' | ', ' | ' if self.posix else ' |& ') + self.command(depth)
        prefix = self.pick('', '', '', '', '', '! ')
        if not self.posix and self.r.random() < 0.05:
            prefix += self.pick('time ', 'time -p ')
        return prefix + text

    def list(self, depth):
        text = self.pipeline(depth)
        while self.r.random() < 0.3:
            text += self.pick(' && ', ' || ', '; ', ';', ' & ', self.newline, '&&\n' if not self.here[-1] else ' && ', '||') + self.pipeline(depth)
        return text

    def text(self, depth, lines):
        return ''.join(self.list(depth) + (self.newline() if i + 1 < lines or self.here[-1] else '') for i in range(lines))


def generate(count, seed, posix):
    for i in range(count):
        r = random.Random('%d %d %s' % (seed, i, posix))
        grammar = Grammar(r, posix)
        text = grammar.false_end() + grammar.bodies() if r.random() < 0.05 else ''
        text += grammar.text(r.choice((1, 2, 2, 3)), r.choice((1, 1, 2, 3))) + grammar.bodies()
        spoil = r.random()
        if spoil > 0.45:
            for _ in range(r.choice((1, 1, 2, 4))):
                at = r.randrange(len(text) + 1)
                kind = r.random()
                if kind < 0.6:
                    text = text[:at] + r.choice(NASTY) + text[at:]
                elif kind < 0.8:
                    text = text[:at] + text[at + r.randrange(1, 4):]
                else:
                    to = r.randrange(len(text) + 1)
                    text = text[:at] + text[min(at, to):max(at, to)][:20] + text[at:]
        if spoil > 0.9:         # nothing but trouble
            text = ''.join(r.choice(NASTY) + r.choice(('', ' ', 'c7', ' c8 ', '\n')) for _ in range(r.randrange(2, 14)))
        if len(text) < 6000:
            yield text.encode('latin-1')


def installed_scripts():
    """(path, 'bash' or 'posix', bytes) of the shell scripts on this machine."""
    for top in ('/usr/bin', '/usr/sbin', '/usr/share', '/usr/lib', '/etc', '/var/lib/dpkg/info', '/usr/local', '/opt'):
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    continue
                try:
                    with open(path, 'rb') as f:
                        words = f.readline(200)[2:].split() if f.read(0) == b'' else []
                        f.seek(0)
                        if f.read(2) != b'#!' or not words:
                            continue
                        f.seek(0)
                        data = f.read()
                except OSError:
                    continue
                shell = os.path.basename(words[1] if words[0].endswith(b'/env') and len(words) > 1 else words[0])
                if shell in (b'sh', b'dash', b'bash') and b'\0' not in data:
                    yield path, 'bash' if shell == b'bash' else 'posix', data


def case_texts(root):
    """The command lines of the decision cases and of this reader's unit test."""
    escapes = {'\\': '\\', 'n': '\n', 't': '\t', 'r': '\r'}
    folder = os.path.join(root, 'tests/cases')
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as f:
            for line in f:
                columns = line.rstrip('\n').split('\t')
                if len(columns) > 3 and columns[1] == 'exec':
                    yield re.sub(r'\\(\\|n|t|r|x[0-9a-fA-F]{2})', lambda m: escapes.get(m.group(1)) or chr(int(m.group(1)[1:], 16)), columns[2]).encode()
    with open(os.path.join(root, 'tests/unit/test_shell.c'), encoding='utf-8') as f:
        for literal in re.findall(r'\{ "((?:[^"\\]|\\.)*)",', f.read()):
            text = re.sub(r'\\(\\|"|n|t|r|v|x[0-9a-f]{2}|[0-7]{3})',
                          lambda m: {**escapes, '"': '"', 'v': '\v'}.get(m.group(1)) or chr(int(m.group(1).lstrip('x'), 16 if m.group(1)[0] == 'x' else 8)), literal)
            if '\0' not in text:
                yield text.encode('latin-1')
