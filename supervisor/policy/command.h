/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program's arguments mean, as data: how the tool parses them, what each option and operand is, and what that does.
 * Read from commands/ by commands.c, walked by judge/arguments.c. Immutable once loaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a program does: a bit each. Data in commands/ names them, data in modes/ judges them. */
enum effect {
	EFFECT_READ = 1 << 0,		/* reads files it is told to, prints */
	EFFECT_WRITE = 1 << 1,		/* creates or changes files */
	EFFECT_DELETE = 1 << 2,		/* removes or destroys data */
	EFFECT_NETWORK = 1 << 3,	/* talks to a network */
	EFFECT_NETWORK_MUTATE = 1 << 4,	/* sends a mutating request */
	EFFECT_RUN = 1 << 5,		/* runs another program named in its arguments */
	EFFECT_CODE = 1 << 6,		/* evaluates code */
	EFFECT_WRAP = 1 << 7,		/* an opaque wrapper (sudo, timeout, xargs, ld.so) */
	EFFECT_ELEVATE = 1 << 8,
	EFFECT_POWER = 1 << 9,		/* shutdown, reboot */
	EFFECT_DEVICE = 1 << 10,	/* formats or overwrites devices */
	EFFECT_PERMISSION = 1 << 11,	/* chmod, chown */
	EFFECT_SIGNAL = 1 << 12,
	EFFECT_SHELL = 1 << 13,		/* is a shell: its text is judged by what it does */
	EFFECT_UNKNOWN = 1 << 14,	/* no knowledge of this command, or of an option it was given */
	EFFECT_HIDE = 1 << 15,		/* runs a program the kernel does not see as an exec (ld.so PROG, busybox APPLET) */
	EFFECT_STATE = 1 << 16,		/* reports the state of the system or of other processes */
	EFFECT_HARDLINE = 1 << 17,	/* ends the machine or the data on it: refused whatever else is allowed */
	EFFECT_FETCH = 1 << 18,		/* sends passive requests, to the targets in its arguments and nowhere else */
	EFFECT_SECRET = 1 << 19,	/* shows secrets: environments, tokens */
	EFFECT_UNSEEN = 1 << 20,	/* what it sends, or where to, stands elsewhere or leaves the proxy */
	EFFECT_LOAD = 1 << 21,		/* makes a tool load native code or start a helper program of the caller's choice */
	EFFECT_PERSIST = 1 << 22,	/* changes configuration, accounts or start files that outlive the work */
	EFFECT_PUBLISH = 1 << 23,	/* changes or destroys for good what is not here: pushes, publishes, drops */
	EFFECT_FLOOD = 1 << 24,		/* overloads its target */
	EFFECT_LISTEN = 1 << 25,	/* opens a server */
	EFFECT_TYPED = 1 << 26,		/* waits for what somebody types */
	EFFECT_DYNAMIC = 1 << 27,	/* code, or the name of a program, that cannot be known before it runs */
	EFFECT_SYSTEM = 1 << 28,	/* changes the running system: clock, routes, packages */
	EFFECT_INTERACT = 1 << 29,	/* acts on an element of a page, which only a snapshot shows */
	EFFECT_OUTSIDE = 1 << 30,	/* goes to a host outside the declared scope */
};
#define EFFECT_COUNT 31
const char *effect_name(enum effect effect);

/* What a command of a program that acts elsewhere means for the page there. The strongest holds. */
enum page {
	PAGE_NONE,		/* nothing is said: as its command, and of a program as such that it has none */
	PAGE_KEEPS,		/* looks, or changes nothing that a snapshot shows */
	PAGE_SHOWS,		/* a snapshot of it */
	PAGE_CHANGES,		/* perhaps another page afterwards */
	PAGE_ENDS,		/* its browser ends */
	PAGE_COUNT
};

/* What a word is to the tool. */
enum role {
	ROLE_TEXT,		/* itself */
	ROLE_LOOK,		/* a place whose names and properties are shown */
	ROLE_READ,		/* a file that is read */
	ROLE_WRITE,		/* a file that is written: adds EFFECT_WRITE, except for /dev/null and the standard streams */
	ROLE_DELETE,		/* a file that is removed: adds EFFECT_DELETE */
	ROLE_URL, ROLE_HOST,	/* where it connects to */
	ROLE_BODY,		/* data that is sent */
	ROLE_COMMAND,		/* this word and those after it are another program's command line */
	ROLE_LINE,		/* this word and those after it, with blanks between, are text for a shell */
	ROLE_PROGRAM,		/* a program that is started, or its command line in one word */
	ROLE_SHELL,		/* text for a shell */
	ROLE_SED, ROLE_AWK,	/* a program in that language: scanned for what it writes and runs */
	ROLE_ASSIGNMENT,	/* NAME=VALUE for an environment */
	ROLE_NAME,		/* the name of a variable that is set */
	ROLE_SCRIPT,		/* a file that is run as code */
	ROLE_COUNT
};

/* How a tool takes its words apart. */
enum style {
	STYLE_INHERIT,		/* a subcommand's: as its command */
	STYLE_GNU,		/* getopt_long: clusters, unique prefixes, options anywhere before "--" */
	STYLE_POSIX,		/* the same, but the first operand ends the options */
	STYLE_SINGLE,		/* long options with one dash or two (getopt_long_only): nmap, openssl, gcc */
	STYLE_GO,		/* Go's flag package: one dash or two, no clusters, the first operand ends the options */
	STYLE_FIND,		/* an expression after the paths */
	STYLE_PAIRS,		/* dd: key=value */
	STYLE_WORDS,		/* no options at all: echo, test */
	STYLE_COUNT
};

typedef uint32_t labels;	/* a bit per word that options set and others ask for; interned per command */
#define LABEL_BARE 1u		/* no operand was given */
#define LABEL_RECURSIVE 2u	/* "recursive": whole trees; read by the rule about irreplaceable ones */
#define LABEL_SANDBOX 4u	/* "sandbox": the tool itself refuses what its program would do outside */

#define LABEL_FED 8u		/* "fed": its standard input is a file, a pipe or a text; never set at execve */
#define LABEL_PIPED 16u		/* "piped": what it is fed with comes from another command */
#define LABEL_FILLS 64u	/* "fills": the tool adds words of its own to the command line in its words (xargs) */
#define LABEL_FOREIGN 32u	/* "foreign": from a file outside the project, or one that is not known */

struct condition {
	labels all, none;	/* holds when all of these are set and none of those */
};

struct word_list {
	const char **items;
	size_t nr;
};

/* For values or operands that match one of the patterns: these effects in place of the option's own. The first that matches wins. */
struct value_rule {
	struct word_list match;	/* globs with * ? [a-z]; none: everything */
	bool fold;		/* letters match in either case */
	bool has_role;
	enum role role;
	unsigned effects;
	labels sets;
	struct condition when;	/* of the effects */
};

struct meaning {		/* of an option, an option's value or an operand */
	labels absent_if;	/* no such word once one of these was set: sed -e PROGRAM FILE, kill -9 -1 */
	enum role role;
	unsigned effects;
	labels sets;
	struct condition when;	/* of the effects */
	struct value_rule *values;
	size_t nr_values;
};

struct option_name {
	const char *name;	/* "-o", "--output", "-name"; "-W" with prefix is every word that begins so */
	uint8_t arity;		/* values it takes */
	bool optional;		/* takes its value only where it is attached */
	bool prefix;
	uint16_t option;	/* index into options */
};

struct operand_rule {
	struct meaning meaning;
	struct word_list match;	/* only words that match stand here; none: any word */
	bool many;		/* as many as come */
	bool last;		/* the last of several */
};

struct base_rule {		/* other effects of the command as such, when the condition holds; first match wins */
	struct condition when;
	unsigned effects;
	enum page page;		/* PAGE_NONE: the command's own */
};

struct command {
	struct word_list names;	/* base names; a trailing '*' is a prefix. Of a subcommand: words, "*" is any other */
	unsigned effects;	/* of the command as such */
	enum style style;
	bool multicall;		/* one binary, many programs: argv[0] says which */
	bool bundled;		/* the first word is a cluster, with or without its dash: tar, ar */
	bool alone;		/* has to be the only command of its text, unless all it does is read */
	bool anywhere;		/* its own options may stand after a subcommand */
	bool elsewhere;		/* another process does what its words say: no exec, file or socket of its own is judged in turn */
	enum page page;
	struct word_list helpers;	/* base names of what it starts of itself: tar its compressors, git the git of its own folder */
	struct word_list asks;	/* words that, wherever they stand, make it print about itself and do nothing else */
	bool options_listed;	/* an option that is not in the list adds EFFECT_UNKNOWN; otherwise no option changes the effects */
	bool has_dangerous;	/* some option adds effects: a word nobody knows may be it */
	struct meaning *options;
	size_t nr_options;
	struct option_name *option_names;	/* sorted by name */
	size_t nr_option_names;
	bool operands_listed;	/* operands beyond the list add EFFECT_UNKNOWN */
	struct operand_rule *operands;
	size_t nr_operands;
	struct base_rule *bases;
	size_t nr_bases;
	struct command *commands;		/* subcommands */
	size_t nr_commands;
	const char *file;	/* where it stands, for records */
	unsigned line;
};
