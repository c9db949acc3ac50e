/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "shim/proto.h"

enum keeper_fd { KEEPER_FD_SPEC, KEEPER_FD_CLIENT, KEEPER_FD_STDIN, KEEPER_FD_STDOUT, KEEPER_FD_STDERR, KEEPER_FD_CHANNEL, KEEPER_FDS };

/* Runs one launch from its spec to its last descendant. Takes the descriptors. Returns the exit code. */
int keeper_main(const struct zygote_launch *launch, const int fds[static KEEPER_FDS]);
