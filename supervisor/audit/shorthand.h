/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record as one line for people, in fixed columns:
 * 15:04:05.123 #1042   DENY   med  openat   cp(1234) -> W /etc/x  [guarded.outside_root EACCES launch:7]
 *
 * Only printable characters come out, whatever the record holds. Members it does not know show as NAME=VALUE. Pure.
 */
#pragma once

#include "supervisor/audit/record.h"

/* With colour, ANSI sequences around the word and severity of what matters. */
void shorthand_format(struct buf *line, const struct record *record, bool colour);
/* For whatever is no record: its bytes with everything unprintable escaped. */
void shorthand_raw(struct buf *line, struct bytes text);
