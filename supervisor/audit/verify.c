/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a log, line by line, in constant memory. The first thing wrong ends it: behind a break nothing can be said.
 *
 * What it cannot see by itself: whole records missing at the end (ask for the seal, or give anchors from outside), a change of
 * the very last line, and a log rewritten from some point on (give anchors).
 */
#include "supervisor/audit/verify.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/reader.h"
#include "supervisor/audit/record.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/sha256.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAGMENTS_MAX 16u

struct fragment {
	char file[FOLDER_NAME_BYTES], hash[65];
	size_t len;
};

struct checker {
	const struct verify_options *options;
	struct verify_report *report;
	unsigned number;		/* current file */
	unsigned oldest_said;		/* highest "oldest" of a `file` record */
	uint64_t seq;			/* of the record before */
	char hash[65];			/* its hash */
	char next[FOLDER_NAME_BYTES];	/* what the `rotate` just before names, "" when the record before is none */
	struct fragment fragments[FRAGMENTS_MAX];	/* met since the record before */
	unsigned nr_fragments;
	size_t anchor;			/* next one to be met */
};

/* Notes the verdict. Always returns -EBADMSG, so that checks end with it. */
__attribute__((format(printf, 4, 5)))
static int found(struct checker *c, enum verify_result result, uint64_t line, const char *format, ...)
{
	struct verify_report *report = c->report;
	va_list arguments;
	char text[256];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	report->result = result;
	report->seq = c->seq;
	err_set(&report->why, 0, "%s", text);
	folder_file_name(c->number, report->why.file);
	report->why.line = (unsigned)line;
	return -EBADMSG;
}

static const char *text_of(const struct record *r, const char *object, const char *key)
{
	return json_string_value(json_object_get(object ? json_object_get(r->root, object) : r->root, key));
}

/* A new file begins: is it the one that must come? */
static int check_file(struct checker *c, const struct reader_line *line)
{
	char name[FOLDER_NAME_BYTES];
	unsigned before = c->number;

	folder_file_name(line->number, name);
	c->number = line->number;
	c->report->last_file = line->number;
	if (before == 0) {
		c->report->first_file = line->number;
		return 0;
	}
	if (line->number != before + 1) {
		folder_file_name(before + 1, name);
		return found(c, VERIFY_BROKEN, 0, "%s, the file before this one, is missing", name);
	}
	/* A file ends with the rotation that names the next, or was torn, or never got a record. */
	if (c->seq && c->nr_fragments == 0 && c->next[0] == '\0')
		return found(c, VERIFY_BROKEN, 0, "the file before this one does not end with its rotate record: its end is missing");
	if (c->next[0] && strcmp(c->next, name) != 0)
		return found(c, VERIFY_BROKEN, 0, "the file before this one names %s as the next", c->next);
	c->next[0] = '\0';
	return 0;
}

static int note_fragment(struct checker *c, unsigned number, uint64_t line, struct bytes text)
{
	struct fragment *f = &c->fragments[c->nr_fragments];

	if (c->nr_fragments == FRAGMENTS_MAX)
		return found(c, VERIFY_BROKEN, line, "more torn files than any crash explains");
	folder_file_name(number, f->file);
	sha256_of(text.data, text.len, f->hash);
	f->len = text.len;
	c->nr_fragments++;
	return 0;
}

/* `recovered` tells of exactly the fragments that stand before it. */
static int check_fragments(struct checker *c, const struct record *r, uint64_t line)
{
	const json_t *torn = json_object_get(r->root, "torn");
	bool is_recovered = strcmp(r->type, "recovered") == 0;

	if (!is_recovered && c->nr_fragments == 0)
		return 0;
	if (!is_recovered || json_array_size(torn) != c->nr_fragments)
		return found(c, VERIFY_BROKEN, line, "a torn line stands before it, but this is no recovered record that says so");
	for (unsigned i = 0; i < c->nr_fragments; i++) {
		const json_t *one = json_array_get(torn, i);
		const char *file = json_string_value(json_object_get(one, "file")), *hash = json_string_value(json_object_get(one, "sha256"));

		if (!file || !hash || strcmp(file, c->fragments[i].file) != 0 || strcmp(hash, c->fragments[i].hash) != 0 ||
		    json_integer_value(json_object_get(one, "bytes")) != (json_int_t)c->fragments[i].len)
			return found(c, VERIFY_BROKEN, line, "the torn line in %s is not the one this record tells of", c->fragments[i].file);
	}
	c->report->torn += c->nr_fragments;
	c->nr_fragments = 0;
	return 0;
}

static int check_chain(struct checker *c, const struct record *r, uint64_t line)
{
	if (c->seq == 0) {
		c->report->first_seq = r->seq;
		if (r->seq == 1 && strcmp(r->prev, RECORD_NO_PREV) != 0)
			return found(c, VERIFY_BROKEN, line, "seq 1 must be the first record, but it has one before it");
		if (c->number == 1 && r->seq != 1)
			return found(c, VERIFY_BROKEN, line, "the log must begin with seq 1, this is seq %" PRIu64, r->seq);
		return 0;
	}
	if (r->seq == c->seq)
		return found(c, VERIFY_BROKEN, line, "seq %" PRIu64 " appears twice", r->seq);
	if (r->seq != c->seq + 1)
		return found(c, VERIFY_BROKEN, line, "seq %" PRIu64 " follows seq %" PRIu64 ": records are missing or moved", r->seq, c->seq);
	if (strcmp(r->prev, c->hash) != 0)
		return found(c, VERIFY_BROKEN, line, "seq %" PRIu64 " does not chain: seq %" PRIu64 " before it is not what was written",
			     r->seq, c->seq);
	return 0;
}

/* Anchors and seals in the log name the record before them. */
static int check_head(struct checker *c, const struct record *r, uint64_t line)
{
	const json_t *head = json_object_get(r->root, "head");
	const char *hash = text_of(r, "head", "hash");

	c->report->sealed = strcmp(r->type, "seal") == 0;
	if (!c->report->sealed && strcmp(r->type, "anchor") != 0)
		return 0;
	/* The oldest record left has nothing to be held against. */
	if (c->seq == 0 && r->seq > 1)
		return 0;
	if (!hash || strcmp(hash, c->hash) != 0 || json_integer_value(json_object_get(head, "seq")) != (json_int_t)c->seq)
		return found(c, VERIFY_BROKEN, line, "the %s of seq %" PRIu64 " does not fit the record before it", r->type, r->seq);
	return 0;
}

/* hash: of the line of r. */
static int check_anchors(struct checker *c, const struct record *r, const char *hash, uint64_t line)
{
	const struct verify_options *o = c->options;

	for (; c->anchor < o->nr_anchors && o->anchors[c->anchor].seq <= r->seq; c->anchor++) {
		if (o->anchors[c->anchor].seq < r->seq) {
			c->report->anchors_before++;
			continue;
		}
		if (strcmp(o->anchors[c->anchor].hash, hash) != 0)
			return found(c, VERIFY_BROKEN, line, "seq %" PRIu64 " is not the record whose hash was anchored outside", r->seq);
		c->report->anchors_met++;
	}
	return 0;
}

static void note_kind(struct checker *c, const struct record *r)
{
	const char *next = strcmp(r->type, "rotate") == 0 ? text_of(r, NULL, "next") : NULL;
	const char *class = text_of(r, NULL, "class");
	const char *oldest = strcmp(r->type, "file") == 0 ? text_of(r, NULL, "oldest") : NULL;

	snprintf(c->next, sizeof(c->next), "%s", next ? next : "");
	if (oldest && folder_file_number(oldest) > c->oldest_said)
		c->oldest_said = folder_file_number(oldest);
	/* What could not be synced was written, and is here or not. */
	if (strcmp(r->type, "audit_drop") == 0 && (!class || strcmp(class, "unsynced") != 0))
		c->report->lost += (uint64_t)json_integer_value(json_object_get(r->root, "count"));
}

static int check_record(struct checker *c, const struct reader_line *line)
{
	struct record r;
	struct err error = { 0 };
	char hash[65];
	int result;

	if (record_parse(line->text, &r, &error) < 0)
		return found(c, VERIFY_BROKEN, line->line, "%s", error.text);
	sha256_of(line->text.data, line->text.len, hash);
	result = check_chain(c, &r, line->line);
	if (result == 0)
		result = check_fragments(c, &r, line->line);
	if (result == 0)
		result = check_head(c, &r, line->line);
	if (result == 0)
		result = check_anchors(c, &r, hash, line->line);
	if (result == 0) {
		note_kind(c, &r);
		c->seq = r.seq;
		memcpy(c->hash, hash, sizeof(hash));
		c->report->records++;
	}
	record_free(&r);
	return result;
}

static int check_line(struct checker *c, const struct reader_line *line)
{
	int r = line->number == c->number ? 0 : check_file(c, line);

	if (r < 0)
		return r;
	if (!line->whole)
		return note_fragment(c, line->number, line->line, line->text);
	return check_record(c, line);
}

/* All lines there are. A log that is being written may show half a line, or a rotation half done: look again before judging. */
static int check_lines(struct checker *c, struct reader *reader, struct err *ret_error)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	struct err error = { 0 };
	struct reader_line line;

	for (unsigned looks = 0;;) {
		int r = reader_next(reader, &line, &error);

		if (r == -EBADMSG) {
			c->number = reader_file(reader);
			return found(c, VERIFY_BROKEN, 0, "%s", error.text);
		}
		if (r < 0)
			return err_set(ret_error, r, "%s", error.text);
		if (r == 1)
			r = check_line(c, &line);
		else if (r == 0 && (reader_rest(reader).len || c->next[0]) && looks++ < 4)
			nanosleep(&pause, NULL);
		else if (r == 0)
			return 0;
		if (r < 0)
			return r;
	}
}

/* What must be there at the end. */
static int check_end(struct checker *c, const struct reader *reader)
{
	const struct verify_options *o = c->options;
	struct verify_report *report = c->report;

	if (report->first_file > 1 && c->oldest_said < report->first_file) {
		c->number = report->first_file;
		return found(c, VERIFY_BROKEN, 0, "files before this one are missing, and no record says that rotation deleted them");
	}
	if (reader_rest(reader).len || c->nr_fragments)
		return found(c, VERIFY_TRUNCATED, 0, "the last line is cut off, after seq %" PRIu64, c->seq);
	if (c->next[0] && reader_file(reader) == c->number)
		return found(c, VERIFY_TRUNCATED, 0, "%s, which its last record names, is missing", c->next);
	if (c->anchor < o->nr_anchors)
		return found(c, VERIFY_TRUNCATED, 0, "the log ends with seq %" PRIu64 ", but seq %" PRIu64 " was anchored outside", c->seq,
			     o->anchors[o->nr_anchors - 1].seq);
	if (o->sealed && !report->sealed)
		return found(c, VERIFY_TRUNCATED, 0, "the log does not end with a seal");
	report->seq = c->seq;
	return 0;
}

int verify_log(const struct verify_options *options, struct verify_report *ret_report, struct err *ret_error)
{
	struct verify_report report = { .result = VERIFY_INTACT };
	struct checker c = { .options = options, .report = &report };
	struct reader *reader;
	int r = reader_open(options->dir, &reader, ret_error);

	if (r < 0)
		return r;
	r = check_lines(&c, reader, ret_error);
	if (r == 0)
		r = check_end(&c, reader);
	reader_close(reader);
	if (r < 0 && report.result == VERIFY_INTACT)
		return r;
	*ret_report = report;
	return 0;
}

/* ---- anchors from outside ---- */

/* "… ANCHOR … seq=N hash=H …" as the writer prints it, or SEAL likewise. What wraps the line does not matter. */
static bool parse_anchor(const char *line, struct anchor *ret_anchor)
{
	const char *word = strstr(line, "ANCHOR "), *seq, *hash;
	struct anchor a = { 0 };

	if (!word)
		word = strstr(line, "SEAL ");
	seq = word ? strstr(word, "seq=") : NULL;
	hash = seq ? strstr(seq, "hash=") : NULL;
	if (!hash || sscanf(seq, "seq=%" SCNu64, &a.seq) != 1 || a.seq == 0 || strspn(hash + 5, "0123456789abcdef") != 64)
		return false;
	memcpy(a.hash, hash + 5, 64);
	*ret_anchor = a;
	return true;
}

static int compare_anchors(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int verify_read_anchors(int fd, struct anchor **ret_anchors, size_t *ret_count)
{
	_cleanup_free_ struct anchor *anchors = NULL;
	_cleanup_free_ char *line = NULL;
	size_t count = 0, capacity = 0, line_bytes = 0;
	FILE *file = fdopen(dup(fd), "r");
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && getline(&line, &line_bytes, file) >= 0) {
		struct anchor a;

		if (!parse_anchor(line, &a))
			continue;
		if (count == capacity) {
			struct anchor *more = reallocarray(anchors, capacity += 256, sizeof(*more));

			if (!more) {
				r = -ENOMEM;
				break;
			}
			anchors = more;
		}
		anchors[count++] = a;
	}
	if (r == 0 && ferror(file))
		r = -EIO;
	fclose(file);
	if (r < 0)
		return r;
	if (count)
		qsort(anchors, count, sizeof(*anchors), compare_anchors);
	*ret_anchors = TAKE_PTR(anchors);
	*ret_count = count;
	return 0;
}
