/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy loader on any files: a folder is read whole or refused with the place of its fault, and what was read can be judged by.
 *
 * An input is pieces, with a byte 0xff between them (no JSON text holds one). The first byte of a piece, "A" and on, chooses the file of the
 * folder that the rest of it becomes; the others stay as they are in tests/fuzz/policy, where small ones stand for the large files, or in policies.
 */
#include "tests/fuzz/fuzz.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/base/err.h"
#include "supervisor/judge/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
	"policy.json", "paths.json", "network.json", "environment.json", "browser.json", "modes/off.json", "modes/guarded.json", "modes/observe.json",
	"modes/readonly.json", "commands/all.json", "transports/all.json", "services/mitmproxy.json", "presets/ai_tools.json",
	"presets/dev_tools.json",
};
#define FILES_NR (sizeof(files) / sizeof(files[0]))

static char folder[] = "/tmp/fuzz-policy-XXXXXX";
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	bool changed[FILES_NR] = { false };
	struct policy *policy = NULL;
	struct err e = { 0 };
	size_t i;
	int r;

	if (!originals[0].text)
		set_up();
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
	if (r < 0 ? policy || !e.text[0] : !policy)
		abort();
	if (policy)
		judge_by(policy);
	policy_free(policy);
	for (i = 0; i < FILES_NR; i++)
		if (changed[i])
			put(i, originals[i].text, originals[i].len);
	return 0;
}
