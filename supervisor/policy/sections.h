/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of policy file holds: a reader each, from a parsed document into the policy. Which file gets which reader: load.c. */
#pragma once

#include "supervisor/policy/document.h"

/* Each takes the document's root and appends to or fills the policy. Returns 0 or -errno with the error filled. */
typedef int section_reader(const struct node *root, struct policy *policy);

section_reader section_policy, section_environment, section_paths, section_network, section_browser;
section_reader section_commands, section_service, section_transport, section_preset;
/* policy.json's "commands": struct offered *. */
node_reader read_offered;
/* Whether presets that are on exist, and each command stands once and asks for what may pass. Returns 0, or -EINVAL with where and why. */
int presets_check(const struct policy *policy, struct origin *ret_place, struct err *ret_error);
/* Whether the services that one waits for exist, are enabled, and do not wait for it. Returns 0, or -EINVAL with the one that is wrong and why. */
int services_check(const struct policy *policy, const struct service **ret_faulty, struct err *ret_error);
/* Whether each skill folder is one that may be opened to reading; the document's root, and what was read of it. */
int skills_check(const struct node *root, const struct paths *paths);
int section_mode(const struct node *root, struct policy *policy, enum mode mode);

/* const char ** and struct strings *: absolute or below "~", in the one spelling that can be compared. */
node_reader read_path, read_paths;
/* struct strings *: a program and its arguments, any of which may come twice or be empty. */
node_reader read_command_line;
