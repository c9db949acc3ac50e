/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), on line numbers, between what both begin and end with. Texts that differ in more
 * lines than DISTANCE_MAX are not compared further: their middle is replaced, which is as exact and longer to read.
 */
#include "supervisor/workspace/lines.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 3
#define DISTANCE_MAX 1500

struct text {
	struct bytes *lines;	/* with their newline, the last perhaps without */
	size_t nr;
	bool *changed;		/* deleted of the one, added of the other */
};

static int split(struct bytes bytes, struct text *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < bytes.len; i++)
		nr += bytes.data[i] == '\n' || i + 1 == bytes.len;
	ret->lines = malloc((nr + 1) * sizeof(*ret->lines));
	ret->changed = calloc(nr + 1, sizeof(*ret->changed));
	if (!ret->lines || !ret->changed)
		return -ENOMEM;
	while (bytes.len) {
		const char *end = memchr(bytes.data, '\n', bytes.len);
		size_t len = end ? (size_t)(end - bytes.data) + 1 : bytes.len;

		ret->lines[ret->nr++] = (struct bytes){ bytes.data, len };
		bytes.data += len;
		bytes.len -= len;
	}
	return 0;
}

static bool is_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

struct range {
	struct text *a, *b;
	size_t from, a_end, b_end;	/* both begin at from: what is before is equal */
};

static void mark_all(const struct range *r)
{
	for (size_t i = r->from; i < r->a_end; i++)
		r->a->changed[i] = true;
	for (size_t i = r->from; i < r->b_end; i++)
		r->b->changed[i] = true;
}

/* The furthest point of diagonal k that d steps reach, -1 where there is none. v: of each diagonal from -d to d. */
static long point(const int32_t *v, long d, long k)
{
	return k < -d || k > d ? -1 : v[k + d];
}

/* How distance d comes to diagonal k: by a line of b (down), else by one of a; from the points v of d - 1. */
static bool comes_down(const int32_t *v, long d, long k)
{
	return point(v, d - 1, k + 1) > point(v, d - 1, k - 1);
}

static long first_point(const int32_t *v, long d, long k)
{
	long left;

	if (d == 0)
		return 0;
	if (comes_down(v, d, k))
		return point(v, d - 1, k + 1);
	left = point(v, d - 1, k - 1);
	return left < 0 ? -1 : left + 1;
}

/* Back from the end along the furthest points of each distance. */
static void mark_path(const struct range *r, int32_t *const *trace, long distance)
{
	long k = (long)(r->a_end - r->from) - (long)(r->b_end - r->from);

	for (long d = distance; d > 0; d--) {
		const int32_t *v = trace[d - 1];
		long x;

		if (comes_down(v, d, k)) {
			x = point(v, d - 1, k + 1);
			k++;
			r->b->changed[r->from + (size_t)(x - k)] = true;
		} else {
			x = point(v, d - 1, k - 1);
			k--;
			r->a->changed[r->from + (size_t)x] = true;
		}
	}
}

static int find(const struct range *r, int32_t **trace)
{
	const long n = (long)(r->a_end - r->from), m = (long)(r->b_end - r->from);

	for (long d = 0; d <= DISTANCE_MAX; d++) {
		trace[d] = malloc((size_t)(2 * d + 1) * sizeof(**trace));
		if (!trace[d])
			return -ENOMEM;
		for (long k = -d; k <= d; k++) {
			/* Of a parity other than d's nothing is reached in d steps. */
			long x = (k + d) % 2 ? -1 : first_point(d ? trace[d - 1] : NULL, d, k);

			while (x >= 0 && x < n && x - k >= 0 && x - k < m && is_equal(r->a->lines[r->from + (size_t)x], r->b->lines[r->from + (size_t)(x - k)]))
				x++;
			trace[d][k + d] = x > n || x - k > m || x - k < 0 ? -1 : (int32_t)x;
			if (x == n && x - k == m) {
				mark_path(r, trace, d);
				return 0;
			}
		}
	}
	mark_all(r);
	return 0;
}

static int compare(struct text *a, struct text *b)
{
	struct range r = { a, b, 0, a->nr, b->nr };
	int32_t **trace;
	int result;

	while (r.from < r.a_end && r.from < r.b_end && is_equal(a->lines[r.from], b->lines[r.from]))
		r.from++;
	while (r.a_end > r.from && r.b_end > r.from && is_equal(a->lines[r.a_end - 1], b->lines[r.b_end - 1]))
		r.a_end--, r.b_end--;
	if (r.from == r.a_end || r.from == r.b_end) {
		mark_all(&r);
		return 0;
	}
	trace = calloc(DISTANCE_MAX + 1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	result = find(&r, trace);
	for (size_t d = 0; d <= DISTANCE_MAX; d++)
		free(trace[d]);
	free(trace);
	return result;
}

/* ---- hunks ---- */

static void put_line(struct buf *out, char sign, struct bytes line)
{
	buf_char(out, sign);
	buf_append(out, line.data, line.len);
	if (!line.len || line.data[line.len - 1] != '\n')
		buf_text(out, "\n\\ No newline at end of file\n");
}

/* A range of no lines is named by the line before it. */
static void put_range(struct buf *out, char sign, size_t from, size_t to)
{
	buf_format(out, "%c%zu", sign, from == to ? from : from + 1);
	if (to - from != 1)
		buf_format(out, ",%zu", to - from);
}

/* Past the changed lines that begin at i and j, and past those that are no further than twice the context from the last. */
static void find_end(const struct text *a, const struct text *b, size_t *i, size_t *j)
{
	size_t x = *i, y = *j, equal = 0;

	while ((x < a->nr || y < b->nr) && equal <= 2 * CONTEXT) {
		bool changed = (x < a->nr && a->changed[x]) || (y < b->nr && b->changed[y]);

		while (x < a->nr && a->changed[x])
			x++;
		while (y < b->nr && b->changed[y])
			y++;
		if (changed) {
			*i = x;
			*j = y;
			equal = 0;
		} else {
			x++, y++, equal++;
		}
	}
}

static void put_hunk(struct buf *out, const struct text *a, const struct text *b, size_t i, size_t j, size_t a_end, size_t b_end)
{
	size_t before = i < CONTEXT ? i : CONTEXT, after = a->nr - a_end < CONTEXT ? a->nr - a_end : CONTEXT;

	i -= before, j -= before, a_end += after, b_end += after;
	buf_text(out, "@@ ");
	put_range(out, '-', i, a_end);
	buf_char(out, ' ');
	put_range(out, '+', j, b_end);
	buf_text(out, " @@\n");
	while (i < a_end || j < b_end) {
		if (i < a_end && a->changed[i])
			put_line(out, '-', a->lines[i++]);
		else if (j < b_end && b->changed[j])
			put_line(out, '+', b->lines[j++]);
		else
			put_line(out, ' ', a->lines[i++]), j++;
	}
}

static void put_hunks(struct buf *out, const struct text *a, const struct text *b)
{
	size_t i = 0, j = 0;

	while (i < a->nr || j < b->nr) {
		size_t a_end = i, b_end = j;

		if (!(i < a->nr && a->changed[i]) && !(j < b->nr && b->changed[j])) {
			i++, j++;
			continue;
		}
		find_end(a, b, &a_end, &b_end);
		put_hunk(out, a, b, i, j, a_end, b_end);
		i = a_end;
		j = b_end;
	}
}

static void text_free(struct text *text)
{
	free(text->lines);
	free(text->changed);
}

int lines_diff(struct bytes was, struct bytes is, struct buf *ret_hunks)
{
	struct text a = { 0 }, b = { 0 };
	int r = split(was, &a);

	if (r == 0)
		r = split(is, &b);
	if (r == 0)
		r = compare(&a, &b);
	if (r == 0)
		put_hunks(ret_hunks, &a, &b);
	text_free(&a);
	text_free(&b);
	return r < 0 ? r : ret_hunks->failed ? -ENOMEM : 0;
}
