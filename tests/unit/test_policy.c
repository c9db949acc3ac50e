/* SPDX-License-Identifier: Apache-2.0 */
/* The policy loader: a good folder becomes what it says, every kind of fault is named with its file, line, column and key path. */
#include "supervisor/policy/policy.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct { const char *file, *text; } good[] = {
	{ "policy.json", "{\n\t\"mode\": \"guarded\",\n\t\"max_unattended\": \"observe\",\n\t\"unreviewed\": \"allow\",\n\t\"wrappers\": \"follow\",\n"
			 "\t\"launch_user\": \"agent\",\n\t\"require\": [\"notify\", \"landlock\"],\n\t\"commands\": { \"profile\": \"extended\", \"presets\": [\"tools\"] }, \"audit\": { \"allowed\": \"all\" }\n}\n" },
	{ "environment.json", "{\n\t\"mode\": \"all\", \"image\": \"pass\",\n\t\"baseline\": [\"PATH\", \"LC_*\"], \"allow\": [], \"deny\": [\"SECRET\"],\n"
			      "\t\"code_names\": [\"PYTHONPATH\", \"LD_*\", \"BASH_ENV\"],\n\t\"text_names\": [\"PATH\"]\n}\n" },
	{ "paths.json", "{\n\t\"project\": \"/workspace\", \"roots\": \"strict\", \"confine_writes\": true, \"block_internal_http\": false,\n"
			"\t\"write\": [\"/workspace\", \"~\"], \"allowed_roots\": [], \"blocked_roots\": [],\n\t\"system_roots\": [\"/usr\"],\n"
			"\t\"protected\": [\"~/.ssh\"],\n\t\"own\": [\"/run/cordon\"],\n\t\"own_files\": [\"/etc/cordon\"], \"hidden\": [\"/run/docker.sock\"],\n"
			"\t\"devices\": [\"/dev\"], \"raw_devices\": [\"sd*\"], \"sensitive\": [\".env\"]\n}\n" },
	{ "network.json", "{\n\t\"ranges\": [\n\t\t{ \"id\": \"a\", \"range\": \"10.0.0.0/8\", \"reason\": \"is private\" },\n"
			  "\t\t{ \"id\": \"b\", \"range\": \"fe80::/10\", \"reason\": \"is local\", \"always\": true }\n\t],\n"
			  "\t\"ports\": [ { \"address\": \"127.0.0.1\", \"port\": 48080 } ]\n}\n" },
	{ "commands/a.json", "{\n\t\"commands\": [\n\t\t{ \"names\": \"cat\", \"effects\": \"read\" },\n"
			     "\t\t{ \"names\": \"mkfs* mkfs.ext*\", \"effects\": \"device\" },\n"
			     "\t\t{ \"names\": \"sort\", \"effects\": \"read\", \"options\": [\n"
			     "\t\t\t{ \"names\": \"-o= --output=\", \"value\": \"write\" } ] }\n\t]\n}\n" },
	{ "modes/off.json", "{ \"rules\": [ { \"id\": \"off\", \"verdict\": \"allow\", \"reason\": \"passes\" } ] }\n" },
	{ "modes/guarded.json", "{\n\t\"rules\": [\n\t\t{ \"id\": \"g.read\", \"effects\": [\"read\"], \"verdict\": \"allow\", \"reason\": \"reads\" },\n"
				"\t\t{ \"id\": \"g.rest\", \"verdict\": \"review\", \"reason\": \"is unknown\" }\n\t]\n}\n" },
	{ "modes/observe.json", "{ \"rules\": [ { \"id\": \"o\", \"verdict\": \"review\", \"reason\": \"x\" } ] }\n" },
	{ "modes/readonly.json", "{ \"rules\": [ { \"id\": \"r\", \"verdict\": \"deny\", \"tag\": \"policy_block\", \"reason\": \"x\" } ] }\n" },
	{ "services/web.json", "{\n\t\"command\": [\"web\", \"-p\", \"{PORT}\", \"-p\"], \"user\": \"www\", \"probe\": \"tcp\", \"port\": 80, \"ready_ms\": 500,\n"
			       "\t\"environment\": [\"A=b\"], \"enabled\": true\n}\n" },
	{ "transports/host.json", "{ \"entry_names\": [\"sh\", \"cat\"] }\n" },
	{ "transports/other.json", "{ \"entry_names\": [\"cat\", \"git\"], \"entry_paths\": [\"/workspace/a/b\", \"/workspace/a/c\"] }\n" },
	{ "presets/tools.json", "{ \"commands\": [\n\t{ \"name\": \"tool\", \"environment\": [\"TOOL_KEY\"] },\n\t{ \"name\": \"bare\" }\n] }\n" },
	{ "presets/others.json", "{ \"commands\": [ { \"name\": \"other\" } ] }\n" },
	{ "browser.json", "{ \"programs\": [\"/usr/bin/tool\"], \"browsers\": [], \"helpers\": [], \"others\": [\"x*\"], \"switches\": [\"--x*\"], \"folder\": \"/run/b\", \"environment\": [\"A={SESSION}\"],\n"
			  "\t\"daemon\": [], \"prefix\": \"A={AGENT} b\", \"config\": \"{}\", \"fingerprint\": \"x\", \"fixed\": [\"A*\"], \"hold_ms\": 10, \"start_ms\": 10,\n"
			  "\t\"actions\": { \"guarded\": [\"url\"], \"observe\": [] } }\n" },
};

/* ---- a folder per test ---- */

static char folder[64];

static void write_file(const char *file, const char *text)
{
	size_t len = strlen(text);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	size_t i;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/cordon-policy-XXXXXX");
	assert_non_null(mkdtemp(folder));
	make_folder("commands");
	make_folder("modes");
	make_folder("services");
	make_folder("presets");
	make_folder("transports");
	for (i = 0; i < ARRAY_SIZE(good); i++)
		write_file(good[i].file, good[i].text);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* The folder must not load; returns the error. ret_policy must stay as it was. */
static struct err load_error(void)
{
	struct policy *policy = NULL;
	struct err e;

	assert_true(policy_load(folder, &policy, &e) < 0);
	assert_null(policy);
	assert_int_equal(policy_load(folder, &policy, NULL) < 0, 1);
	return e;
}

static void expect_error(const char *file, unsigned line, unsigned column, const char *key, const char *text)
{
	struct err e = load_error();
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s", folder, *file ? "/" : "", file);
	if (strcmp(e.file, path) != 0 || e.line != line || e.column != column || strcmp(e.key, key) != 0 || !strstr(e.text, text))
		fail_msg("expected %s:%u:%u: %s: …%s…\n     got %s:%u:%u: %s: %s", path, line, column, key, text, e.file, e.line, e.column,
			 e.key, e.text);
}

/* ---- what a good folder gives ---- */

static void a_good_folder_becomes_what_it_says(void **state)
{
	struct policy *p = NULL;
	struct err e;
	const uint8_t ten[16] = { [10] = 0xff, [11] = 0xff, [12] = 10 };

	(void)state;
	if (policy_load(folder, &p, &e) < 0)
		fail_msg("%s:%u:%u %s %s", e.file, e.line, e.column, e.key, e.text);
	assert_int_equal(p->mode, MODE_GUARDED);
	assert_int_equal(p->max_unattended, MODE_OBSERVE);
	assert_true(p->unreviewed_allow);
	assert_true(p->wrappers_follow);
	assert_string_equal(p->launch_user, "agent");
	assert_int_equal(p->require.nr, 2);
	assert_null(p->require.items[2]);
	assert_int_equal(p->audit_allowed, AUDIT_ALLOWED_ALL);
	assert_int_equal(p->paths.roots, ROOTS_STRICT);
	assert_true(p->paths.confine_writes);
	assert_false(p->paths.block_internal_http);
	/* masks take one list, Cordon's own first */
	assert_int_equal(p->paths.hidden.nr, 2);
	assert_string_equal(p->paths.hidden.items[0], "/run/cordon");
	assert_string_equal(p->paths.hidden.items[1], "/run/docker.sock");
	assert_null(p->paths.hidden.items[2]);
	assert_int_equal(p->paths.protected_names.line, 5);
	assert_int_equal(p->nr_ranges, 2);
	assert_memory_equal(&p->ranges[0].address, ten, 16);
	assert_int_equal(p->ranges[0].prefix_bits, 104);
	assert_false(p->ranges[0].always);
	assert_int_equal(p->ranges[1].prefix_bits, 10);
	assert_true(p->ranges[1].always);
	assert_int_equal(p->ranges[1].origin.line, 4);
	assert_int_equal(p->ports[0].port, 48080);
	assert_int_equal(p->nr_rules[MODE_GUARDED], 2);
	assert_string_equal(p->rules[MODE_GUARDED][1].id, "g.rest");
	assert_string_equal(p->rules[MODE_GUARDED][1].origin.file, "modes/guarded.json");
	assert_int_equal(p->rules[MODE_GUARDED][1].origin.line, 4);
	assert_int_equal(p->nr_services, 1);
	assert_string_equal(p->services[0].name, "web");
	assert_int_equal(p->services[0].command.nr, 4);
	assert_null(p->services[0].command.items[4]);
	assert_int_equal(p->services[0].probe, PROBE_TCP);
	assert_int_equal(p->services[0].ready_ms, 500);
	assert_string_equal(p->services[0].command.items[3], "-p");
	assert_int_equal(p->services[0].after.nr, 0);
	assert_int_equal(p->entry_names.nr, 3);	/* a name that two transports call stands once */
	assert_null(p->entry_names.items[3]);
	assert_int_equal(p->entry_paths.nr, 2);
	assert_string_equal(p->entry_paths.items[1], "/workspace/a/c");
	assert_null(p->entry_paths.items[2]);
	assert_int_equal(p->nr_presets, 2);
	assert_string_equal(policy_preset(p, "tool")->environment.items[0], "TOOL_KEY");
	assert_int_equal(policy_preset(p, "bare")->environment.nr, 0);
	assert_null(policy_preset(p, "other"));		/* its preset is not on */
	assert_null(policy_preset(p, "/usr/bin/tool"));
	assert_null(policy_preset(p, ""));
	p->offered.profile = PROFILE_BARE;
	assert_null(policy_preset(p, "tool"));
	assert_int_equal(p->files.nr, ARRAY_SIZE(good));
	assert_string_equal(p->files.items[0], "browser.json");
	assert_string_equal(p->browser.folder, "/run/b");
	assert_int_equal(p->browser.actions[0].nr, 1);
	assert_int_equal(p->browser.actions[1].nr, 0);
	assert_int_equal(p->browser.hold_ms, 10);
	policy_free(p);
}

static void commands_are_found_by_exact_name_then_by_the_longest_prefix(void **state)
{
	struct policy *p = NULL;

	(void)state;
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	assert_int_equal(policy_command(p, "cat")->effects, EFFECT_READ);
	assert_int_equal(policy_command(p, "mkfs.ext4")->effects, EFFECT_DEVICE);
	assert_int_equal(policy_command(p, "mkfs")->effects, EFFECT_DEVICE);
	assert_null(policy_command(p, "mkf"));
	assert_null(policy_command(p, "cats"));
	assert_null(policy_command(p, ""));
	assert_true(policy_command(p, "sort")->options_listed);
	assert_false(policy_command(p, "cat")->options_listed);
	policy_free(p);
}

static void sets_of_names_match_exactly_or_by_prefix(void **state)
{
	struct policy *p = NULL;
	const struct names *names;

	(void)state;
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	names = &p->environment.code_names;
	assert_true(names_match(names, "BASH_ENV", 8));
	assert_true(names_match(names, "BASH_ENV=x", 8));
	assert_true(names_match(names, "LD_PRELOAD", 10));
	assert_true(names_match(names, "LD_", 3));
	assert_false(names_match(names, "LD", 2));
	assert_false(names_match(names, "LD_", 2));
	assert_false(names_match(names, "PYTHONPATHS", 11));
	assert_false(names_match(names, "PYTHONPAT", 9));
	assert_false(names_match(names, "", 0));
	assert_false(names_match(&p->environment.allow, "A", 1));
	policy_free(p);
}

static void the_hash_covers_names_and_bytes(void **state)
{
	struct policy *p = NULL;
	char first[65], path[2][256];

	(void)state;
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	memcpy(first, p->sha256, sizeof(first));
	assert_int_equal(strlen(first), 64);
	policy_free(p);
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	assert_string_equal(p->sha256, first);
	policy_free(p);

	write_file("transports/host.json", "{ \"entry_names\": [\"sh\", \"cat\"] } \n");
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	assert_string_not_equal(p->sha256, first);
	policy_free(p);
	write_file("transports/host.json", good[10].text);
	snprintf(path[0], 256, "%s/services/web.json", folder);
	snprintf(path[1], 256, "%s/services/wab.json", folder);
	assert_int_equal(rename(path[0], path[1]), 0);
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	assert_string_not_equal(p->sha256, first);
	policy_free(p);
}

/* ---- faults inside a file ---- */

static const struct fault {
	const char *file, *text;
	unsigned line, column;
	const char *key, *error;
} faults[] = {
	/* presets */
	{ "policy.json", "{ \"commands\":\n{ \"profile\": \"none\" } }", 2, 14, "commands.profile", "it is now profile \"bare\"" },
	{ "policy.json", "{ \"commands\":\n{ \"profile\": \"trusted\" } }", 2, 14, "commands.profile", "it is now profile \"extended\"" },
	{ "policy.json", "{ \"commands\":\n{ \"profile\": \"strict\" } }", 2, 14, "commands.profile", "bare, assistant, extended" },
	{ "policy.json", "{ \"commands\":\n{ \"profile\": \"bare\" } }", 2, 1, "commands", "\"presets\" is missing" },
	{ "policy.json", "{ \"mode\": \"off\", \"max_unattended\": \"off\", \"unreviewed\": \"deny\", \"wrappers\": \"block\", \"launch_user\": \"a\", \"require\": [], "
			 "\"audit\": { \"allowed\": \"all\" },\n\"commands\": { \"profile\": \"bare\", \"presets\": [\"tols\"] } }", 2, 0, "", "there is no presets/tols.json" },
	{ "paths.json", "{ \"project\": \"/w\",\n\"roots\": \"trusted_local\" }", 2, 10, "roots", "it is now roots \"open\"" },
	{ "presets/tools.json", "{ \"commands\": [] }", 1, 15, "commands", "at least one" },
	{ "presets/tools.json", "{ \"commands\": [ { \"name\": \"/bin/a\" } ] }", 1, 27, "commands[0].name", "without a folder" },
	{ "presets/tools.json", "{ \"commands\": [ { \"name\": \"..\" } ] }", 1, 27, "commands[0].name", "without a folder" },
	{ "presets/tools.json", "{ \"commands\": [ { \"name\": \"a\",\n\"environment\": [\"K\", \"K*\"] } ] }", 2, 22, "commands[0].environment[1]", "exact name" },
	{ "presets/tools.json", "{ \"commands\": [ { \"name\": \"a\",\n\"environment\": [\"K=v\"] } ] }", 2, 17, "commands[0].environment[0]", "exact name" },
	{ "presets/tools.json", "{ \"commands\": [ { \"name\": \"a\",\n\"environment\": [\"BASH_FUNC_a%%\"] } ] }", 2, 17, "commands[0].environment[0]", "exact name" },
	{ "presets/tools.json", "{ \"commands\": [\n{ \"name\": \"a\", \"environment\": [\"SECRET\"] } ] }", 2, 0, "", "SECRET never passes" },
	{ "presets/tools.json", "{ \"commands\": [\n{ \"name\": \"a\", \"environment\": [\"LD_PRELOAD\"] } ] }", 2, 0, "", "changes which code is loaded" },
	{ "presets/tools.json", "{ \"commands\": [\n{ \"name\": \"other\" } ] }", 2, 0, "", "other is a command of a preset already" },
	/* syntax */
	{ "policy.json", "", 1, 1, "", "not valid JSON" },
	{ "policy.json", "{\n  \"mode\": guarded\n}\n", 2, 11, "", "not valid JSON" },
	{ "policy.json", "{\n  \"mode\": \"off\",\n  \"mode\": \"off\"\n}\n", 3, 3, "", "duplicate" },
	{ "policy.json", "{ \"mode\": \"off\" } x", 1, 19, "", "end of file" },
	{ "policy.json", "{ \"mode\": \"\xff\" }", 1, 11, "", "decode byte" },
	/* keys and types */
	{ "policy.json", "[]\n", 1, 1, "", "expected an object" },
	{ "policy.json", "\n {}\n", 2, 2, "", "\"mode\" is missing" },
	{ "policy.json", "{\n  \"mode\": \"off\",\n  \"modus\": 1\n}\n", 3, 3, "modus", "unknown key; expected one of: mode, max_unattended" },
	{ "policy.json", "{\n  \"\xc3\xa9\xc3\xa9\": 1 }\n", 2, 3, "\xc3\xa9\xc3\xa9", "unknown key" },
	{ "policy.json", "{ \"mode\": \"off\", \"\\u0001\\\"}]\": 1 }\n", 1, 18, "?\"}]", "unknown key" },
	{ "policy.json", "{\n  \"mode\": 3\n}\n", 2, 11, "mode", "expected a mode" },
	{ "policy.json", "{\n  \"mode\": \"paranoid\"\n}\n", 2, 11, "mode", "unknown mode \"paranoid\"" },
	{ "policy.json", "{\n  \"mode\": \"workspace\"\n}\n", 2, 11, "mode", "strict" },
	{ "policy.json", "{ \"launch_user\": \"\" }", 1, 18, "launch_user", "not empty" },
	{ "policy.json", "{ \"launch_user\": \"a\\nb\" }", 1, 18, "launch_user", "control character" },
	{ "policy.json", "{ \"audit\":\n { \"allowed\":\n \"some\" } }", 3, 2, "audit.allowed", "none, decisions, all" },
	{ "policy.json", "{ \"require\": [\"a\",\n \"b\", \"a\"] }", 2, 7, "require[2]", "twice" },
	{ "policy.json", "{ \"require\": [\"a\", 7] }", 1, 20, "require[1]", "expected a text" },
	{ "policy.json", "{ \"unreviewed\": true }", 1, 17, "unreviewed", "deny, allow" },
	{ "environment.json", "{ \"deny\": [\"AWS_*\"] }", 1, 12, "deny[0]", "exact" },
	{ "environment.json", "{ \"code_names\": [\"A\", \"A*B\"] }", 1, 23, "code_names[1]", "only at the end" },
	{ "environment.json", "{ \"code_names\": [\"*\"] }", 1, 18, "code_names[0]", "only at the end" },
	{ "paths.json", "{ \"project\": \"workspace\" }", 1, 14, "project", "absolute path" },
	{ "paths.json", "{ \"write\": [\"/a\", \"/a/../b\"] }", 1, 19, "write[1]", "absolute path" },
	{ "paths.json", "{ \"write\": [\"/a/\"] }", 1, 13, "write[0]", "absolute path" },
	{ "paths.json", "{ \"write\": [\"~root\"] }", 1, 13, "write[0]", "absolute path" },
	{ "paths.json", "{ \"skills\": true }", 1, 13, "skills", "array" },
	{ "paths.json", "{ \"skills\": [\"skills\"] }", 1, 14, "skills[0]", "absolute path" },
	{ "paths.json", "{ \"confine_writes\": \"true\" }", 1, 21, "confine_writes", "true or false" },
	/* network */
	{ "network.json", "{ \"ranges\": [\n { \"id\": \"a\",\n \"range\": \"10.0.0.0\", \"reason\": \"x\" } ] }", 3, 11, "ranges[0].range", "address range" },
	{ "network.json", "{ \"ranges\": [ { \"range\": \"10.0.0.0/33\" } ] }", 1, 26, "ranges[0].range", "address range" },
	{ "network.json", "{ \"ranges\": [ { \"range\": \"10.0.0.1/8\" } ] }", 1, 26, "ranges[0].range", "beyond its /8" },
	{ "network.json", "{ \"ranges\": [ { \"range\": \"10.0.0.0/8 \" } ] }", 1, 26, "ranges[0].range", "address range" },
	{ "network.json", "{ \"ports\": [ { \"address\": \"localhost\" } ] }", 1, 27, "ports[0].address", "IPv4 or IPv6" },
	{ "browser.json", "{ \"environment\": [\"A=b\", \"=b\"] }", 1, 18, "environment", "NAME=VALUE" },
	{ "browser.json", "{ \"folder\": \"run\" }", 1, 13, "folder", "absolute path" },
	{ "browser.json", "{ \"actions\": { \"readonly\": [] } }", 1, 16, "actions.readonly", "unknown key" },
	{ "network.json", "{ \"ports\": [ { \"port\": 0 } ] }", 1, 24, "ports[0].port", "1 to 65535" },
	{ "network.json", "{ \"ports\": [ { \"port\": 80.0 } ] }", 1, 24, "ports[0].port", "whole number" },
	/* commands */
	{ "commands/a.json", "{ \"commands\": {} }", 1, 15, "commands", "expected an array" },
	{ "commands/a.json", "{ \"commands\": [\n{ \"names\": \"x\" } ] }", 2, 1, "commands[0]", "\"effects\" is missing" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": [\"x\"] } ] }", 1, 28, "commands[0].names", "expected a text" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \" \", \"effects\": \"read\" } ] }", 1, 28, "commands[0].names", "at least one word" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \"a a\", \"effects\": \"read\" } ] }", 1, 28, "commands[0].names", "twice" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \"/bin/x\", \"effects\": \"read\" } ] }", 1, 17, "commands[0]", "base name" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \"*\", \"effects\": \"read\" } ] }", 1, 17, "commands[0]", "only at the end" },
	{ "commands/a.json", "{ \"commands\": [ { \"effects\": \"reads\" } ] }", 1, 30, "commands[0].effects", "expected one of: read, write" },
	{ "commands/a.json", "{ \"commands\": [ { \"effects\": \"read read\" } ] }", 1, 30, "commands[0].effects", "twice" },
	{ "commands/a.json", "{ \"commands\": [ { \"style\": \"odd\" } ] }", 1, 28, "commands[0].style", "expected one of: inherit, gnu" },
	{ "commands/a.json", "{ \"commands\": [ { \"options\": [ { \"names\": \"-a==\" } ] } ] }", 1, 43, "commands[0].options[0].names", "is not an option" },
	{ "commands/a.json", "{ \"commands\": [ { \"options\": [ { \"names\": \"-a=x\" } ] } ] }", 1, 43, "commands[0].options[0].names", "number of values" },
	{ "commands/a.json", "{ \"commands\": [ { \"options\": [\n { \"names\": \"-a\" }, { \"names\": \"-a=\" } ] } ] }", 1, 30, "commands[0].options", "stands here twice" },
	{ "commands/a.json", "{ \"commands\": [ { \"options\": [ { \"names\": \"-a\", \"valeu\": \"text\" } ] } ] }", 1, 49, "commands[0].options[0].valeu", "unknown key" },
	{ "commands/a.json", "{ \"commands\": [ { \"operands\": [ { \"value\": \"file\" } ] } ] }", 1, 44, "commands[0].operands[0].value", "expected one of: text, look, read" },
	{ "commands/a.json", "{ \"commands\": [ { \"operands\": [ { \"last\": true }, {} ] } ] }", 1, 31, "commands[0].operands", "has to stand last" },
	{ "commands/a.json", "{ \"commands\": [ { \"when\": [ { \"effects\": \"read\" } ] } ] }", 1, 29, "commands[0].when[0]", "\"if\" or \"unless\"" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \"x\", \"effects\": \"read\", \"when\": [ { \"if\": \"dry\", \"effects\": \"read\" } ] } ] }", 1, 17, "commands[0]", "nothing sets \"dry\"" },
	{ "commands/a.json", "{ \"commands\": [ { \"names\": \"x\", \"effects\": \"read\", \"commands\": [ { \"names\": \"y\" } ] } ] }", 1, 66, "commands[0].commands[0]", "\"effects\" is missing" },
	/* modes */
	{ "modes/guarded.json", "{ \"rules\": [] }", 1, 12, "rules", "last rule" },
	{ "modes/guarded.json", "{ \"rules\": [\n { \"id\": \"a\", \"effects\": [\"read\"], \"verdict\": \"allow\", \"reason\": \"x\" } ] }", 1, 12, "rules", "last rule" },
	{ "modes/guarded.json", "{ \"rules\": [\n { \"id\": \"a\", \"where\": \"execve\", \"verdict\": \"allow\", \"reason\": \"x\" } ] }", 1, 12, "rules", "last rule" },
	{ "modes/guarded.json", "{ \"rules\": [\n { \"id\": \"a\", \"verdict\": \"allow\", \"reason\": \"x\" },\n { \"id\": \"b\", \"verdict\": \"allow\", \"reason\": \"x\" } ] }", 3, 2, "rules[1]", "no action can reach" },
	{ "modes/guarded.json", "{ \"rules\": [\n { \"id\": \"a\", \"verdict\": \"allow\", \"reason\": \"x\" },\n { \"id\": \"a\", \"verdict\": \"allow\", \"reason\": \"x\" } ] }", 3, 2, "rules[1]", "is taken by modes/guarded.json:2" },
	{ "modes/guarded.json", "{ \"rules\": [ { \"id\": \"a\", \"verdict\": \"deny\", \"reason\": \"x\" } ] }", 1, 14, "rules[0]", "\"tag\"" },
	{ "modes/guarded.json", "{ \"rules\": [ { \"id\": \"a\", \"verdict\": \"allow\", \"tag\": \"hardline\", \"reason\": \"x\" } ] }", 1, 14, "rules[0]", "\"tag\"" },
	{ "modes/guarded.json", "{ \"rules\": [ { \"id\": \"a\", \"verdict\": \"deny\", \"tag\": \"hard\", \"reason\": \"x\" } ] }", 1, 53, "rules[0].tag", "expected one of: hardline" },
	{ "modes/guarded.json", "{ \"rules\": [ { \"id\": \"a\", \"arguments\": \"project\", \"verdict\": \"review\", \"reason\": \"x\" } ] }", 1, 14, "rules[0]", "belongs to an allow" },
	/* services and transports */
	{ "services/web.json", "{ \"command\": [] }", 1, 14, "command", "a program" },
	{ "services/web.json", "{ \"command\": [\"a\"], \"user\": \"u\", \"probe\": \"tcp\", \"enabled\": true }", 1, 1, "", "\"port\"" },
	{ "services/web.json", "{ \"command\": [\"a\"], \"user\": \"u\", \"probe\": \"http\", \"enabled\": true }", 1, 1, "", "\"probe_url\"" },
	{ "services/web.json", "{ \"environment\": [\"A\"] }", 1, 19, "environment[0]", "NAME=VALUE" },
	{ "services/web.json", "{ \"data_dir\": \"here\" }", 1, 15, "data_dir", "absolute" },
	{ "services/web.json", "{ \"repeat\": [ { \"option\": \"-d\" } ] }", 1, 15, "repeat[0]", "\"variable\" is missing" },
	{ "services/web.json", "{ \"command\": [\"a\"], \"user\": \"u\", \"probe\": \"notify\", \"alive_ms\": 1, \"enabled\": true }", 1, 1, "", "a probe that asks" },
	{ "services/web.json", "{ \"command\": [\"a\"], \"user\": \"u\", \"probe\": \"none\", \"after\": [\"wob\"], \"enabled\": true }", 1, 0, "", "wob, which is no service" },
	{ "services/web.json", "{ \"command\": [\"a\"], \"user\": \"u\", \"probe\": \"none\", \"after\": [\"web\"], \"enabled\": true }", 1, 0, "", "for itself" },
	{ "transports/host.json", "{ \"entry_names\": [\"a/b\"] }", 1, 19, "entry_names[0]", "without" },
	{ "transports/host.json", "{ \"entry_paths\": [\"a\"] }", 1, 19, "entry_paths[0]", "absolute" },
	{ "transports/host.json", "{ \"entry_paths\": [\"~/a/b\"] }", 1, 19, "entry_paths[0]", "absolute" },
	{ "transports/host.json", "{ \"entry_paths\": [\"/workspace/a/../b\"] }", 1, 19, "entry_paths[0]", "\"..\"" },
	{ "transports/host.json", "{ \"entry_paths\": [\"/workspace/a/b\",\n\"/workspace/a\"] }", 2, 1, "entry_paths[1]", "folder below" },
	{ "transports/host.json", "{ \"entry_paths\": [\"/workspace\"] }", 1, 19, "entry_paths[0]", "folder below" },
	{ "transports/host.json", "{ \"entry_paths\": [\"/usr/a/b\"] }", 1, 19, "entry_paths[0]", "folder below" },
	{ "transports/host.json", "{ \"templates\": [ { \"kind\": \"any\" } ] }", 1, 28, "templates[0].kind", "housekeeping, wrap" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [] } ] }", 1, 28, "templates[0].argv", "begins with the name" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"\", \"a\"] } ] }", 1, 28, "templates[0].argv", "begins with the name" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [{ \"is\": \"text\" }] } ] }", 1, 28, "templates[0].argv", "begins with the name" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n7] } ] }", 2, 1, "templates[0].argv[1]", "expected an object" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n\"\\u0001\"] } ] }", 2, 1, "templates[0].argv[1]", "control character" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"any\" }] } ] }", 2, 9, "templates[0].argv[1].is", "text, quoted" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"path\" }] } ] }", 2, 1, "templates[0].argv[1]", "\"under\"" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"text\", \"under\": [\"/a\"] }] } ] }", 2, 1, "templates[0].argv[1]", "\"under\"" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"path\", \"under\": [\"a\"] }] } ] }", 2, 27, "templates[0].argv[1].under[0]", "absolute" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"sha256\", \"digests\": [\"AB\"] }] } ] }", 2, 31, "templates[0].argv[1].digests[0]", "64 lower-case" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"rest\" }, \"b\"] } ] }", 2, 1, "templates[0].argv[1]", "only at the end" },
	{ "transports/host.json", "{ \"templates\": [ { \"argv\": [\"a\",\n{ \"is\": \"rest\", \"before\": \"x\" }] } ] }", 2, 1, "templates[0].argv[1]", "whole words" },
	{ "transports/host.json", "{ \"templates\": [ { \"id\": \"a\", \"kind\": \"wrap\", \"argv\": [\"a\"], \"why\": \"x\" } ] }", 1, 18, "templates[0]", "\"rest\"" },
	{ "transports/host.json", "{ \"templates\": [ { \"id\": \"a\", \"kind\": \"housekeeping\", \"argv\": [\"a\"], \"why\": \"x\" },\n"
				  "{ \"id\": \"a\", \"kind\": \"housekeeping\", \"argv\": [\"b\"], \"why\": \"x\" } ] }", 2, 1, "templates[1]", "taken by transports/host.json:1" },
	{ "transports/host.json", "{ \"templates\": [ { \"id\": \"a\", \"kind\": \"housekeeping\", \"argv\": [\"a\"] } ] }", 1, 18, "templates[0]", "\"why\" is missing" },
	{ "environment.json", "{ \"helpers\": [ { \"setters\": [] } ] }", 1, 29, "helpers[0].setters", "at least one" },
	{ "environment.json", "{ \"helpers\": [ { \"setters\": [\"git\"] } ] }", 1, 16, "helpers[0]", "\"names\" is missing" },
	{ "environment.json", "{ \"helpers\": [ { \"setters\": [\"git\"], \"names\": [\"A\"], \"programs\": [\"x\"], \"own\": true } ] }", 1, 16, "helpers[0]", "exclude each other" },
};

static void every_fault_is_named_with_its_place(void **state)
{
	size_t i, g;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		write_file(faults[i].file, faults[i].text);
		expect_error(faults[i].file, faults[i].line, faults[i].column, faults[i].key, faults[i].error);
		for (g = 0; g < ARRAY_SIZE(good); g++)
			if (strcmp(good[g].file, faults[i].file) == 0)
				write_file(good[g].file, good[g].text);
	}
}

/* An id that another mode has, whichever file is read later. */
static void ids_are_unique_across_modes(void **state)
{
	(void)state;
	write_file("modes/observe.json", "{ \"rules\": [\n { \"id\": \"g.rest\", \"verdict\": \"review\", \"reason\": \"x\" } ] }");
	expect_error("modes/observe.json", 2, 2, "rules[0]", "is taken by modes/guarded.json:4");
}

static void rules_hidden_by_earlier_ones_are_errors(void **state)
{
#define RULE(id, effects, verdict) "{ \"id\": \"" id "\", \"effects\": [" effects "], \"verdict\": " verdict ", \"reason\": \"x\" },\n"
#define DENY "\"deny\", \"tag\": \"policy_block\""
#define REST "{ \"id\": \"z\", \"verdict\": \"review\", \"reason\": \"x\" } ] }"
	static const struct { const char *rules; unsigned line; } cases[] = {
		{ RULE("a", "\"read\", \"write\"", DENY) RULE("b", "\"read\"", "\"review\"") REST, 3 },
		{ RULE("a", "\"read\"", DENY) RULE("b", "\"write\"", DENY) RULE("c", "\"read\", \"write\"", "\"allow\"") REST, 4 },
		{ RULE("a", "\"read\", \"code\"", "\"allow\"") RULE("b", "\"code\"", "\"allow\"") REST, 3 },
		{ RULE("a", "\"read\"", DENY) RULE("b", "\"read\", \"write\"", "\"review\"") REST, 0 },
		{ RULE("a", "\"read\"", "\"allow\"") RULE("b", "\"read\"", "\"review\"") REST, 0 },	/* with other effects as well */
		{ RULE("a", "\"read\"", "\"allow\"") RULE("b", "\"read\", \"state\"", "\"allow\"") REST, 0 },
		{ RULE("a", "\"read\"", "\"review\", \"where\": \"text\"") RULE("b", "\"read\"", "\"allow\"") REST, 0 },
		{ RULE("a", "\"read\"", "\"review\", \"where\": \"text\"") RULE("b", "\"read\"", "\"allow\", \"where\": \"text\"") REST, 3 },
	};
	struct policy *p = NULL;
	char text[1024];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "{ \"rules\": [\n%s", cases[i].rules);
		write_file("modes/guarded.json", text);
		if (cases[i].line) {
			struct err e = load_error();

			assert_non_null(strstr(e.text, "no action can reach"));
			assert_int_equal(e.line, cases[i].line);
		} else {
			assert_int_equal(policy_load(folder, &p, NULL), 0);
			policy_free(p);
		}
	}
}

static void a_command_described_twice_names_both_places(void **state)
{
	static const char text[] = "{ \"commands\": [\n { \"names\": \"dog\", \"effects\": \"read\" },\n { \"names\": \"bird cat\", \"effects\": \"read\" } ] }";

	(void)state;
	write_file("commands/b.json", text);
	expect_error("commands/b.json", 3, 0, "", "\"cat\" is described by commands/a.json:3 already");
}

/* Whoever runs what its arguments say, or reads code, would set names for others. */
static void a_shell_vouches_for_no_name(void **state)
{
	static const char *const setters[] = { "sh", "b*", "python3", "env", "git" };
	struct policy *p = NULL;
	char text[1024];
	size_t i;

	(void)state;
	write_file("commands/b.json", "{ \"commands\": [ { \"names\": \"sh bash\", \"effects\": \"shell\" }, { \"names\": \"python*\", \"effects\": \"code\" },\n"
				      "{ \"names\": \"env\", \"effects\": \"run\" }, { \"names\": \"git\", \"effects\": \"code write\" } ] }");
	for (i = 0; i < ARRAY_SIZE(setters); i++) {
		snprintf(text, sizeof(text), "{ \"mode\": \"all\", \"image\": \"pass\", \"baseline\": [], \"allow\": [], \"deny\": [], \"code_names\": [\"A\"], \"text_names\": [],\n"
			 "\"helpers\": [ { \"setters\": [\"%s\"], \"names\": [\"A\"] } ] }", setters[i]);
		write_file("environment.json", text);
		if (i + 1 < ARRAY_SIZE(setters)) {
			expect_error("environment.json", 2, 0, "", "cannot vouch");
			continue;
		}
		assert_int_equal(policy_load(folder, &p, NULL), 0);
		assert_int_equal(p->environment.nr_helpers, 1);
		policy_free(p);
	}
}

/* ---- faults of the folder ---- */

static void remove_file(const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	assert_int_equal(unlink(path), 0);
}

static void link_file(const char *target, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

static void a_missing_file_is_an_error(void **state)
{
	static const char *const needed[] = { "policy.json", "environment.json", "paths.json", "network.json", "browser.json", "modes/guarded.json" };
	size_t i, g;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		remove_file(needed[i]);
		expect_error(needed[i], 0, 0, "", "missing");
		for (g = 0; g < ARRAY_SIZE(good); g++)
			if (strcmp(good[g].file, needed[i]) == 0)
				write_file(good[g].file, good[g].text);
	}
	remove_file("commands/a.json");
	expect_error("commands", 0, 0, "", "no command is described");
}

static void a_missing_folder_is_an_error(void **state)
{
	struct policy *policy = NULL;
	struct err e;

	(void)state;
	assert_int_equal(policy_load("/nowhere/cordon", &policy, &e), -ENOENT);
	assert_string_equal(e.file, "/nowhere/cordon");
	assert_null(policy);
	assert_int_equal(policy_load("/etc/passwd", &policy, &e), -ENOTDIR);
}

static void misspelt_files_are_errors(void **state)
{
	(void)state;
	write_file("enviroment.json", "{}");
	expect_error("enviroment.json", 0, 0, "", "not a file of a policy");
	remove_file("enviroment.json");
	write_file("modes/guard.json", "{ \"rules\": [] }");
	expect_error("modes/guard.json", 0, 0, "", "not a mode");
	remove_file("modes/guard.json");
	write_file("README", "x");		/* not JSON: nobody's business */
	write_file("commands/.a.json.swp", "x");
	{
		struct policy *p = NULL;

		assert_int_equal(policy_load(folder, &p, NULL), 0);
		policy_free(p);
	}
}

static void links_stay_inside_the_folder(void **state)
{
	struct policy *p = NULL;

	(void)state;
	link_file("/etc/passwd", "network.json");
	expect_error("network.json", 0, 0, "", "out of the policy folder");
	link_file("../../etc/passwd", "network.json");
	expect_error("network.json", 0, 0, "", "out of the policy folder");
	link_file("network.json", "network.json");
	expect_error("network.json", 0, 0, "", "out of the policy folder");
	write_file(".real", good[3].text);
	link_file(".real", "network.json");	/* as a mounted ConfigMap has it */
	assert_int_equal(policy_load(folder, &p, NULL), 0);
	assert_int_equal(p->nr_ranges, 2);
	policy_free(p);
}

static void only_regular_files_of_sane_size_are_read(void **state)
{
	char path[256];

	(void)state;
	remove_file("network.json");
	snprintf(path, sizeof(path), "%s/network.json", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_error("network.json", 0, 0, "", "not a regular file");	/* and does not hang */
	remove_file("network.json");
	write_file("network.json", "{");
	assert_int_equal(truncate(path, (4 << 20) + 1), 0);
	expect_error("network.json", 0, 0, "", "4 MiB");
}

static void the_shipped_policy_loads(void **state)
{
	char path[512];
	struct policy *p = NULL;
	struct err e = { 0 };
	char line[1024];

	(void)state;
	snprintf(path, sizeof(path), "%s", __FILE__);
	*strrchr(path, '/') = '\0';
	strcat(path, "/../../policies");
	if (policy_load(path, &p, &e) < 0) {
		err_format(&e, line, sizeof(line));
		fail_msg("%s", line);
	}
	assert_int_equal(p->mode, MODE_OFF);
	assert_false(p->unreviewed_allow);
	assert_string_equal(p->launch_user, "agent");
	assert_true(p->entry_names.nr >= 20);
	assert_true(p->entry_paths.nr >= 3);
	assert_int_equal(p->offered.profile, PROFILE_ASSISTANT);
	assert_string_equal(policy_preset(p, "codex")->environment.items[0], "OPENAI_API_KEY");
	assert_string_equal(policy_preset(p, "claude")->environment.items[0], "ANTHROPIC_API_KEY");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(policy_preset(p, ((const char *const[]){ "git", "gh", "make" })[i])->environment.nr, 0);
	policy_free(p);
}

/* ---- words ---- */

static void modes_have_names_aliases_and_retired_names(void **state)
{
	static const struct { const char *text; int mode; const char *now; } words[] = {
		{ "off", MODE_OFF, NULL }, { "unrestricted", MODE_OFF, NULL }, { "yolo", MODE_OFF, NULL }, { "guarded", MODE_GUARDED, NULL },
		{ "observe", MODE_OBSERVE, NULL }, { "readonly", MODE_READONLY, NULL }, { "Guarded", -1, "unknown" }, { "", -1, "unknown" },
		{ "guarded ", -1, "unknown" }, { "workspace", -1, "strict" }, { "developer", -1, "standard" }, { "trusted_local", -1, "open" },
		{ "none", -1, "bare" }, { "trusted", -1, "extended" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		enum mode mode = MODE_COUNT;
		struct err e = { 0 };
		int r = mode_parse(words[i].text, &mode, &e);

		if (words[i].mode >= 0) {
			assert_int_equal(r, 0);
			assert_int_equal(mode, words[i].mode);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(mode, MODE_COUNT);
			assert_non_null(strstr(e.text, words[i].now));
		}
	}
	assert_string_equal(mode_name(MODE_READONLY), "readonly");
	assert_string_equal(effect_name(EFFECT_STATE), "state");
	assert_string_equal(effect_name(EFFECT_READ), "read");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* The good policy's paths.json with these skill folders, on line 9. */
static void write_skills(const char *folders)
{
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (strcmp(good[i].file, "paths.json") == 0)
			snprintf(text, sizeof(text), "%.*s,\n\t\"irreplaceable\": [\"/srv\"], \"skills\": [%s]\n}\n", (int)strlen(good[i].text) - 3, good[i].text, folders);
	write_file("paths.json", text);
}

static void a_skill_folder_is_one_of_its_own(void **state)
{
	static const struct { const char *folder, *why; } bad[] = {
		{ "/", "not a home" }, { "~", "not a home" }, { "/root", "not a home" }, { "/home", "not a home" }, { "/home/agent", "not a home" },
		{ "/proc/1/root", "the kernel's" }, { "/dev/shm/x", "the kernel's" }, { "/workspace", "the project" }, { "/workspace/.agents/skills", "the project" },
		{ "~/.ssh", "closed" }, { "~/.ssh/skills", "closed" }, { "/home/agent/.ssh", "closed" }, { "/root/.ssh/x", "closed" }, { "/run", "closed" }, { "/run/cordon/x", "closed" },
		{ "/etc", "closed" }, { "/run/docker.sock", "closed" }, { "/usr", "it holds /usr" }, { "/srv", "it holds /srv" },
	};
	char item[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(item, sizeof(item), "\"/opt/skills\", \"%s\"", bad[i].folder);
		write_skills(item);
		expect_error("paths.json", 9, 55, "skills[1]", bad[i].why);
	}
}

static void skill_folders_are_read(void **state)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	(void)state;
	write_skills("\"~/.agents/skills\", \"/opt/skills\", \"/var/skills\", \"/root/.agents/skills\"");
	if (policy_load(folder, &p, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->paths.skills.nr, 4);
	assert_string_equal(p->paths.skills.items[0], "~/.agents/skills");
	assert_int_equal(p->paths.skills.line, 9);
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(a_good_folder_becomes_what_it_says),
		IN_FOLDER(commands_are_found_by_exact_name_then_by_the_longest_prefix),
		IN_FOLDER(sets_of_names_match_exactly_or_by_prefix),
		IN_FOLDER(the_hash_covers_names_and_bytes),
		IN_FOLDER(every_fault_is_named_with_its_place),
		IN_FOLDER(ids_are_unique_across_modes),
		IN_FOLDER(rules_hidden_by_earlier_ones_are_errors),
		IN_FOLDER(a_command_described_twice_names_both_places),
		IN_FOLDER(a_shell_vouches_for_no_name),
		IN_FOLDER(a_missing_file_is_an_error),
		cmocka_unit_test(a_missing_folder_is_an_error),
		IN_FOLDER(misspelt_files_are_errors),
		IN_FOLDER(links_stay_inside_the_folder),
		IN_FOLDER(only_regular_files_of_sane_size_are_read),
		cmocka_unit_test_setup_teardown(a_skill_folder_is_one_of_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(skill_folders_are_read, set_up, tear_down),
		cmocka_unit_test(the_shipped_policy_loads),
		cmocka_unit_test(modes_have_names_aliases_and_retired_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
