/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages a browser shows, as one digest: of every tab and frame, its address and its loader (which is another one after each navigation, also one to
 * the same address). Asked over the browser's DevTools port.
 *
 * What comes from there, pages have written. So this runs in a process of its own that has no rights and ends with the answer.
 */
#pragma once

#include "supervisor/browser/session.h"

/*
 * Forks. The answer, PAGE_DIGEST_BYTES, comes on the descriptor; end of file without them: the browser does not tell. The child ends by itself within
 * seconds; the caller reaps it. Returns the descriptor (CLOEXEC, not blocking) or -errno.
 */
int page_ask(uint16_t port);
