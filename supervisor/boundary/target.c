/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/target.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define CACHE_AFTER 64		/* fetches, which nearly every call stays below */
#define CACHE_PAGES 1024

struct target_cache {
	uint64_t addresses[CACHE_PAGES];	/* 0: nothing; the first page of an address space is never read */
	char pages[CACHE_PAGES][TARGET_PAGE];
};

void target_init(struct target *t, pid_t tid)
{
	if (t->cache)
		munmap(t->cache, sizeof(*t->cache));
	t->tid = tid;
	t->page = NULL;
	t->fetches = 0;
	t->cache = NULL;
}

/* Where a page that starts there goes; in the cache, if there is one, it may be there already. */
static char *place_of(struct target *t, uint64_t start, bool *ret_present)
{
	size_t i = start / TARGET_PAGE % CACHE_PAGES;

	*ret_present = false;
	if (!t->cache && t->fetches >= CACHE_AFTER) {
		t->cache = mmap(NULL, sizeof(*t->cache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->cache == MAP_FAILED)
			t->cache = NULL; /* slower, and the limit is the same */
	}
	if (!t->cache)
		return t->first;
	*ret_present = start && t->cache->addresses[i] == start;
	t->cache->addresses[i] = start;
	return t->cache->pages[i];
}

/* Strings of one exec lie side by side: a page is fetched once, not once per string. */
static int fetch_page(struct target *t, uint64_t address)
{
	uint64_t start = address & ~(uint64_t)(TARGET_PAGE - 1);
	struct iovec local = { .iov_len = TARGET_PAGE }, remote = { (void *)(uintptr_t)start, TARGET_PAGE };
	bool present;
	char *place;
	ssize_t len;

	if (t->page && t->page_address == start)
		return 0;
	t->page = NULL;
	if (t->fetches == TARGET_FETCHES_MAX)
		return -E2BIG;
	place = place_of(t, start, &present);
	if (!present) {
		t->fetches++;
		local.iov_base = place;
		len = process_vm_readv(t->tid, &local, 1, &remote, 1, 0);
		if (len != TARGET_PAGE) {
			target_init(t, t->tid); /* the cache has the page's name, and not the page */
			return len < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
		}
	}
	t->page_address = start;
	t->page = place;
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
