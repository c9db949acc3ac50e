/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "shim/proto.h"

/*
 * HAND_OPEN to HAND_RENAME. data: two strings, the path that is made and what else the action has: the old path, or a symbolic link's text. fds: the folders
 * that relative paths start from, in this order; and what is linked, where the old path is "". Returns 0 or -errno; ret_fd of HAND_OPEN is the caller's then.
 */
int hand_make(const struct hand_request *r, char *data, const int *fds, unsigned nr_fds, int *ret_fd);
/* Serves channel until it hangs up. Returns an exit status. */
int hand_main(const struct zygote_hand *order, int channel);
