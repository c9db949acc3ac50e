/* SPDX-License-Identifier: Apache-2.0 */
/* The log's folder: which files are the log, in which order, and whether folder and files are safe to trust. */
#pragma once

#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define FOLDER_NAME_BYTES 32
#define FOLDER_NUMBER_MAX 999999u

/* audit-NNNNNN.jsonl */
void folder_file_name(unsigned number, char ret_name[static FOLDER_NAME_BYTES]);
/* The number of such a name, from 1; 0 when it is none. */
unsigned folder_file_number(const char *name);

/*
 * Opens DIR itself, never through a symlink at its end. With create, makes it (and parents, 0755) and holds it to: owner root or
 * us, mode 0700. Returns a descriptor or -errno with ret_error filled.
 */
int folder_open(const char *dir, bool create, struct err *ret_error);

/* The numbers of all log files, ascending; ret_numbers is malloc'ed (NULL when there are none). Returns 0 or -errno. */
int folder_list(int dir_fd, unsigned **ret_numbers, size_t *ret_count);

/* A log file, only when it is a regular file with one link, owned by root or us. flags as openat(); O_CREAT makes it 0600. */
int folder_open_file(int dir_fd, unsigned number, int flags, struct err *ret_error);
