/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who in this pid namespace is guarded by no filter of ours and is no part of Cordon: what a host started by absolute path, mostly.
 *
 * Every process is looked at once, so that looking costs next to nothing where nothing new was started; ids tell that without a scan.
 * Misses what lives shorter than the time between two scans. One thread for each census.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CENSUS_DOUBTS_MAX 256

struct census_stranger {
	pid_t pid;
	unsigned long long start;	/* see process.h */
	pid_t top;			/* its ancestor that PID 1 is parent to; 0: it came from outside the namespace */
};

struct census {
	pid_t init;			/* PID 1 of Cordon, parent of enforcer and services */
	int own_filters;		/* what everybody here carries without us */
	pid_t last;			/* latest id given when the last scan began */
	struct {
		dev_t device;
		ino_t inode;
		bool client;		/* comes and goes with each docker exec, and may have become another program since */
	} ours[3];
	uint64_t *seen;			/* a bit for each id that need not be looked at again */
	size_t seen_bits;
	struct {			/* one sighting: a docker exec looks like a stranger until it becomes what it was asked for */
		struct census_stranger stranger;
		dev_t device;
		ino_t inode;
		bool fresh;		/* seen in this scan */
	} doubts[CENSUS_DOUBTS_MAX];
	unsigned nr_doubts;
};

/* client and shim: paths of the programs; cordond is the caller's own. Returns 0 or -ENOMEM. */
int census_open(struct census *census, pid_t init, const char *client, const char *shim);
void census_close(struct census *census);
/* Whether there may be anything new: reads one small file. */
bool census_is_due(struct census *census);
/* Those that were met in two scans as the same program, at most max of them. Returns how many. */
size_t census_scan(struct census *census, struct census_stranger *ret_strangers, size_t max);
