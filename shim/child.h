/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch's first process between fork and its first exec.
 *
 * It shares the keeper's descriptor table until the filter stands, so the listener appears in the keeper without one trapped call; then it
 * leaves the table, closes everything above stdio and execs. Its first trapped call is that exec.
 */
#pragma once

#include "shim/proto.h"

struct child_plan {
	const struct spec *spec;
	const char *blob;
	struct inflight_table *table;
	int ruleset_fd;		/* -1: no layer */
	int report_fd;		/* write end: struct child_report, then one byte when the table is left */
	int go_fd;		/* read end: one byte */
};

struct child_report {
	int32_t stage;		/* 0: ready; else enum keeper_stage that failed */
	int32_t error_number;
	int32_t listener_fd;	/* -1 without a filter */
	int32_t master_fd;	/* -1 without a pty; number in the shared table */
};

/* Never returns. */
void child_main(const struct child_plan *plan) __attribute__((noreturn));
