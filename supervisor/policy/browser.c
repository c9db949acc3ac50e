/* SPDX-License-Identifier: Apache-2.0 */
/* browser.json: the browser session that Cordon gives each agent. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"

#include <string.h>

static int read_variables(const struct node *node, void *ret)
{
	const struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++)
		if (strcspn(list->items[i], "=") == 0 || !strchr(list->items[i], '='))
			r = node_error(node, "expected NAME=VALUE: \"%.60s\"", list->items[i]);
	return r;
}

static int read_actions(const struct node *node, void *ret)
{
	static const struct field fields[] = {
		{ "guarded", read_strings, 0, true },
		{ "observe", read_strings, sizeof(struct strings), true },
	};

	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

int section_browser(const struct node *root, struct policy *policy)
{
#define MEMBER(name) offsetof(struct browser, name)
	static const struct field fields[] = {
		{ "programs", read_paths, MEMBER(programs), true },
		{ "browsers", read_paths, MEMBER(browsers), true },
		{ "helpers", read_paths, MEMBER(helpers), true },
		{ "others", read_names, MEMBER(others), true },
		{ "switches", read_names, MEMBER(switches), true },
		{ "folder", read_path, MEMBER(folder), true },
		{ "environment", read_variables, MEMBER(environment), true },
		{ "daemon", read_variables, MEMBER(daemon), true },
		{ "prefix", read_text, MEMBER(prefix), true },
		{ "config", read_text, MEMBER(config), true },
		{ "fingerprint", read_text, MEMBER(fingerprint), true },
		{ "fixed", read_names, MEMBER(fixed), true },
		{ "hold_ms", read_milliseconds, MEMBER(hold_ms), true },
		{ "start_ms", read_milliseconds, MEMBER(start_ms), true },
		{ "actions", read_actions, MEMBER(actions), true },
	};
#undef MEMBER
	int r = node_object(root, fields, ARRAY_SIZE(fields), &policy->browser);

	policy->browser.origin = node_origin(root);
	if (r == 0 && policy->browser.folder[0] != '/')
		r = node_error(root, "folder: expected an absolute path");
	return r;
}
