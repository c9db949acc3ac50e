/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts of a workspace: the overlay, what lies read-only in it, and its place in the agents' namespace and in the one hosts enter.
 *
 * Runs in the helper that prepares workspaces, which enters both namespaces: nothing here may be called by PID 1 or the enforcer.
 */
#pragma once

#include "supervisor/workspace/state.h"

/* What is kept of an overlay, in its state folder; "lower" is where the source stands while the overlay is mounted. */
#define UPPER "upper"
#define WORK "work"
#define MIDDLE "middle"
#define LOWER "lower"
#define COPY "copy"

/* Tries all of it on the file system of folder: an overlay, and a rename of a folder of its lower layer. 0, or -errno with ret_error. */
int overlay_try(int folder, struct err *ret_error);
/* A detached, read-only mount of the source with its owner's ids changed places. Returns it, or -errno with ret_error. */
int source_clone(int source, const struct copy_ids *ids, struct err *ret_error);
/* The detached overlay of a state folder over a detached source. Changes the working directory. Returns it, or -errno with ret_error. */
int overlay_mount(int folder, int source, struct err *ret_error);

struct place_for {			/* where workspaces appear */
	const char *project;		/* /workspace */
	int agents;			/* mount namespace that the agents' are copied from; -1: there is one namespace only */
	int host;			/* the one hosts enter, and the caller's when there is one only */
};

/* Puts tree (detached, taken) at PROJECT/NAME, with w's protected paths read-only in it, in both namespaces. Returns 0 or -errno with ret_error. */
int workspace_attach(const struct place_for *at, int tree, const struct workspace *w, struct err *ret_error);
