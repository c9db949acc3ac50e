/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of this tree, loaded for a whole test program. Include after <cmocka.h>. */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdio.h>
#include <string.h>

static struct policy *policy;

static int set_up(void **state)
{
	char path[512], line[1024];
	struct err e;

	(void)state;
	snprintf(path, sizeof(path), "%s", __FILE__);
	*strrchr(path, '/') = '\0';
	strcat(path, "/../../policies");
	if (policy_load(path, &policy, &e) == 0)
		return 0;
	err_format(&e, line, sizeof(line));
	print_error("%s\n", line);
	return -1;
}

static int tear_down(void **state)
{
	(void)state;
	policy_free(policy);
	return 0;
}
