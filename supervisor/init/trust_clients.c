/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether clients believe the CA, way by way: looked at by what verifies, not by what was written.
 *
 * Runs in a forked helper beside the container; certutil and keytool take seconds. Homes belong to users who may be agents: what is done there is done
 * as that user.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_TIMEOUT_S 180
#define HOME_TIMEOUT_S 20
#define FIRST_PERSON 1000	/* adduser.conf */
#define NOBODY 65534
#define NICKNAME "Cordon CA"

static const char *public_dir(const struct trust_job *job)
{
	return job->report->spare_dir ? job->settings->trust_spare_dir : job->settings->trust_dir;
}

static struct trust_client *add_client(struct trust_report *report, const char *name)
{
	struct trust_client *client = &report->clients[report->nr_clients];

	*client = (struct trust_client){ 0 };
	snprintf(client->name, sizeof(client->name), "%s", name);
	return client;
}

static void doubt(struct trust_client *client, const char *text)
{
	size_t len = strlen(client->why);

	client->degraded = true;
	snprintf(client->why + len, sizeof(client->why) - len, "%s%s", len ? "; " : "", text);
}

/* ---- what OpenSSL, GnuTLS and all who read the same files believe ---- */

static bool verifies(const char *option, const char *roots, const char *certificate)
{
	char *const argv[] = { "openssl", "verify", strcmp(option, "-CAfile") == 0 ? "-no-CApath" : "-no-CAfile", (char *)(uintptr_t)option,
			       (char *)(uintptr_t)roots, (char *)(uintptr_t)certificate, NULL };

	return trust_run_tool(argv, -1) == 0;
}

static void check_files(const struct trust_job *job, const char *certificate)
{
	struct trust_client *client = add_client(job->report, "trust-files");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bundle.pem", public_dir(job));
	if (!verifies("-CAfile", path, certificate))
		doubt(client, "the bundle that variables name does not verify the CA");
	snprintf(path, sizeof(path), "%s/ssl/certs/ca-certificates.crt", job->settings->etc_dir);
	if (!verifies("-CAfile", path, certificate))
		doubt(client, "the system's bundle does not verify the CA: only what reads the variables believes it");
	snprintf(path, sizeof(path), "%s/ssl/certs", job->settings->etc_dir);
	if (!verifies("-CApath", path, certificate))
		doubt(client, "the system's folder of certificates does not verify the CA");
	job->report->nr_clients++;
}

/* ---- NSS databases ---- */

/*
 * A database in a home is an agent's: its pkcs11.txt names libraries that whoever opens it loads. So certutil works on a copy of the two files of data, in
 * a folder where no agent can put anything, and what it made goes back.
 */
struct home_job {
	const char *home, *certificate;
	char work[128];		/* the folder, the user's */
};

#define DATABASE_LIMIT_BYTES (64u << 20)

static int copy_file(const char *from_dir, const char *to_dir, const char *name)
{
	_cleanup_buf_ struct buf data = { 0 };
	char path[PATH_MAX];
	struct err e = { 0 };
	int r;

	snprintf(path, sizeof(path), "%s/%s", from_dir, name);
	r = io_read_file(AT_FDCWD, path, DATABASE_LIMIT_BYTES, &data);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", to_dir, name);
	return data.failed ? -ENOMEM : trust_file_write(path, data.data ? data.data : "", data.len, 0600, NULL, &e);
}

static bool fill_database(char *database, bool fresh, const char *certificate)
{
	char *const create[] = { "certutil", "-N", "-d", database, "--empty-password", NULL };
	char *const forget[] = { "certutil", "-D", "-d", database, "-n", NICKNAME, NULL };
	char *const add[] = { "certutil", "-A", "-d", database, "-n", NICKNAME, "-t", "C,,", "-i", (char *)(uintptr_t)certificate, NULL };
	char *const show[] = { "certutil", "-L", "-d", database, "-n", NICKNAME, "-a", NULL };

	if (fresh && trust_run_tool(create, -1) != 0)
		return false;
	for (int i = 0; !fresh && i < 4 && trust_run_tool(forget, -1) == 0; i++)
		; /* those of earlier starts */
	return trust_run_tool(add, -1) == 0 && trust_tool_prints(show, certificate);
}

static int install_in_home(void *argument)
{
	struct home_job *job = argument;
	char folder[PATH_MAX], database[sizeof(job->work) + 8], path[PATH_MAX + 16];
	bool fresh;

	alarm(HOME_TIMEOUT_S);
	umask(077);
	snprintf(folder, sizeof(folder), "%s/.pki", job->home);
	(void)mkdir(folder, 0700);
	snprintf(folder, sizeof(folder), "%s/.pki/nssdb", job->home);
	(void)mkdir(folder, 0700);
	fresh = copy_file(folder, job->work, "cert9.db") < 0 || copy_file(folder, job->work, "key4.db") < 0;
	if (fresh) {	/* a half of one is none */
		snprintf(path, sizeof(path), "%s/cert9.db", job->work);
		(void)unlink(path);
	}
	snprintf(database, sizeof(database), "sql:%s", job->work);
	if (!fill_database(database, fresh, job->certificate))
		return 1;
	if (copy_file(job->work, folder, "key4.db") < 0 || copy_file(job->work, folder, "cert9.db") < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/pkcs11.txt", folder);
	if (access(path, F_OK) < 0)
		(void)copy_file(job->work, folder, "pkcs11.txt");
	return 0;
}

static bool is_person(const struct trust_job *job, const struct passwd *p)
{
	const char *launch_user = job->settings->policy ? job->settings->policy->launch_user : NULL;
	const char *shell = strrchr(p->pw_shell, '/');
	struct stat st;

	if (geteuid() != 0 && p->pw_uid != geteuid())
		return false;
	if (p->pw_dir[0] != '/' || !p->pw_dir[1] || stat(p->pw_dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (launch_user && strcmp(launch_user, p->pw_name) == 0)
		return true;
	if (shell && (strcmp(shell, "/nologin") == 0 || strcmp(shell, "/false") == 0))
		return false;
	return p->pw_uid == 0 || (p->pw_uid >= FIRST_PERSON && p->pw_uid != NOBODY);
}

static int make_work(const struct trust_job *job, const struct user_identity *user, struct home_job *home)
{
	if (snprintf(home->work, sizeof(home->work), "%s/nss-XXXXXX", job->settings->run_dir) >= (int)sizeof(home->work) || !mkdtemp(home->work))
		return -ENAMETOOLONG;
	if (geteuid() != 0 || chown(home->work, user->uid, user->gid) == 0)
		return 0;
	(void)rmdir(home->work);
	return -EPERM;
}

/* name: a copy, since user_find() reads the same table into the same place. */
static bool serve_home(const struct trust_job *job, const char *name, const char *certificate, struct user_identity *ret_user)
{
	struct home_job home = { ret_user->home, certificate, "" };
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = -1, .channel_fd = -1, .no_new_privs = true };
	int status = 0;
	pid_t pid;

	if (user_find(job->settings->etc_dir, name, ret_user, NULL) < 0)
		return false;
	if (geteuid() == 0)
		spawn.identity = ret_user;
	if (make_work(job, ret_user, &home) < 0)
		return false;
	pid = spawn_function(&spawn, install_in_home, &home);
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	trust_remove_folder(home.work);
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool has_tool(const char *name)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void serve_homes(const struct trust_job *job, const char *certificate)
{
	struct trust_client *client = add_client(job->report, "trust-nss");
	char path[PATH_MAX], text[100], name[64];
	struct user_identity user;
	const struct passwd *p;
	const bool missing = !has_tool("certutil");
	unsigned done = 0;
	FILE *table;

	snprintf(path, sizeof(path), "%s/passwd", job->settings->etc_dir);
	table = fopen(path, "re");
	if (missing)
		doubt(client, "certutil is not installed (libnss3-tools): browsers do not believe the CA");
	else if (!table)
		doubt(client, "there is no passwd file to find homes by");
	while (table && !missing && (p = fgetpwent(table))) {
		if (!is_person(job, p))
			continue;
		snprintf(name, sizeof(name), "%s", p->pw_name);
		if (serve_home(job, name, certificate, &user)) {
			done++;
			continue;
		}
		snprintf(text, sizeof(text), "the database of %.60s does not hold the CA", name);
		doubt(client, text);
	}
	if (table)
		fclose(table);
	if (!client->degraded)
		snprintf(client->why, sizeof(client->why), "%u homes", done);
	job->report->nr_clients++;
}

/* ---- all of them ---- */

int trust_run_clients(void *argument)
{
	const struct trust_job *job = argument;
	struct trust_client *java;
	char certificate[PATH_MAX];

	alarm(HELPER_TIMEOUT_S);
	umask(077);
	snprintf(certificate, sizeof(certificate), "%s/ca.pem", public_dir(job));
	check_files(job, certificate);
	serve_homes(job, certificate);
	java = add_client(job->report, "trust-java");
	if (trust_java(job, certificate, java) == 0)
		job->report->nr_clients++;
	return 0;
}
