/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes as a patch in git's format: `git apply` takes it whole (modes, links, binary files), patch(1) its text. What the format has no words for
 * (folders, modes other than x, FIFOs) are lines that both skip: "cordon: …".
 */
#pragma once

#include "supervisor/workspace/changes.h"

#define PATCH_FILE_MAX (256u << 20)	/* of either side */

/* Appends the change. binary: with the content of binary files, else a line that they differ. Returns 0, -EFBIG for too large a file, or -errno. */
int patch_put(const struct change *change, bool binary, struct buf *ret);
/* "GIT binary patch" of the whole content. Pure. */
void patch_put_binary(struct bytes content, struct buf *ret);
