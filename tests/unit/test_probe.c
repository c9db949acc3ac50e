/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes tell what is so: with every right, and in children that lack a right or whose kernel refuses a call, as containers do.
 * A call that never returns costs one probe its time and nothing else.
 */
#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/probe.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = { "notify", "wait_killable", "sync_wake_up", "addfd", "pidfd_getfd", "ptrace", "memory", "landlock",
				     "landlock_scope", "landlock_net", "mounts", "capabilities", "no_new_privs", "pid1", "foreign_abi" };

struct outcome {
	struct layer layers[LAYERS_MAX];
	unsigned nr;
	long ms;
	bool children_left;
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Probes in a child that first restricts itself. Layers come back in shared memory; their names and hows are constants of the program. */
static const struct outcome *probe_after(void (*restrict_self)(void))
{
	static struct outcome *outcome;
	int status;
	pid_t child;

	if (!outcome)
		outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(outcome, MAP_FAILED);
	memset(outcome, 0, sizeof(*outcome));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		long start;

		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);	/* whatever a probe leaves behind comes to us */
		if (restrict_self)
			restrict_self();
		start = now_ms();
		outcome->nr = probe_layers(outcome->layers);
		outcome->ms = now_ms() - start;
		outcome->children_left = !(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
		alarm(60);	/* one that is left must at least be dying */
		while (waitpid(-1, NULL, __WALL) >= 0)
			;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(outcome->nr, ARRAY_SIZE(names));
	if (outcome->ms < 400)	/* only a probe that was killed may leave a zombie to its PID 1 */
		assert_false(outcome->children_left);
	for (unsigned i = 0; i < outcome->nr; i++) {
		assert_string_equal(outcome->layers[i].name, names[i]);
		assert_in_range(strlen(outcome->layers[i].why), 10, sizeof(outcome->layers[i].why) - 1);
		assert_int_equal(outcome->layers[i].how == NULL, outcome->layers[i].state == LAYER_ACTIVE);
	}
	return outcome;
}

static void expect(const struct outcome *o, const char *name, enum layer_state state, const char *why)
{
	const struct layer *layer = layer_find(o->layers, o->nr, name);

	assert_non_null(layer);
	if (layer->state != state || !strstr(layer->why, why))
		fail_msg("%s: %s: %s", name, layer_state_name(layer->state), layer->why);
}

static void with_every_right_every_layer_is_active(void **state)
{
	const struct outcome *o = probe_after(NULL);

	(void)state;
	printf("all probes: %ld ms\n", o->ms);
	for (unsigned i = 0; i < o->nr; i++)
		if (strcmp(names[i], "pid1") != 0)
			expect(o, names[i], LAYER_ACTIVE, "");
	expect(o, "pid1", LAYER_DEGRADED, "not cordond");
	assert_in_range(o->ms, 0, 10000);	/* 20 without sanitizers on an idle machine */
}

static void drop(cap_value_t capability)
{
	cap_t caps = cap_get_proc();

	if (!caps || cap_set_flag(caps, CAP_EFFECTIVE, 1, &capability, CAP_CLEAR) || cap_set_flag(caps, CAP_PERMITTED, 1, &capability, CAP_CLEAR) ||
	    cap_set_proc(caps))
		_exit(1);
	cap_free(caps);
}

static void as_in_a_default_container(void)
{
	drop(CAP_SYS_ADMIN);
	drop(CAP_SYS_PTRACE);
}

static void without_capabilities_what_needs_them_is_missing(void **state)
{
	const struct outcome *o = probe_after(as_in_a_default_container);

	(void)state;
	expect(o, "notify", LAYER_ACTIVE, "");
	expect(o, "pidfd_getfd", LAYER_DEGRADED, "only within one uid");
	expect(o, "ptrace", LAYER_DEGRADED, "only within one uid");
	expect(o, "memory", LAYER_DEGRADED, "Operation not permitted");
	expect(o, "mounts", LAYER_UNSUPPORTED, "mount namespace");
	expect(o, "landlock", LAYER_ACTIVE, "");
	expect(o, "capabilities", LAYER_ACTIVE, "");
	assert_non_null(strstr(layer_find(o->layers, o->nr, "mounts")->how, "SYS_ADMIN"));
	assert_non_null(strstr(layer_find(o->layers, o->nr, "ptrace")->how, "SYS_PTRACE"));
}

static void without_setpcap(void)
{
	drop(CAP_SETPCAP);
}

static void a_bounding_set_that_cannot_be_emptied_is_seen(void **state)
{
	(void)state;
	expect(probe_after(without_setpcap), "capabilities", LAYER_UNSUPPORTED, "cannot be emptied");
}

static void as_a_user(void)
{
	if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
}

static void another_uid_that_cannot_be_tried_is_said(void **state)
{
	const struct outcome *o = probe_after(as_a_user);

	(void)state;
	expect(o, "notify", LAYER_ACTIVE, "");
	expect(o, "ptrace", LAYER_DEGRADED, "not root");
	expect(o, "memory", LAYER_DEGRADED, "not root");
	expect(o, "mounts", LAYER_UNSUPPORTED, "");
}

/* Answers one system call by action, as a container's profile might. Returns the listener for SECCOMP_RET_USER_NOTIF. */
static int answer_call(int nr, uint32_t action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(1);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		_exit(1);
	return fd;
}

static void without_seccomp(void)
{
	answer_call(SYS_seccomp, SECCOMP_RET_ERRNO | EPERM, 0);
}

static void without_landlock(void)
{
	answer_call(SYS_landlock_create_ruleset, SECCOMP_RET_ERRNO | ENOSYS, 0);
}

static void without_process_vm_readv(void)
{
	answer_call(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM, 0);
}

static void without_move_mount(void)
{
	answer_call(SYS_move_mount, SECCOMP_RET_ERRNO | EPERM, 0);
}

/* A hole: says done and does nothing. A probe that believes return values calls the layer active. */
static void with_a_landlock_that_only_says_so(void)
{
	answer_call(SYS_landlock_restrict_self, SECCOMP_RET_ERRNO | 0, 0);
}

/* A kernel from before 6.7: its Landlock has no TCP. */
static void say_abi_3(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	registers[REG_RAX] = registers[REG_RDI] ? -E2BIG : 3;
}

static void with_an_older_landlock(void)
{
	struct sigaction action = { .sa_sigaction = say_abi_3, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	answer_call(SYS_landlock_create_ruleset, SECCOMP_RET_TRAP, 0);
}

static void with_mounts_that_only_say_so(void)
{
	answer_call(SYS_mount_setattr, SECCOMP_RET_ERRNO | 0, 0);
}

static void calls_a_profile_refuses_are_seen(void **state)
{
	const struct outcome *o = probe_after(without_seccomp);

	(void)state;
	expect(o, "notify", LAYER_UNSUPPORTED, "Operation not permitted");
	expect(o, "wait_killable", LAYER_UNSUPPORTED, "");
	expect(o, "addfd", LAYER_UNSUPPORTED, "");
	expect(o, "foreign_abi", LAYER_UNSUPPORTED, "");
	expect(o, "mounts", LAYER_ACTIVE, "");
	o = probe_after(without_landlock);
	expect(o, "landlock", LAYER_UNSUPPORTED, "Function not implemented");
	expect(o, "landlock_scope", LAYER_UNSUPPORTED, "no scopes");
	expect(o, "landlock_net", LAYER_UNSUPPORTED, "(0) knows no TCP");
	expect(probe_after(with_an_older_landlock), "landlock_net", LAYER_UNSUPPORTED, "(3) knows no TCP");
	o = probe_after(without_process_vm_readv);
	expect(o, "memory", LAYER_UNSUPPORTED, "even of our own uid: Operation not permitted");
	expect(o, "ptrace", LAYER_ACTIVE, "");
	expect(probe_after(without_move_mount), "mounts", LAYER_UNSUPPORTED, "Operation not permitted");
}

static void effects_count_not_return_values(void **state)
{
	(void)state;
	expect(probe_after(with_a_landlock_that_only_says_so), "landlock", LAYER_UNSUPPORTED, "not refused");
	expect(probe_after(with_a_landlock_that_only_says_so), "landlock_scope", LAYER_UNSUPPORTED, "not refused");
	expect(probe_after(with_a_landlock_that_only_says_so), "landlock_net", LAYER_UNSUPPORTED, "not refused");
	expect(probe_after(with_mounts_that_only_say_so), "mounts", LAYER_UNSUPPORTED, "did not hold");
}

/* Nobody answers this listener: the call hangs until its caller is killed. */
static void with_a_ptrace_that_hangs(void)
{
	answer_call(SYS_ptrace, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

static void a_probe_that_hangs_is_killed(void **state)
{
	const struct outcome *o = probe_after(with_a_ptrace_that_hangs);

	(void)state;
	expect(o, "ptrace", LAYER_UNSUPPORTED, "did not end");
	expect(o, "memory", LAYER_ACTIVE, "");
	expect(o, "notify", LAYER_UNSUPPORTED, "Device or resource busy");	/* and a second listener is what it is */
	assert_in_range(o->ms, 400, 4000);
}

static void names_are_found(void **state)
{
	struct layer layers[LAYERS_MAX] = { { .name = "one" }, { .name = "two" } };

	(void)state;
	assert_ptr_equal(layer_find(layers, 2, "two"), &layers[1]);
	assert_null(layer_find(layers, 1, "two"));
	assert_string_equal(layer_state_name(LAYER_ACTIVE), "active");
	assert_string_equal(layer_state_name(LAYER_DEGRADED), "degraded");
	assert_string_equal(layer_state_name(LAYER_UNSUPPORTED), "unsupported");
	assert_string_equal(layer_state_name((enum layer_state)9), "unsupported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_every_right_every_layer_is_active),
		cmocka_unit_test(without_capabilities_what_needs_them_is_missing),
		cmocka_unit_test(a_bounding_set_that_cannot_be_emptied_is_seen),
		cmocka_unit_test(another_uid_that_cannot_be_tried_is_said),
		cmocka_unit_test(calls_a_profile_refuses_are_seen),
		cmocka_unit_test(effects_count_not_return_values),
		cmocka_unit_test(a_probe_that_hangs_is_killed),
		cmocka_unit_test(names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
