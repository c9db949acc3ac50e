/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy loader on any files: a folder is read whole or refused with the place of its fault, and what was read can be judged by.
 *
 * An input is pieces, with a byte 0xff between them (no JSON text holds one). The first byte of a piece, "A" and on, chooses the file of the
 * folder that the rest of it becomes; the others stay as they are in tests/fuzz/policy, where small ones stand for the large files, or in policies.
 *
 * Bytes changed by chance end at the parser, and most others at the first key: so values are moved about as well, from one place of a file to another, or
 * into another file.
 */
#include "tests/fuzz/fuzz.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/base/err.h"
#include "supervisor/judge/judge.h"

#include "supervisor/policy/load.c"	/* read_section() reads one file alone */

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
	"policy.json", "paths.json", "network.json", "environment.json", "browser.json", "modes/off.json", "modes/guarded.json", "modes/observe.json",
	"modes/readonly.json", "commands/all.json", "transports/all.json", "services/mitmproxy.json", "presets/ai_tools.json",
	"presets/dev_tools.json",
};
#define FILES_NR (sizeof(files) / sizeof(files[0]))
#define PATHS 1

/* In memory: writing files is most of the time elsewhere. */
static char folder[] = "/dev/shm/fuzz-policy-XXXXXX";
static struct original { char *text; size_t len; } originals[FILES_NR];

static void put(size_t i, const void *text, size_t len)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || close(fd) < 0)
		abort();
}

static void remove_folder(void)
{
	static const char *const folders[] = { "modes", "commands", "transports", "services", "presets", "" };
	char path[512];
	size_t i;

	for (i = 0; i < FILES_NR; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		rmdir(path);
	}
}

static void set_up(void)
{
	static const char *const folders[] = { "modes", "commands", "transports", "services", "presets" };
	struct policy *policy;
	char path[512];
	struct err e;
	size_t i;

	if (!mkdtemp(folder))
		abort();
	atexit(remove_folder);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		if (mkdir(path, 0700) < 0)
			abort();
	}
	for (i = 0; i < FILES_NR; i++) {
		FILE *from;

		snprintf(path, sizeof(path), "%s/tests/fuzz/policy/%s", CORDON_SOURCE_DIR, files[i]);
		from = fopen(path, "re");
		if (!from) {
			snprintf(path, sizeof(path), "%s/policies/%s", CORDON_SOURCE_DIR, files[i]);
			from = fopen(path, "re");
		}
		originals[i].text = malloc(1 << 20);
		if (!from || !originals[i].text)
			abort();
		originals[i].len = fread(originals[i].text, 1, 1 << 20, from);
		fclose(from);
		put(i, originals[i].text, originals[i].len);
	}
	if (policy_load(folder, &policy, &e) < 0) {	/* nothing would be tried but the first fault */
		fprintf(stderr, "%s:%u: %s: %s\n", e.file, e.line, e.key, e.text);
		abort();
	}
	policy_free(policy);
}

/* For driver.c: each file as it is. */
uint8_t *fuzz_seed(size_t i, size_t *ret_len);
uint8_t *fuzz_seed(size_t i, size_t *ret_len)
{
	uint8_t *seed;

	if (!originals[0].text)
		set_up();
	if (i >= FILES_NR)
		return NULL;
	seed = malloc(originals[i].len + 1);
	seed[0] = (uint8_t)('A' + i);
	memcpy(seed + 1, originals[i].text, originals[i].len);
	*ret_len = originals[i].len + 1;
	return seed;
}

/* ---- changes that keep it JSON ---- */

static uint64_t state;

static size_t chance(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return below ? (size_t)(state >> 33) % below : 0;
}

/* A value somewhere in the tree, borrowed; ret_parent holds it, and how: as the member key, or as the element at the index. */
static json_t *any_value(json_t *root, json_t **ret_parent, const char **ret_key, size_t *ret_index)
{
	json_t *value = root, *parent = NULL;
	size_t depth = 1 + chance(6);

	*ret_key = NULL;
	while (depth-- > 0 && (json_object_size(value) || json_array_size(value))) {
		parent = value;
		if (json_is_array(value)) {
			*ret_key = NULL;
			*ret_index = chance(json_array_size(value));
			value = json_array_get(value, *ret_index);
		} else {
			void *member = json_object_iter(value);

			for (size_t skip = chance(json_object_size(value)); skip > 0; skip--)
				member = json_object_iter_next(value, member);
			*ret_key = json_object_iter_key(member);
			value = json_object_iter_value(member);
		}
	}
	*ret_parent = parent;
	return value;
}

static json_t *parse(const void *text, size_t len)
{
	return json_loadb(text, len, JSON_DECODE_ANY, NULL);
}

/* What takes a value's place: one from elsewhere, or one that tries a limit. */
static json_t *another_value(json_t *root, json_t *value)
{
	static const char *const texts[] = { "", "*", "a", "read", "unknown", "delete code", "--a= -b[=] -c=*", "[a-", "!", "${a}", "/", "~", "~/x", "..", "127.0.0.1/33", "::/0", "\xe2\x80\xae", "1" };
	const char *key;
	json_t *parent, *other;
	size_t index, i = chance(FILES_NR);

	switch (chance(6)) {
	case 0:
		return json_string(texts[chance(sizeof(texts) / sizeof(texts[0]))]);
	case 1:
		return json_integer((json_int_t[]){ 0, 1, -1, 65535, 65536, INT64_MAX, INT64_MIN }[chance(7)]);
	case 2:
		return chance(2) ? json_boolean(chance(2)) : json_null();
	case 3:
		return json_pack("[O]", value);
	case 4:
		return json_deep_copy(any_value(root, &parent, &key, &index));
	default:
		other = parse(originals[i].text, originals[i].len);
		value = json_deep_copy(any_value(other, &parent, &key, &index));
		json_decref(other);
		return value;
	}
}

static void change(json_t *root)
{
	static const char *const keys[] = { "names", "effects", "options", "operands", "commands", "values", "value", "match", "when", "if", "unless", "sets", "absent_if", "style", "many", "last",
					    "id", "verdict", "reason", "tag", "hint", "where", "words", "rules", "range", "fold", "page", "asks", "same", "anywhere", "template", "capture" };
	const char *key;
	json_t *parent, *value;
	size_t index = 0;

	value = any_value(root, &parent, &key, &index);
	if (!parent)
		return;
	switch (chance(5)) {
	case 0:
		(void)(key ? json_object_del(parent, key) : json_array_remove(parent, index));
		break;
	case 1:
		if (json_is_array(parent))
			json_array_insert_new(parent, index, json_deep_copy(value));
		else
			json_object_set_new(parent, keys[chance(sizeof(keys) / sizeof(keys[0]))], another_value(root, value));
		break;
	default:
		value = another_value(root, value);
		(void)(key ? json_object_set_new(parent, key, value) : json_array_set_new(parent, index, value));
		break;
	}
}

/* libFuzzer's hook, and the driver's. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t most, unsigned seed)
{
	const uint8_t *end = memchr(data, 0xff, len);
	size_t first = end ? (size_t)(end - data) : len, times, used;
	json_t *root;
	char *text;

	state = seed;
	root = first > 1 && chance(8) ? parse(data + 1, first - 1) : NULL;
	if (!root)
		return LLVMFuzzerMutate(data, len, most);
	for (times = 1 + chance(3); times > 0; times--)
		change(root);
	text = json_dumps(root, JSON_ENCODE_ANY | JSON_INDENT(1));
	used = text ? strlen(text) : 0;
	if (used && used + len - first + 1 <= most) {
		memmove(data + 1 + used, data + first, len - first);
		memcpy(data + 1, text, used);
		len = len - first + used + 1;
	}
	free(text);
	json_decref(root);
	return len;
}

static void judge_by(const struct policy *policy)
{
	static const char *const lines[] = { "ls -la --out=y +b --arg x y z", "rm -rf / $X; git log -n 3; tar xf a", "timeout 1 cat -exec sh -c id \\; | sed -e p",
					     "PATH=x curl -d 'drop table a' http://[::1]:9222/a?b=c > ~/.bashrc" };
	static struct arena arena;
	unsigned mode;
	size_t i;

	if (!arena.data)
		arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (mode = MODE_GUARDED; mode < MODE_COUNT; mode++) {
			const char *argv[] = { lines[i], NULL };
			const struct judge_subject subject = { .mode = mode, .home = "/home/agent", .arena = &arena };
			const struct action action = { .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = "/workspace" };
			struct decision d;

			arena.used_bytes = 0;
			judge(policy, &subject, &action, &d);
			if (!d.rule || !d.origin.file || !d.reason[0] || (d.verdict == VERDICT_DENY && !d.tag) || (d.verdict != VERDICT_ALLOW && !d.hint))
				abort();
		}
}

static int read_one(struct load *l, size_t i, const void *data, size_t len)
{
	struct document document;
	struct buf text = { 0 };
	struct node root;
	int r;

	buf_append(&text, data, len);
	r = document_open(&document, l->folder, files[i], &text, &l->pool, l->error);
	if (r == 0) {
		root = document_root(&document);
		r = read_section(l, &root);
	}
	document_close(&document);
	buf_free(&text);
	return r;
}

/* One file, without the others and without a folder: what is refused here needs no more, and that is most. Paths alone are asked for by other files. */
static bool is_read_alone(size_t i, const uint8_t *data, size_t len)
{
	struct err e = { 0 };
	struct load l = { .folder = "policies", .error = &e };
	int r = i == PATHS ? 0 : read_one(&l, PATHS, originals[PATHS].text, originals[PATHS].len);

	if (r < 0)
		abort();
	r = read_one(&l, i, data, len);
	pool_free(&l.pool);
	if (r < 0 && !e.text[0])
		abort();
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	bool changed[FILES_NR] = { false };
	struct policy *policy = NULL;
	struct err e = { 0 };
	bool whole = true;
	size_t i;
	int r;

	if (!originals[0].text)
		set_up();
	if (len > 1 && !memchr(data, 0xff, len))
		whole = is_read_alone((size_t)(data[0] - 'A') % FILES_NR, data + 1, len - 1);
	if (!whole && len % 16)	/* a few are tried all the same: the folder is refused as well */
		return 0;
	while (len > 0) {
		const uint8_t *end = memchr(data, 0xff, len);
		size_t piece = end ? (size_t)(end - data) : len;

		if (piece) {
			i = (size_t)(data[0] - 'A') % FILES_NR;
			put(i, data + 1, piece - 1);
			changed[i] = true;
		}
		data += piece + (end != NULL);
		len -= piece + (end != NULL);
	}
	r = policy_load(folder, &policy, &e);
	if (r < 0 ? policy || !e.text[0] : !policy || !whole)
		abort();
	if (policy)
		judge_by(policy);
	policy_free(policy);
	for (i = 0; i < FILES_NR; i++)
		if (changed[i])
			put(i, originals[i].text, originals[i].len);
	return 0;
}
