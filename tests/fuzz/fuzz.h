/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share: the entry point, and the policy of this tree. */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline const struct policy *fuzz_policy(void)
{
	static struct policy *policy;
	struct err e;

	if (!policy && policy_load(CORDON_SOURCE_DIR "/policies", &policy, &e) < 0) {
		fprintf(stderr, "%s:%u: %s\n", e.file, e.line, e.text);
		abort();
	}
	return policy;
}

/* A text of these bytes, NUL-terminated, in memory of exactly that size; the caller frees it. NULL where a NUL is inside. */
static inline char *fuzz_text(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	size_t i;

	if (!text)
		abort();
	for (i = 0; i < len; i++)
		if (!(text[i] = (char)data[i])) {
			free(text);
			return NULL;
		}
	text[len] = '\0';
	return text;
}
