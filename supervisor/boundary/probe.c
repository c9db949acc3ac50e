/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers, and the harness that runs each probe in a child that cannot outlast its time. */
#include "supervisor/boundary/probe_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_MS 2000	/* each; they take 1 to 5, and on a machine that is busy with something else a hundred times that */
#define AGENT_ID 65534

struct probe {
	const char *name;
	void (*run)(struct finding *f);
	const char *how;
};

static const struct probe probes[] = {
	{ "notify", probe_notify, "a seccomp profile that allows seccomp(2), as Docker's default does; kernel >= 5.0" },
	{ "wait_killable", probe_wait_killable, "kernel >= 5.19" },
	{ "sync_wake_up", probe_sync_wake_up, "kernel >= 6.6" },
	{ "addfd", probe_addfd, "kernel >= 5.14" },
	{ "pidfd_getfd", probe_pidfd_getfd, "--cap-add SYS_PTRACE" },
	{ "ptrace", probe_ptrace, "--cap-add SYS_PTRACE --security-opt apparmor=unconfined" },
	{ "memory", probe_memory, "--cap-add SYS_PTRACE --security-opt apparmor=unconfined" },
	{ "landlock", probe_landlock, "kernel >= 6.2 with landlock in its lsm= list; Docker >= 20.10.18 or a seccomp profile that allows landlock_*" },
	{ "landlock_scope", probe_landlock_scope, "kernel >= 6.12" },
	{ "landlock_net", probe_landlock_net, "kernel >= 6.7 with landlock in its lsm= list" },
	{ "mounts", probe_mounts, "--cap-add SYS_ADMIN --security-opt apparmor=unconfined" },
	{ "capabilities", probe_capabilities, "--cap-add SETPCAP, and PID 1 as root" },
	{ "no_new_privs", probe_no_new_privs, "a seccomp profile that allows prctl(2)" },
	{ "pid1", probe_pid1, "cordond init as the container's entry point, without --init" },
	{ "foreign_abi", probe_foreign_abi, "a seccomp profile that allows seccomp(2), as Docker's default does" },
};

_Static_assert(ARRAY_SIZE(probes) < LAYERS_MAX, "callers have room for LAYERS_MAX, and the enforcer for host_exec after them");

void found(struct finding *f, enum layer_state state, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->why, sizeof(f->why), format, arguments);
	va_end(arguments);
	f->state = state;
}

void *probe_share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int probe_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool probe_become_agent(void)
{
	if (setresgid(AGENT_ID, AGENT_ID, AGENT_ID) < 0 || setresuid(AGENT_ID, AGENT_ID, AGENT_ID) < 0)
		return false;
	/* Changing ids made us undumpable; an exec, as every launch has, makes that undone. */
	return prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* In the child: nothing of the enforcer's signal handling, no core files, gone with its parent. */
static void settle(void)
{
	const struct rlimit none = { 0, 0 };
	sigset_t all;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
}

/* Nothing stays behind, not even a zombie for a PID 1 that does not reap. */
static void leave(void)
{
	if (getpgrp() == getpid()) {
		signal(SIGTERM, SIG_IGN);
		kill(0, SIGTERM);
	}
	while (waitpid(-1, NULL, __WALL) >= 0 || errno == EINTR)
		;
	_exit(0);
}

static void wait_or_kill(pid_t pid, struct finding *f)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int r;

	do
		r = pidfd < 0 ? -1 : poll(&p, 1, PROBE_MS);
	while (r < 0 && pidfd >= 0 && errno == EINTR);
	if (r == 0)
		found(f, LAYER_UNSUPPORTED, "The probe did not end within %d ms.", PROBE_MS);
	else if (r < 0)
		found(f, LAYER_UNSUPPORTED, "The probe cannot be waited for: pidfd_open: %s.", strerror(errno));
	kill(-pid, SIGKILL);	/* the group: a probe that hung has children */
	kill(pid, SIGKILL);
	(void)probe_reap(pid);
}

static const char *const *host_roots, *const *host_entry_paths;	/* for the child */

static void run_host_exec(struct finding *f)
{
	probe_host_exec_places(f, host_roots, host_entry_paths);
}

static void run_probe(const struct probe *probe, struct finding *f)
{
	pid_t pid;

	found(f, LAYER_UNSUPPORTED, "The probe died.");
	pid = fork();
	if (pid < 0) {
		found(f, LAYER_UNSUPPORTED, "The probe cannot be started: %s.", strerror(errno));
		return;
	}
	if (pid == 0) {
		settle();
		probe->run(f);
		leave();
	}
	setpgid(pid, pid);	/* whoever of the two comes first */
	wait_or_kill(pid, f);
}

static void fill_layer(const struct probe *probe, struct finding *shared, struct layer *ret_layer)
{
	struct finding alone;

	if (shared) {
		run_probe(probe, shared);
		alone = *shared;
	} else {
		found(&alone, LAYER_UNSUPPORTED, "The probe cannot be started: no memory.");
	}
	*ret_layer = (struct layer){ .name = probe->name, .state = alone.state };
	memcpy(ret_layer->why, alone.why, sizeof(ret_layer->why));
	ret_layer->how = ret_layer->state == LAYER_ACTIVE ? NULL : probe->how;
}

unsigned probe_layers(struct layer ret_layers[static LAYERS_MAX])
{
	struct finding *shared = probe_share(sizeof(*shared));

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		fill_layer(&probes[i], shared, &ret_layers[i]);
	if (shared)
		munmap(shared, sizeof(*shared));
	return ARRAY_SIZE(probes);
}

void probe_host_exec(const char *const *roots, const char *const *entry_paths, struct layer *ret_layer)
{
	static const struct probe probe = { "host_exec", run_host_exec, "a mode other than off, --cap-add SYS_ADMIN --security-opt apparmor=unconfined, and cordond as PID 1" };
	struct finding *shared = probe_share(sizeof(*shared));

	host_roots = roots;
	host_entry_paths = entry_paths;
	fill_layer(&probe, shared, ret_layer);
	if (shared)
		munmap(shared, sizeof(*shared));
}

const char *layer_state_name(enum layer_state state)
{
	switch (state) {
	case LAYER_ACTIVE:
		return "active";
	case LAYER_DEGRADED:
		return "degraded";
	default:
		return "unsupported";
	}
}

const struct layer *layer_find(const struct layer *layers, unsigned nr_layers, const char *name)
{
	for (unsigned i = 0; i < nr_layers; i++)
		if (strcmp(layers[i].name, name) == 0)
			return &layers[i];
	return NULL;
}
