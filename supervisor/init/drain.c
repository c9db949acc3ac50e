/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the container, inside Docker's ten seconds: launches, then services, then whatever is left, then the log is sealed.
 *
 * Every phase is left as soon as there is nothing to wait for; times are ceilings, counted from the start of the drain. They are those for ten seconds
 * and are stretched to another grace: two seconds of it are never used.
 */
#include "supervisor/init/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCHES_TERM_MS 5000	/* TERM until then, KILL after */
#define LAUNCHES_KILL_MS 5500
#define SERVICES_KILL_MS 7000
#define SERVICES_GRACE_MS 2000
#define SERVICES_LEFT_MS 7200
#define STRAYS_MS 300
#define SEAL_MS 7800		/* the enforcer is killed then */
#define STEP_MS 20		/* pause between sweeps */
#define HURRY_MS 300		/* for what was killed to be gone, when asked twice */

static uint64_t stretched(const struct init *init, uint64_t ms)
{
	unsigned grace_s = init->settings->stop_grace_s ? init->settings->stop_grace_s : 10;

	return ms * (grace_s - 2) / 8;
}

static void enter(struct init *init, enum drain_phase phase)
{
	init->drain.phase = phase;
	init->drain.phase_ms = now_ms();
	init->drain.again_ms = 0;
}

static void kill_launches(struct init *init, int signal)
{
	init->drain.signal = signal;
	if (init->enforcer.pid)
		enforcer_tell(init, INIT_KILL_ALL, signal, NULL);
}

void drain_begin(struct init *init, const char *why)
{
	if (init->drain.phase != DRAIN_NONE)
		return;
	init->drain.begun_ms = now_ms();
	enter(init, DRAIN_LAUNCHES);
	init_set_state(init, STATE_DRAINING, true, "%s", why);
	kill_launches(init, SIGTERM);
	/* Not yet a launch, or one whose enforcer is gone: its client hears it directly. */
	if (init->command_pid && !init->enforcer.ready)
		kill(init->command_pid, SIGTERM);
}

void drain_hurry(struct init *init)
{
	if (init->drain.hurry_ms)
		return;
	init_say(init, "asked again: ending without waiting");
	init->drain.hurry_ms = now_ms();
}

/* An enforcer that was restarted while we stop must hear again what to do with the launches it adopted. */
void drain_enforcer_ready(struct init *init)
{
	if (init->drain.phase == DRAIN_LAUNCHES)
		kill_launches(init, init->drain.signal);
}

static void step_launches(struct init *init, uint64_t spent)
{
	const struct enforcer *e = &init->enforcer;
	bool enforcer_knows = e->pid || e->start_ms != NEVER;

	if (!init->command_pid && (e->launches <= 0 || !enforcer_knows)) {
		services_signal(init, SIGTERM);
		enter(init, DRAIN_SERVICES);
		return;
	}
	if ((spent >= stretched(init, LAUNCHES_TERM_MS) || init->drain.hurry_ms) && init->drain.signal != SIGKILL)
		kill_launches(init, SIGKILL);
	if (spent < stretched(init, LAUNCHES_KILL_MS) && !(init->drain.hurry_ms && now_ms() - init->drain.hurry_ms >= HURRY_MS))
		return;
	if (init->command_pid)
		kill(init->command_pid, SIGKILL);
	services_signal(init, SIGTERM);
	enter(init, DRAIN_SERVICES);
}

static void step_services(struct init *init, uint64_t spent)
{
	uint64_t in_phase = now_ms() - init->drain.phase_ms;

	if (services_alive(init) && (spent >= stretched(init, SERVICES_KILL_MS) || in_phase >= SERVICES_GRACE_MS || init->drain.hurry_ms))
		services_signal(init, SIGKILL);
	if (!services_alive(init) || spent >= stretched(init, SERVICES_LEFT_MS) || in_phase >= SERVICES_GRACE_MS + 200)
		enter(init, DRAIN_STRAYS);
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static bool kill_one(const struct init *init, pid_t pid)
{
	return pid > 1 && pid != getpid() && pid != init->enforcer.pid && kill(pid, SIGKILL) == 0;
}

/* Everything in our pid namespace, also what `docker exec` brought in (its parent is outside). Only the numbers are read. */
static size_t kill_namespace(const struct init *init)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t nr = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc)))
		if (is_number(entry->d_name))
			nr += kill_one(init, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(proc);
	return nr;
}

/* Not PID 1: the machine is not ours, our children are; theirs become ours as they die (we are their subreaper). */
static size_t kill_children(const struct init *init)
{
	char path[64];
	size_t nr = 0;
	FILE *list;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	list = fopen(path, "re");
	if (!list)
		return 0;
	while (fscanf(list, "%d", &pid) == 1)
		nr += kill_one(init, pid);
	fclose(list);
	return nr;
}

static void step_strays(struct init *init)
{
	size_t left = getpid() == 1 ? kill_namespace(init) : kill_children(init);

	if (left && now_ms() - init->drain.phase_ms < STRAYS_MS) {
		init->drain.again_ms = now_ms() + STEP_MS;
		return;
	}
	init_set_state(init, STATE_STOPPED, true, "%s", init->why);
	enter(init, DRAIN_SEAL);
	if (init->enforcer.pid)
		enforcer_tell(init, INIT_SEAL, 0, NULL);
}

static void step_seal(struct init *init, uint64_t spent)
{
	if (!init->enforcer.pid) {
		enter(init, DRAIN_DONE);
		return;
	}
	if (spent >= stretched(init, SEAL_MS)) {
		init_say(init, "the enforcer did not seal the log in time");
		kill(init->enforcer.pid, SIGKILL);
		enter(init, DRAIN_DONE);
	}
}

void drain_tick(struct init *init, uint64_t now)
{
	enum drain_phase before;

	/* Phases follow one another without waiting where there is nothing to wait for. */
	do {
		uint64_t spent = now - init->drain.begun_ms;

		before = init->drain.phase;
		switch (before) {
		case DRAIN_LAUNCHES:
			step_launches(init, spent);
			break;
		case DRAIN_SERVICES:
			step_services(init, spent);
			break;
		case DRAIN_STRAYS:
			step_strays(init);
			break;
		case DRAIN_SEAL:
			step_seal(init, spent);
			break;
		default:
			break;
		}
	} while (init->drain.phase != before);
}

/* A coarse clock is enough: what is waited for wakes the loop by itself (SIGCHLD, the channel). */
uint64_t drain_deadline(const struct init *init)
{
	if (init->drain.phase == DRAIN_NONE || init->drain.phase == DRAIN_DONE)
		return NEVER;
	if (init->drain.phase == DRAIN_STRAYS)
		return init->drain.again_ms;
	return now_ms() + 50;
}
