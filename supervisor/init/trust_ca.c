/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA of this container start: EC P-256, made by openssl, its key readable by the proxy alone.
 *
 * Runs in the trust helper, before any proxy runs. One CA in an image would be a secret everybody shares.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CA_DAYS "2"
#define FILE_LIMIT_BYTES 65536

static void join(char ret_path[static PATH_MAX], const char *dir, const char *name)
{
	snprintf(ret_path, PATH_MAX, "%s/%s", dir, name);
}

int trust_run_tool(char *const *argv, int out_fd)
{
	static char *const env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	const struct spawn spawn = { .argv = argv, .envp = env, .in_fd = -1, .out_fd = out_fd, .error_fd = -1, .channel_fd = -1 };
	pid_t pid = spawn_program(&spawn);
	int status;

	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int read_text(const char *path, struct buf *ret_text)
{
	int r = io_read_file(AT_FDCWD, path, FILE_LIMIT_BYTES, ret_text);

	return r == 0 && ret_text->failed ? -ENOMEM : r;
}

/* What an earlier start left (docker restart keeps /run). No proxy runs yet, so nobody races us in its own folder. */
static int remove_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct dirent *entry;
	DIR *folder;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlinkat(fd, entry->d_name, 0) < 0)
			(void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	closedir(folder);
	return rmdir(path) < 0 ? -errno : 0;
}

static int write_openssl_config(const struct trust_job *job, const char *path, struct err *ret_error)
{
	char text[600];
	int len = snprintf(text, sizeof(text),
			   "[req]\ndistinguished_name = name\nprompt = no\nx509_extensions = ca\n"
			   "[name]\nO = Cordon\nCN = Cordon CA %.8s\n"
			   "[ca]\nbasicConstraints = critical,CA:TRUE\nkeyUsage = critical,keyCertSign,cRLSign\n"
			   "subjectKeyIdentifier = hash\n",
			   job->short_id);

	return trust_file_write(path, text, (size_t)len, 0600, NULL, ret_error);
}

static int run_openssl(const struct trust_job *job, const char *key, const char *certificate, struct err *ret_error)
{
	char config[PATH_MAX];
	char *const argv[] = { "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256", "-days",
			       CA_DAYS, "-config", config, "-keyout", (char *)(uintptr_t)key, "-out", (char *)(uintptr_t)certificate, NULL };
	int r;

	join(config, job->settings->ca_dir, "openssl.cnf");
	r = write_openssl_config(job, config, ret_error);
	if (r < 0)
		return r;
	r = trust_run_tool(argv, -1);
	(void)unlink(config);
	if (r == 127)
		return err_set(ret_error, -ENOENT, "openssl is not installed; the image needs it");
	if (r != 0)
		return err_set(ret_error, -EIO, "openssl req failed (%d)", r);
	return 0;
}

/* The folder in the form mitmproxy reads: key and certificate in one file, the certificate alone for http://mitm.it. */
static int store_pair(const struct trust_job *job, const struct buf *key, const struct buf *certificate, struct err *ret_error)
{
	_cleanup_buf_ struct buf both = { 0 };
	char path[PATH_MAX];
	int r;

	buf_append(&both, key->data, key->len);
	buf_append(&both, certificate->data, certificate->len);
	if (both.failed)
		return err_set(ret_error, -ENOMEM, "out of memory");
	join(path, job->settings->ca_dir, "mitmproxy-ca.pem");
	r = trust_file_write(path, both.data, both.len, 0600, &job->owner, ret_error);
	explicit_bzero(both.data, both.len);
	if (r < 0)
		return r;
	join(path, job->settings->ca_dir, "mitmproxy-ca-cert.pem");
	return trust_file_write(path, certificate->data, certificate->len, 0644, &job->owner, ret_error);
}

/* The same for a proxy that imports a PKCS#12 file, with an empty password: the folder is what protects it. Read back before it is believed. */
static int store_p12(const struct trust_job *job, const char *key, const char *certificate, struct err *ret_error)
{
	char path[PATH_MAX];
	char *const pack[] = { "openssl", "pkcs12", "-export", "-inkey", (char *)(uintptr_t)key, "-in", (char *)(uintptr_t)certificate, "-name",
			       "Cordon CA", "-out", path, "-passout", "pass:", NULL };
	char *const check[] = { "openssl", "pkcs12", "-in", path, "-passin", "pass:", "-nodes", "-noout", NULL };

	join(path, job->settings->ca_dir, "ca.p12");
	if (trust_run_tool(pack, -1) != 0 || trust_run_tool(check, -1) != 0)
		return err_set(ret_error, -EIO, "openssl pkcs12 failed, so there is no %s to import", path);
	if (geteuid() == 0 && lchown(path, job->owner.uid, job->owner.gid) < 0)
		return err_set(ret_error, -errno, "cannot give %s to the proxy: %s", path, strerror(errno));
	return 0;
}

int trust_make_ca(const struct trust_job *job, struct buf *ret_certificate, struct err *ret_error)
{
	const char *dir = job->settings->ca_dir;
	char key_path[PATH_MAX], certificate_path[PATH_MAX];
	_cleanup_buf_ struct buf key = { 0 };
	int r;

	r = remove_folder(dir);
	if (r < 0)
		return err_set(ret_error, r, "cannot replace folder %s: %s", dir, strerror(-r));
	r = prepare_folder(dir, 0700, ret_error);
	if (r < 0)
		return r;
	join(key_path, dir, "key.pem");
	join(certificate_path, dir, "certificate.pem");
	r = run_openssl(job, key_path, certificate_path, ret_error);
	if (r < 0)
		return r;
	r = read_text(key_path, &key);
	if (r == 0)
		r = read_text(certificate_path, ret_certificate);
	if (r < 0)
		return err_set(ret_error, r, "cannot read what openssl wrote: %s", strerror(-r));
	r = store_pair(job, &key, ret_certificate, ret_error);
	explicit_bzero(key.data, key.len);
	if (r == 0 && job->p12)
		r = store_p12(job, key_path, certificate_path, ret_error);
	(void)unlink(key_path);
	(void)unlink(certificate_path);
	/* Only now is the folder the proxy's: no file was written by root into a folder of somebody else. */
	if (r == 0 && geteuid() == 0 && chown(dir, job->owner.uid, job->owner.gid) < 0)
		r = err_set(ret_error, -errno, "cannot give %s to the proxy: %s", dir, strerror(errno));
	return r;
}
