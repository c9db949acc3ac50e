/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a fuzzer where libFuzzer is not: first every input of the corpus, then inputs made from them by chance until the time is over. It has no
 * feedback from the code; that is what preset fuzz is for. Prints TAP. An input that crashes or takes too much CPU time is left in a file.
 *
 * usage: fuzz_NAME [--seconds S] [--seed N] [--max-bytes N] [--limit-ms N] [--artifacts DIR] [--write-seeds DIR] PATH...
 *   PATH: a file, a folder of files, or a list of decision cases (.tsv): each "exec" action of it is an input, with an "a" before it
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Inputs a fuzzer brings itself: the i-th, or NULL. */
__attribute__((weak)) uint8_t *fuzz_seed(size_t i, size_t *ret_len);
/* Changes that a fuzzer knows better, by the names that libFuzzer has for them. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t most);
/* The sanitizers end the process themselves. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

struct input {
	uint8_t *data;
	size_t len;
};

static struct {
	struct input *inputs;
	size_t nr, room;
	size_t max_bytes;
	unsigned limit_ms;
	const char *artifacts, *name;
	struct input current;
	uint64_t random;
} fuzz = { .max_bytes = 4096, .limit_ms = 5000, .artifacts = ".", .random = 1 };

/* ---- when it goes wrong ---- */

static void keep_input(void)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s-%ld.input", fuzz.artifacts, fuzz.name, (long)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, fuzz.current.data, fuzz.current.len) < 0)
		return;
	close(fd);
	dprintf(STDOUT_FILENO, "# the input is in %s\n", path);
}

static void on_signal(int number)
{
	dprintf(STDOUT_FILENO, number == SIGPROF ? "not ok 0 an input takes more than %u ms\n" : "not ok 0 signal %u\n",
		number == SIGPROF ? fuzz.limit_ms : (unsigned)number);
	keep_input();
	_exit(1);
}

/* ---- the corpus ---- */

static void add(const void *data, size_t len)
{
	if (len > fuzz.max_bytes)
		len = fuzz.max_bytes;
	if (fuzz.nr == fuzz.room) {
		fuzz.room = fuzz.room ? fuzz.room * 2 : 256;
		fuzz.inputs = realloc(fuzz.inputs, fuzz.room * sizeof(*fuzz.inputs));
	}
	fuzz.inputs[fuzz.nr].data = malloc(len + 1);
	memcpy(fuzz.inputs[fuzz.nr].data, data, len);
	fuzz.inputs[fuzz.nr++].len = len;
}

/* \\ \n \t \r \xHH, in place. */
static size_t unescape(char *text)
{
	static const char letters[] = "\\ntr", bytes[] = "\\\n\t\r";
	char *to = text, *from = text;

	while (*from) {
		const char *letter = from[0] == '\\' && from[1] ? strchr(letters, from[1]) : NULL;

		if (letter) {
			*to++ = bytes[letter - letters];
			from += 2;
		} else if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
			const char hex[] = { from[2], from[3], '\0' };

			*to++ = (char)strtoul(hex, NULL, 16);
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	return (size_t)(to - text);
}

static void add_cases(FILE *from)
{
	char *line = NULL;
	size_t bytes = 0;

	while (getline(&line, &bytes, from) > 0) {
		char *rest = line, *mode = strsep(&rest, "\t"), *kind = strsep(&rest, "\t"), *action = strsep(&rest, "\t");

		if (!action || *mode == '#' || strcmp(kind, "exec") != 0)
			continue;
		action[-1] = 'a';	/* the tab before it */
		add(action - 1, unescape(action) + 1);
	}
	free(line);
}

static void add_path(const char *path)
{
	size_t len = strlen(path);
	struct dirent *entry;
	struct stat st;
	uint8_t *data;
	FILE *from;
	DIR *dir;

	if (stat(path, &st) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(2);
	}
	if (S_ISDIR(st.st_mode)) {
		char inside[PATH_MAX];

		dir = opendir(path);
		while (dir && (entry = readdir(dir)))
			if (entry->d_name[0] != '.' && (size_t)snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name) < sizeof(inside))
				add_path(inside);
		if (dir)
			closedir(dir);
		return;
	}
	from = fopen(path, "re");
	if (!from)
		exit(2);
	if (len > 4 && strcmp(path + len - 4, ".tsv") == 0) {
		add_cases(from);
	} else {
		data = malloc((size_t)st.st_size + 1);
		add(data, fread(data, 1, (size_t)st.st_size, from));
		free(data);
	}
	fclose(from);
}

static void write_seeds(const char *folder)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < fuzz.nr; i++) {
		FILE *to;

		snprintf(path, sizeof(path), "%s/%06zu", folder, i);
		to = fopen(path, "we");
		if (!to || fwrite(fuzz.inputs[i].data, 1, fuzz.inputs[i].len, to) != fuzz.inputs[i].len || fclose(to) != 0)
			exit(2);
	}
}

/* ---- chance ---- */

/* xorshift64*: the same seed gives the same run. */
static uint64_t chance(uint64_t below)
{
	fuzz.random ^= fuzz.random >> 12;
	fuzz.random ^= fuzz.random << 25;
	fuzz.random ^= fuzz.random >> 27;
	return below ? (fuzz.random * 0x2545f4914f6cdd1dull >> 16) % below : 0;
}

static const struct input *any_input(void)
{
	return &fuzz.inputs[chance(fuzz.nr)];
}

/* len bytes of from in the place of gone bytes at the offset. */
static size_t replace(uint8_t *data, size_t used, size_t offset, size_t gone, const uint8_t *from, size_t len)
{
	if (used - gone + len > fuzz.max_bytes)
		return used;
	memmove(data + offset + len, data + offset + gone, used - offset - gone);
	if (len)
		memcpy(data + offset, from, len);
	return used - gone + len;
}

static size_t change(uint8_t *data, size_t used)
{
	static const char special[] = "'\"\\`$(){}[]<>|&;#*?!~= \t\n/-:@%,.0x\xff";
	const struct input *other = any_input();
	size_t offset = chance(used + 1), most = used - offset, from, len;
	uint8_t byte;

	switch (chance(6)) {
	case 0:		/* a bit */
		if (offset < used)
			data[offset] ^= (uint8_t)(1u << chance(8));
		return used;
	case 1:		/* a byte that means something */
		byte = (uint8_t)special[chance(sizeof(special) - 1)];
		return replace(data, used, offset, chance(2) && most ? 1 : 0, &byte, 1);
	case 2:		/* a piece less */
		return replace(data, used, offset, chance((most < 32 ? most : 32) + 1), NULL, 0);
	case 3:		/* a piece of another input */
		from = chance(other->len + 1);
		len = other->len - from < 64 ? other->len - from : 64;
		return replace(data, used, offset, 0, other->data + from, chance(len + 1));
	case 4:		/* the rest of another input */
		from = chance(other->len + 1);
		return replace(data, used, offset, most, other->data + from, other->len - from);
	default:	/* itself, again */
		from = chance(used + 1);
		len = chance((used - from < 256 ? used - from : 256) + 1);
		if (len) {
			uint8_t copy[256];

			memcpy(copy, data + from, len);
			return replace(data, used, offset, 0, copy, len);
		}
		return used;
	}
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t most)
{
	(void)most;		/* fuzz.max_bytes */
	return change(data, len);
}

static size_t change_somehow(uint8_t *data, size_t used)
{
	return LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(data, used, fuzz.max_bytes, (unsigned)chance(UINT32_MAX)) : change(data, used);
}

/* ---- the run ---- */

static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t run(const uint8_t *data, size_t len)
{
	const struct itimerval limit = { .it_value = { fuzz.limit_ms / 1000, fuzz.limit_ms % 1000 * 1000 } };
	/* in memory of exactly this size, so that a byte too far is seen */
	uint8_t *exact = malloc(len ? len : 1);
	uint64_t begun = cpu_us();

	memcpy(exact, data, len);
	fuzz.current = (struct input){ exact, len };
	setitimer(ITIMER_PROF, &limit, NULL);
	LLVMFuzzerTestOneInput(exact, len);
	begun = cpu_us() - begun;
	free(exact);
	return begun;
}

static void run_changed(unsigned seconds)
{
	struct timespec now, end;
	uint8_t *data = malloc(fuzz.max_bytes + 1);
	uint64_t slowest = 0, runs = 0, took;
	size_t len, changes, before = mallinfo2().uordblks, after, cpu = cpu_us();

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		const struct input *base = any_input();

		memcpy(data, base->data, base->len);
		len = base->len;
		for (changes = 1 + chance(5); changes > 0; changes--)
			len = change_somehow(data, len);
		took = run(data, len);
		slowest = took > slowest ? took : slowest;
		runs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	free(data);
	after = mallinfo2().uordblks;
	cpu = cpu_us() - cpu;
	printf("%sok 2 %llu changed inputs, %llu in a second of CPU time, the slowest took %llu ms of CPU time, memory %+ld KiB\n", after > before + (1u << 20) ? "not " : "",
	       (unsigned long long)runs, (unsigned long long)(runs * 1000000 / (cpu ? cpu : 1)), (unsigned long long)slowest / 1000, ((long)after - (long)before) / 1024);
}

static unsigned number_of(const char *text)
{
	char *end;
	unsigned long number = text ? strtoul(text, &end, 10) : 0;

	if (!text || !*text || *end || number > INT_MAX) {
		fprintf(stderr, "expected a number\n");
		exit(2);
	}
	return (unsigned)number;
}

int main(int argc, char **argv)
{
	const char *seeds = NULL;
	unsigned seconds = 0;
	size_t i, len;
	uint8_t *seed;
	int n;

	fuzz.name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	for (n = 1; n < argc; n++) {
		if (strcmp(argv[n], "--seconds") == 0)
			seconds = number_of(argv[++n]);
		else if (strcmp(argv[n], "--seed") == 0)
			fuzz.random = number_of(argv[++n]) * 2u + 1;
		else if (strcmp(argv[n], "--max-bytes") == 0)
			fuzz.max_bytes = number_of(argv[++n]);
		else if (strcmp(argv[n], "--limit-ms") == 0)
			fuzz.limit_ms = number_of(argv[++n]);
		else if (strcmp(argv[n], "--artifacts") == 0 && argv[n + 1])
			fuzz.artifacts = argv[++n];
		else if (strcmp(argv[n], "--write-seeds") == 0 && argv[n + 1])
			seeds = argv[++n];
		else
			add_path(argv[n]);
	}
	for (i = 0; fuzz_seed && (seed = fuzz_seed(i, &len)); i++) {
		add(seed, len);
		free(seed);
	}
	add("", 0);
	if (seeds) {
		write_seeds(seeds);
		return 0;
	}
	signal(SIGABRT, on_signal);
	signal(SIGPROF, on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_input);
	printf("1..%d\n", seconds ? 2 : 1);
	for (i = 0; i < fuzz.nr; i++)
		run(fuzz.inputs[i].data, fuzz.inputs[i].len);
	printf("ok 1 %zu inputs of the corpus\n", fuzz.nr);
	fflush(stdout);
	if (seconds)
		run_changed(seconds);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	for (i = 0; i < fuzz.nr; i++)
		free(fuzz.inputs[i].data);
	free(fuzz.inputs);
	return 0;
}
