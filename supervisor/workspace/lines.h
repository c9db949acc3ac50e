/* SPDX-License-Identifier: Apache-2.0 */
/* A unified diff of two texts, as git apply and patch take it. Pure. */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/bytes.h"

/* Appends the hunks ("@@ … @@" and lines, three lines of context). Equal texts have none. Returns 0 or -ENOMEM. */
int lines_diff(struct bytes was, struct bytes is, struct buf *ret_hunks);
