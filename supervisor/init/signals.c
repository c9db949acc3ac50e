/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to PID 1: the container runtime's are obeyed, those from inside the container are refused and recorded.
 *
 * The kernel gives si_pid 0 for a sender in a parent pid namespace. rt_sigqueueinfo() lets any sender that may signal us write si_pid
 * itself, but only with another si_code than kill()'s, so the code is part of the test.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/json_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define REFUSED_RECORDS_PER_S 10

bool signal_from_outside(int code, pid_t sender, pid_t own_pid, pid_t own_parent)
{
	if (code != SI_USER && code != SI_KERNEL)
		return false;
	if (sender == 0)
		return true;
	/* Not PID 1 (under docker --init, or by hand): who started us is outside. */
	return own_pid != 1 && sender == own_parent;
}

static void name_of(int signal, char *ret_name, size_t name_bytes)
{
	const char *name = sigabbrev_np(signal);

	if (name)
		snprintf(ret_name, name_bytes, "%s", name);
	else if (signal >= SIGRTMIN && signal <= SIGRTMAX)
		snprintf(ret_name, name_bytes, "RTMIN+%d", signal - SIGRTMIN);
	else
		snprintf(ret_name, name_bytes, "%d", signal);
}

/* At most a few records a second; the rest is counted into the next one, so that nobody can flood the log through us. */
static bool may_record(struct init *init, unsigned *ret_uncounted)
{
	uint64_t second = now_ms() / 1000;

	if (second != init->refused_second) {
		init->refused_second = second;
		init->refused_in_second = 0;
	}
	if (init->refused_in_second++ >= REFUSED_RECORDS_PER_S) {
		init->refused_uncounted++;
		return false;
	}
	*ret_uncounted = init->refused_uncounted;
	init->refused_uncounted = 0;
	return true;
}

static void record_refused(struct init *init, int number, pid_t sender, int64_t uid, const char *why)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };
	unsigned uncounted;
	char name[32];

	init->signals_refused++;
	if (!may_record(init, &uncounted))
		return;
	name_of(number, name, sizeof(name));
	buf_text(&text, "signal_refused\n");
	json_text(&j, "signal", name);
	json_text(&j, "target", "init");
	json_int(&j, "sender_pid", sender);
	if (uid >= 0)
		json_int(&j, "sender_uid", uid);
	json_text(&j, "reason", why);
	if (uncounted)
		json_uint(&j, "not_recorded_before", uncounted);
	if (!text.failed)
		enforcer_tell(init, INIT_RECORD, 2 /* AUDIT_MED */, text.data);
}

void signals_check_faults(struct init *init)
{
	pid_t sender;
	int number = prepare_take_forged_fault(&sender);

	if (number)
		record_refused(init, number, sender, -1, "sent from inside the container");
}

static void on_stop(struct init *init, int signal)
{
	char why[64], name[32];

	if (init->drain.phase != DRAIN_NONE) {
		drain_hurry(init);
		return;
	}
	/* A command that never began cannot give its own code. */
	if (init->settings->command && !init->command_begun)
		init->exit_code = 128 + signal;
	name_of(signal, name, sizeof(name));
	snprintf(why, sizeof(why), "signal %s", name);
	drain_begin(init, why);
}

static void on_signal(struct init *init, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;
	bool outside = signal_from_outside(info->ssi_code, (pid_t)info->ssi_pid, getpid(), getppid());
	bool stops = signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGRTMIN + 3;
	bool forwarded = signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGWINCH;

	if (signal == SIGCHLD)
		return;
	if (signal == SIGHUP)
		record_refused(init, signal, (pid_t)info->ssi_pid, info->ssi_uid, "reload with `cordon policy reload`");
	else if ((stops || forwarded) && !outside)
		record_refused(init, signal, (pid_t)info->ssi_pid, info->ssi_uid, "sent from inside the container");
	else if (stops)
		on_stop(init, signal);
	else if (forwarded && init->command_pid)
		kill(init->command_pid, signal);
}

void signals_read(struct init *init)
{
	struct signalfd_siginfo infos[16];
	ssize_t len = read(init->signal_fd, infos, sizeof(infos));

	for (ssize_t i = 0; i < len / (ssize_t)sizeof(infos[0]); i++)
		on_signal(init, &infos[i]);
}
