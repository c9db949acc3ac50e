/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/target.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

void target_init(struct target *t, pid_t tid)
{
	t->tid = tid;
	t->page_address = 0;
	t->page_len = 0;
}

/* Strings of one exec lie side by side: a page is fetched once, not once per string. */
static int fetch_page(struct target *t, uint64_t address)
{
	uint64_t start = address & ~(uint64_t)(TARGET_PAGE - 1);
	struct iovec local = { t->page, TARGET_PAGE }, remote = { (void *)(uintptr_t)start, TARGET_PAGE };
	ssize_t len;

	if (t->page_len && t->page_address == start)
		return 0;
	t->page_len = 0;
	len = process_vm_readv(t->tid, &local, 1, &remote, 1, 0);
	if (len != TARGET_PAGE)
		return len < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
	t->page_address = start;
	t->page_len = TARGET_PAGE;
	return 0;
}

int target_read(struct target *t, uint64_t address, void *ret_data, size_t len)
{
	char *to = ret_data;

	while (len) {
		size_t offset = address & (TARGET_PAGE - 1), part = TARGET_PAGE - offset;
		int r = fetch_page(t, address);

		if (r < 0)
			return r;
		if (part > len)
			part = len;
		memcpy(to, t->page + offset, part);
		to += part;
		address += part;
		len -= part;
	}
	return 0;
}

int target_read_string(struct target *t, uint64_t address, size_t max, struct buf *ret_string)
{
	size_t taken = 0;

	while (taken < max) {
		size_t offset = address & (TARGET_PAGE - 1), part = TARGET_PAGE - offset;
		const char *end;
		int r = fetch_page(t, address);

		if (r < 0)
			return r;
		end = memchr(t->page + offset, 0, part);
		if (end)
			part = (size_t)(end - (t->page + offset)) + 1;
		taken += part;
		if (taken > max)
			break;
		buf_append(ret_string, t->page + offset, part);
		if (ret_string->failed)
			return -ENOMEM;
		if (end)
			return 0;
		address += part;
	}
	return -ENAMETOOLONG;
}

int target_read_vector(struct target *t, uint64_t address, struct target_vector *ret_vector)
{
	uint64_t pointers[TARGET_PAGE / sizeof(uint64_t)];

	buf_reset(&ret_vector->strings);
	ret_vector->nr = 0;
	while (address) {
		/* Up to the end of the page that holds the pointers: the next one may not be mapped, and need not be. */
		size_t room = (TARGET_PAGE - (address & (TARGET_PAGE - 1))) / sizeof(uint64_t), i;
		int r;

		if (room == 0)
			room = 1; /* a misaligned vector: one pointer across the page end */
		r = target_read(t, address, pointers, room * sizeof(uint64_t));
		if (r < 0)
			return r;
		for (i = 0; i < room && pointers[i]; i++) {
			r = target_read_string(t, pointers[i], TARGET_STRING_MAX, &ret_vector->strings);
			if (r < 0)
				return r == -ENAMETOOLONG ? -E2BIG : r;
			if (ret_vector->strings.len > TARGET_STRINGS_MAX)
				return -E2BIG;
			ret_vector->nr++;
		}
		if (i < room)
			break;
		address += room * sizeof(uint64_t);
	}
	return 0;
}
