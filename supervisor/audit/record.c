/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope, both ways. Pure; any thread. */
#include "supervisor/audit/record.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *audit_severity_name(enum audit_severity severity)
{
	static const char *const names[] = { "info", "low", "med", "high", "crit" };

	return severity < ARRAY_SIZE(names) ? names[severity] : "crit";
}

void record_source(struct buf *ret_source, const char *run, const char *boot)
{
	struct json_out j = { .buf = ret_source };

	json_bytes(&j, "run", bytes_of(run));
	json_bytes(&j, "boot", bytes_of(boot));
}

/* Two digits, and what follows them (0: nothing). */
static char *put_two(char *at, unsigned number, char after)
{
	*at++ = (char)('0' + number / 10);
	*at++ = (char)('0' + number % 10);
	if (after)
		*at++ = after;
	return at;
}

void record_time(uint64_t real_us, char ret_text[static 32])
{
	time_t seconds = (time_t)(real_us / 1000000);
	unsigned fraction = (unsigned)(real_us % 1000000);
	struct tm tm;
	char *at = ret_text;

	gmtime_r(&seconds, &tm);
	/* "2026-11-30T18:00:00.000000Z". By hand: every record has one, and stdio is slow. */
	at = put_two(at, (unsigned)(tm.tm_year + 1900) / 100 % 100, 0);
	at = put_two(at, (unsigned)(tm.tm_year + 1900) % 100, '-');
	at = put_two(at, (unsigned)tm.tm_mon + 1, '-');
	at = put_two(at, (unsigned)tm.tm_mday, 'T');
	at = put_two(at, (unsigned)tm.tm_hour, ':');
	at = put_two(at, (unsigned)tm.tm_min, ':');
	at = put_two(at, (unsigned)tm.tm_sec, '.');
	at = put_two(at, fraction / 10000, 0);
	at = put_two(at, fraction / 100 % 100, 0);
	at = put_two(at, fraction % 100, 'Z');
	*at = 0;
}

void record_format(struct buf *line, const struct envelope *envelope, struct bytes members)
{
	char ts[32];

	record_time(envelope->real_us, ts);
	buf_format(line,
		   "{\"v\":1,\"seq\":%" PRIu64 ",\"ts\":\"%s\",\"mono_us\":%" PRIu64 ",%s,\"type\":\"%.*s\",\"sev\":\"%s\","
		   "\"prev\":\"%s\"", envelope->seq, ts, envelope->mono_us, envelope->source, (int)envelope->type.len, envelope->type.data,
		   audit_severity_name(envelope->severity), envelope->prev);
	if (members.len) {
		buf_char(line, ',');
		buf_append(line, members.data, members.len);
	}
	buf_char(line, '}');
}

static json_t *parse_json(struct bytes line, json_error_t *ret_error)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
	json_t *root = json_loadb(line.data, line.len, flags, ret_error);

	/* A register above 2^63 is valid JSON, only jansson has no integer for it. */
	if (!root && json_error_code(ret_error) == json_error_numeric_overflow)
		root = json_loadb(line.data, line.len, flags | JSON_DECODE_INT_AS_REAL, ret_error);
	return root;
}

int record_parse(struct bytes line, struct record *ret_record, struct err *ret_error)
{
	json_error_t error;
	struct record r = { .root = parse_json(line, &error) };

	if (!r.root)
		return err_set(ret_error, -EBADMSG, "not a JSON object: %s", error.text);
	r.seq = (uint64_t)json_number_value(json_object_get(r.root, "seq"));
	r.type = json_string_value(json_object_get(r.root, "type"));
	r.severity = json_string_value(json_object_get(r.root, "sev"));
	r.ts = json_string_value(json_object_get(r.root, "ts"));
	r.prev = json_string_value(json_object_get(r.root, "prev"));
	if (json_number_value(json_object_get(r.root, "v")) != 1 || r.seq == 0 || !r.type || !r.severity || !r.ts || !r.prev ||
	    strspn(r.prev, "0123456789abcdef") != 64 || r.prev[64]) {
		json_decref(r.root);
		return err_set(ret_error, -EBADMSG, "not a record: v, seq, ts, type, sev or prev is missing or wrong");
	}
	*ret_record = r;
	return 0;
}

void record_free(struct record *record)
{
	json_decref(record->root);
	*record = (struct record){ 0 };
}
