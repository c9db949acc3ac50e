/* SPDX-License-Identifier: Apache-2.0 */
/* One file, or the metadata of one object, from a source to a place of the state volume. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Ids of a source change places with the launch user's, so that what was the owner's is the agents' to write: from becomes to, and to, should a
 * file have it, becomes from. That is a mapping the kernel can do as well (idmapped mounts). Equal ones: nothing changes.
 */
struct copy_ids {
	uid_t uid_from, uid_to;
	gid_t gid_from, gid_to;
};

uid_t copy_map_uid(const struct copy_ids *ids, uid_t uid);
gid_t copy_map_gid(const struct copy_ids *ids, gid_t gid);

/*
 * Content (a reflink where the file system can, holes stay holes), owner, mode, extended attributes, times, into a new file name in to_dir. Never a
 * hard link. ret_bytes: added to, what was read or shared. Returns 0 or -errno; on failure name may be there, in part.
 */
int copy_file(int from, int to_dir, const char *name, const struct copy_ids *ids, uint64_t *ret_bytes);
/* Owner, mode, extended attributes and times of the folder from, to the folder to. */
int copy_folder_metadata(int from, int to, const struct copy_ids *ids);
