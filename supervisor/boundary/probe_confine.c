/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of what confines agents: each confines itself the way a launch is and tries to do what it then must not. */
#include "supervisor/boundary/probe_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/filter.h"
#include "supervisor/boundary/landlock.h"
#include "supervisor/boundary/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ABI_TRUNCATE 3
#define ABI_SCOPE 6
#define X32_BIT 0x40000000

/* Restricts this process to a layer without any rule. Returns 0 or -errno. */
static int enter_landlock(const struct sys_landlock_ruleset *attr, int abi)
{
	_cleanup_close_ int ruleset = sys_landlock_create_ruleset(attr, sys_landlock_ruleset_bytes(abi));

	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sys_landlock_restrict_self(ruleset) < 0)
		return -errno;
	return 0;
}

void probe_landlock(struct finding *f)
{
	int abi = sys_landlock_create_ruleset(NULL, 0), r;
	struct sys_landlock_ruleset attr = { .handled_access_fs = landlock_handled(abi) };

	if (abi < 0) {
		found(f, LAYER_UNSUPPORTED, "The kernel has no Landlock for us: %s.", strerror(errno));
		return;
	}
	r = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (r < 0 || (r = enter_landlock(&attr, abi)) < 0) {
		found(f, LAYER_UNSUPPORTED, "A Landlock layer cannot be entered: %s.", strerror(r == -1 ? errno : -r));
		return;
	}
	r = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (r >= 0 || errno != EACCES)
		found(f, LAYER_UNSUPPORTED, "Under a Landlock layer a write outside its roots was not refused.");
	else if (abi < ABI_TRUNCATE)
		found(f, LAYER_DEGRADED, "A write outside the roots is EACCES, but ABI %d does not hold truncate(2).", abi);
	else
		found(f, LAYER_ACTIVE, "A write outside the roots is EACCES (ABI %d).", abi);
}

void probe_landlock_scope(struct finding *f)
{
	int abi = sys_landlock_create_ruleset(NULL, 0), r;
	struct sys_landlock_ruleset attr = { .scoped = LANDLOCK_SCOPE_SIGNAL | LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET };

	if (abi < ABI_SCOPE) {
		found(f, LAYER_UNSUPPORTED, "Landlock's ABI here (%d) has no scopes: signals are held by uids only.", abi < 0 ? 0 : abi);
		return;
	}
	/* Our parent, the prober, is outside. Signal 0 asks for the right only. Another uid than ours could refuse it for its own reason. */
	if (kill(getppid(), 0) < 0) {
		found(f, LAYER_UNSUPPORTED, "The probe may not signal its own parent: %s.", strerror(errno));
		return;
	}
	r = enter_landlock(&attr, abi);
	if (r < 0)
		found(f, LAYER_UNSUPPORTED, "A scoped Landlock layer cannot be entered: %s.", strerror(-r));
	else if (kill(getppid(), 0) == 0 || errno != EPERM)
		found(f, LAYER_UNSUPPORTED, "A signal out of a scoped domain was not refused.");
	else
		found(f, LAYER_ACTIVE, "A signal out of the domain is EPERM.");
}

/* The address does not matter: Landlock refuses before anybody is asked, and without it nobody listens on this port of loopback for long. */
static int try_tcp(int (*act)(int, const struct sockaddr *, socklen_t))
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || act(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

/* A connect or bind that an agent's own thread makes is one that a race put into a continued call: this alone refuses it. */
void probe_landlock_net(struct finding *f)
{
	int abi = sys_landlock_create_ruleset(NULL, 0), r;
	struct sys_landlock_ruleset attr = { .handled_access_net = landlock_handled_net(abi) };

	if (!attr.handled_access_net) {
		found(f, LAYER_UNSUPPORTED, "Landlock's ABI here (%d) knows no TCP: nothing holds a connect that is raced.", abi < 0 ? 0 : abi);
		return;
	}
	r = enter_landlock(&attr, abi);
	if (r < 0)
		found(f, LAYER_UNSUPPORTED, "A Landlock layer for TCP cannot be entered: %s.", strerror(-r));
	else if (try_tcp(connect) != -EACCES || try_tcp(bind) != -EACCES)
		found(f, LAYER_UNSUPPORTED, "Under a Landlock layer a TCP connect or bind was not refused.");
	else
		found(f, LAYER_ACTIVE, "TCP connects and binds of the layer are EACCES.");
}

/* The real thing, with a mask, entered. access(2) sees a read-only mount without trying to write. */
void probe_mounts(struct finding *f)
{
	static const char *const masks[] = { "/proc/version", NULL };
	const struct mounts_plan plan = { .masks = masks };
	struct err error = { 0 };
	char byte;
	int fd = -1, masked;

	if (mounts_build(&plan, &fd, &error) < 0) {
		found(f, LAYER_UNSUPPORTED, "Tried: %.*s.", (int)sizeof(f->why) - 16, error.text);
		return;
	}
	if (setns(fd, CLONE_NEWNS) < 0) {
		found(f, LAYER_UNSUPPORTED, "The agents' mount namespace cannot be entered: %s.", strerror(errno));
		return;
	}
	masked = open("/proc/version", O_RDONLY | O_CLOEXEC);
	if (access("/", W_OK) == 0 || errno != EROFS)
		found(f, LAYER_UNSUPPORTED, "A read-only tree did not hold in a new mount namespace.");
	else if (masked < 0 || read(masked, &byte, 1) != 0)
		found(f, LAYER_UNSUPPORTED, "A mask did not hold in a new mount namespace.");
	else
		found(f, LAYER_ACTIVE, "A read-only tree and a mask hold in a new mount namespace.");
}

void probe_capabilities(struct finding *f)
{
	for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++) {
		if (prctl(PR_CAPBSET_READ, capability) == 1 && prctl(PR_CAPBSET_DROP, capability) < 0) {
			found(f, LAYER_UNSUPPORTED, "The bounding set cannot be emptied: %s.", strerror(errno));
			return;
		}
		if (prctl(PR_CAPBSET_READ, capability) != 0) {
			found(f, LAYER_UNSUPPORTED, "A capability stayed in the bounding set.");
			return;
		}
	}
	found(f, LAYER_ACTIVE, "The bounding set was emptied.");
}

void probe_no_new_privs(struct finding *f)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		found(f, LAYER_UNSUPPORTED, "no_new_privs cannot be set: %s.", strerror(errno));
	else
		found(f, LAYER_ACTIVE, "no_new_privs was set and stays.");
}

static void call_x32(void)
{
	syscall(SYS_getpid | X32_BIT);
}

static void call_i386(void)
{
	long nr = 20;	/* getpid, there */

	__asm__ volatile("int $0x80" : "+a"(nr) : : "memory", "r8", "r9", "r10", "r11");
}

/* What becomes of a filtered child that makes this call: probe_reap()'s number. */
static int under_filter(const struct filter_program *filter, void (*make_call)(void))
{
	struct sock_fprog program = { .len = (unsigned short)filter->len, .filter = filter->code };
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			_exit(1);
		make_call();
		_exit(0);
	}
	return pid < 0 ? -errno : probe_reap(pid);
}

void probe_foreign_abi(struct finding *f)
{
	struct filter_program filter;
	struct err error = { 0 };
	int x32, i386;

	if (filter_build(FILTER_SAFE, &filter, &error) < 0) {
		found(f, LAYER_UNSUPPORTED, "Tried: %.*s.", (int)sizeof(f->why) - 16, error.text);
		return;
	}
	x32 = under_filter(&filter, call_x32);
	i386 = under_filter(&filter, call_i386);
	/* A kernel without i386 answers int 0x80 with a fault, which is as good. */
	if (x32 == 128 + SIGSYS && (i386 == 128 + SIGSYS || i386 == 128 + SIGSEGV))
		found(f, LAYER_ACTIVE, "Callers of x32 and i386 calls were killed.");
	else if (x32 == 1 || i386 == 1)
		found(f, LAYER_UNSUPPORTED, "The call filter cannot be installed.");
	else
		found(f, LAYER_UNSUPPORTED, "A caller of an x32 or i386 call was not killed.");
}
