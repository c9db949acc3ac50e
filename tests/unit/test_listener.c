/* SPDX-License-Identifier: Apache-2.0 */
/* A real child under a real filter: what it sees is what we answered. */
#include "supervisor/base/io.h"
#include "supervisor/boundary/listener.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SLOT_BYTES 128		/* as in the in-flight table */

static uint8_t *slot;		/* shared memory, as the table is */
#define REQUEST ((struct seccomp_notif *)(void *)slot)

static int install_mkdir_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/*
 * A child that makes `path` and exits with the errno it got, stopped at its mkdir. Sending the descriptor after the
 * filter is right only because this filter traps mkdir alone.
 */
static pid_t child_in_mkdir(const char *path, struct listener *ret_listener)
{
	int pair[2], fd;
	unsigned nr;
	char byte = 0;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		fd = install_mkdir_filter();
		if (fd < 0 || io_send(pair[1], &byte, 1, &fd, 1, 0) < 0)
			_exit(99);
		close(fd);	/* or our own copy would keep the listener open */
		_exit(syscall(SYS_mkdir, path, 0700) == 0 ? 0 : errno);
	}
	assert_int_equal(io_receive(pair[0], &byte, 1, &fd, 1, &nr, 0), 1);
	assert_int_equal(nr, 1);
	assert_int_equal(listener_open(fd, ret_listener), 0);
	close(pair[0]);
	close(pair[1]);
	return child;
}

static int exit_code(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void wait_for_call(const struct listener *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(listener_receive(l, slot, SLOT_BYTES), 1);
}

static void fresh_path(char *path)
{
	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
}

static void denied_call_fails_with_our_errno_and_changes_nothing(void **state)
{
	char path[] = "/tmp/cordon-listener-XXXXXX";
	struct listener l;
	struct stat st;
	pid_t child;

	(void)state;
	fresh_path(path);
	child = child_in_mkdir(path, &l);
	wait_for_call(&l);
	assert_int_equal(REQUEST->data.nr, SYS_mkdir);
	assert_int_equal(REQUEST->pid, child);
	assert_true(listener_waits(&l, REQUEST->id));
	assert_int_equal(listener_answer(&l, REQUEST->id, (struct answer){ .kind = ANSWER_DENY, .error_number = EROFS }), 0);
	assert_int_equal(exit_code(child), EROFS);
	assert_int_equal(stat(path, &st), -1);
	listener_close(&l);
	assert_int_equal(l.fd, -1);
}

static void continued_call_is_run_by_the_kernel(void **state)
{
	char path[] = "/tmp/cordon-listener-XXXXXX";
	struct listener l;
	pid_t child;

	(void)state;
	fresh_path(path);
	child = child_in_mkdir(path, &l);
	wait_for_call(&l);
	assert_int_equal(listener_answer(&l, REQUEST->id, (struct answer){ .kind = ANSWER_CONTINUE }), 0);
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(rmdir(path), 0);
	listener_close(&l);
}

static void a_value_is_returned_without_the_call(void **state)
{
	char path[] = "/tmp/cordon-listener-XXXXXX";
	struct listener l;
	struct stat st;
	pid_t child;

	(void)state;
	fresh_path(path);
	child = child_in_mkdir(path, &l);
	wait_for_call(&l);
	assert_int_equal(listener_answer(&l, REQUEST->id, (struct answer){ .kind = ANSWER_VALUE, .value = 0 }), 0);
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(stat(path, &st), -1);
	listener_close(&l);
}

static void an_answer_must_be_one(void **state)
{
	struct listener l = { .fd = -1 };

	(void)state;
	assert_int_equal(listener_answer(&l, 1, (struct answer){ .kind = ANSWER_DENY }), -EINVAL);
	assert_int_equal(listener_answer(&l, 1, (struct answer){ .kind = ANSWER_DENY, .error_number = -EPERM }), -EINVAL);
	assert_int_equal(listener_answer(&l, 1, (struct answer){ .kind = ANSWER_DENY, .error_number = 4096 }), -EINVAL);
	assert_int_equal(listener_answer(&l, 1, (struct answer){ .kind = (enum answer_kind)77 }), -EINVAL);
	assert_int_equal(listener_answer(&l, 1, (struct answer){ .kind = ANSWER_CONTINUE }), -EBADF);
}

static void a_caller_killed_before_the_answer_is_no_error(void **state)
{
	struct listener l;
	pid_t child = child_in_mkdir("/tmp/cordon-listener-never", &l);
	uint64_t id;

	(void)state;
	wait_for_call(&l);
	id = REQUEST->id;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(exit_code(child), 128 + SIGKILL);
	assert_false(listener_waits(&l, id));
	assert_int_equal(listener_answer(&l, id, (struct answer){ .kind = ANSWER_CONTINUE }), 0);
	listener_close(&l);
}

static void a_caller_killed_before_it_is_received_is_no_call(void **state)
{
	struct listener l;
	pid_t child = child_in_mkdir("/tmp/cordon-listener-never", &l);
	struct pollfd p = { .fd = l.fd, .events = POLLIN };

	(void)state;
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(exit_code(child), 128 + SIGKILL);
	/* Nobody is left under the filter: that is POLLHUP. RECV finds nothing, at once, though poll had said there was a call. */
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(p.revents & POLLHUP);
	assert_int_equal(listener_receive(&l, slot, SLOT_BYTES), 0);
	listener_close(&l);
}

/* A kernel that writes more than the slot holds must not be let write; a stale slot must not be refused. */
static void a_slot_is_never_overrun_nor_stale(void **state)
{
	char path[] = "/tmp/cordon-listener-XXXXXX";
	struct listener l;
	pid_t child;

	(void)state;
	fresh_path(path);
	child = child_in_mkdir(path, &l);
	assert_true(l.request_bytes >= sizeof(struct seccomp_notif) && l.request_bytes <= SLOT_BYTES);
	memset(slot, 0xff, SLOT_BYTES);
	assert_int_equal(listener_receive(&l, slot, l.request_bytes - 1), -EMSGSIZE);
	assert_int_equal(slot[0], 0xff);
	assert_int_equal(listener_receive(&l, slot, l.request_bytes), 1);
	if (l.request_bytes < SLOT_BYTES)
		assert_int_equal(slot[l.request_bytes], 0xff);
	assert_int_equal(listener_answer(&l, REQUEST->id, (struct answer){ .kind = ANSWER_DENY, .error_number = EACCES }), 0);
	assert_int_equal(exit_code(child), EACCES);
	listener_close(&l);
}

/* What a killed enforcer received is in the shared slot, and whoever holds the descriptor next answers it. */
static void a_call_survives_its_receiver(void **state)
{
	char path[] = "/tmp/cordon-listener-XXXXXX";
	struct listener l;
	pid_t child, receiver;

	(void)state;
	fresh_path(path);
	child = child_in_mkdir(path, &l);
	memset(slot, 0, SLOT_BYTES);
	receiver = fork();
	assert_true(receiver >= 0);
	if (receiver == 0) {
		if (listener_receive(&l, slot, SLOT_BYTES) != 1)
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(exit_code(receiver), 128 + SIGKILL);
	assert_int_equal(REQUEST->pid, child);
	assert_true(listener_waits(&l, REQUEST->id));
	assert_int_equal(listener_answer(&l, REQUEST->id, (struct answer){ .kind = ANSWER_DENY, .error_number = EIO }), 0);
	assert_int_equal(exit_code(child), EIO);
	listener_close(&l);
}

static int map_slot(void **state)
{
	(void)state;
	slot = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return slot == MAP_FAILED ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denied_call_fails_with_our_errno_and_changes_nothing),
		cmocka_unit_test(continued_call_is_run_by_the_kernel),
		cmocka_unit_test(a_value_is_returned_without_the_call),
		cmocka_unit_test(an_answer_must_be_one),
		cmocka_unit_test(a_caller_killed_before_the_answer_is_no_error),
		cmocka_unit_test(a_caller_killed_before_it_is_received_is_no_call),
		cmocka_unit_test(a_slot_is_never_overrun_nor_stale),
		cmocka_unit_test(a_call_survives_its_receiver),
	};

	return cmocka_run_group_tests(tests, map_slot, NULL);
}
