/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA of this container start: EC P-256, made by openssl, its key readable by the proxy alone.
 *
 * Runs in the trust helper, before any proxy runs. One CA in an image would be a secret everybody shares.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
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

#define DAYS_TEXT(days) DAYS_TEXT_OF(days)
#define DAYS_TEXT_OF(days) #days
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

bool trust_tool_prints(char *const *argv, const char *certificate_path)
{
	_cleanup_close_ int read_end = -1, write_end = -1;
	_cleanup_buf_ struct buf output = { 0 }, file = { 0 };
	_cleanup_free_ char *theirs = NULL, *ours = NULL;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	read_end = ends[0];
	write_end = ends[1];
	if (trust_run_tool(argv, write_end) != 0)	/* a certificate is less than a pipe takes */
		return false;
	close(TAKE_FD(write_end));
	if (io_read_all(read_end, FILE_LIMIT_BYTES, &output) < 0 || io_read_file(AT_FDCWD, certificate_path, FILE_LIMIT_BYTES, &file) < 0 ||
	    !output.data || !file.data)
		return false;
	theirs = probe_certificate(output.data);
	ours = probe_certificate(file.data);
	return theirs && ours && strcmp(theirs, ours) == 0;
}

static int read_text(const char *path, struct buf *ret_text)
{
	int r = io_read_file(AT_FDCWD, path, FILE_LIMIT_BYTES, ret_text);

	return r == 0 && ret_text->failed ? -ENOMEM : r;
}

/* What an earlier start left (docker restart keeps /run), or a helper that has ended: nobody races us in a folder that is another user's. */
int trust_remove_folder(const char *path)
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

/* renew: the key at key_path stays, and so every certificate that it signed is good under the old and the new certificate. */
static int run_openssl(const struct trust_job *job, const char *dir, bool renew, const char *key, const char *certificate, struct err *ret_error)
{
	char config[PATH_MAX];
	char *const make[] = { "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256", "-days",
			       DAYS_TEXT(CA_DAYS), "-config", config, "-keyout", (char *)(uintptr_t)key, "-out", (char *)(uintptr_t)certificate, NULL };
	char *const again[] = { "openssl", "req", "-x509", "-new", "-key", (char *)(uintptr_t)key, "-sha256", "-days", DAYS_TEXT(CA_DAYS), "-config",
				config, "-out", (char *)(uintptr_t)certificate, NULL };
	int r;

	join(config, dir, "openssl.cnf");
	r = write_openssl_config(job, config, ret_error);
	if (r < 0)
		return r;
	r = trust_run_tool(renew ? again : make, -1);
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

	r = trust_remove_folder(dir);
	if (r < 0)
		return err_set(ret_error, r, "cannot replace folder %s: %s", dir, strerror(-r));
	r = prepare_folder(dir, 0700, ret_error);
	if (r < 0)
		return r;
	join(key_path, dir, "key.pem");
	join(certificate_path, dir, "certificate.pem");
	r = run_openssl(job, dir, false, key_path, certificate_path, ret_error);
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

static int renew_in(const struct trust_job *job, const char dir[static 512], struct buf *ret_certificate, struct err *ret_error)
{
	char pair[PATH_MAX], key_path[PATH_MAX], certificate_path[PATH_MAX];
	_cleanup_buf_ struct buf both = { 0 }, key = { 0 };
	const char *end;
	int r;

	join(pair, job->settings->ca_dir, "mitmproxy-ca.pem");
	r = read_text(pair, &both);
	end = r == 0 && both.data ? strstr(both.data, "-----BEGIN CERTIFICATE-----") : NULL;
	if (!end)
		return err_set(ret_error, r < 0 ? r : -EBADMSG, "cannot read the CA's key from %s", pair);
	buf_append(&key, both.data, (size_t)(end - both.data));
	join(key_path, dir, "key.pem");
	join(certificate_path, dir, "certificate.pem");
	r = key.failed ? -ENOMEM : trust_file_write(key_path, key.data, key.len, 0600, NULL, ret_error);
	if (r == 0)
		r = run_openssl(job, dir, true, key_path, certificate_path, ret_error);
	if (r == 0 && read_text(certificate_path, ret_certificate) < 0)
		r = err_set(ret_error, -EIO, "cannot read what openssl wrote");
	if (r == 0)
		r = store_pair(job, &key, ret_certificate, ret_error);
	explicit_bzero(both.data, both.len);
	explicit_bzero(key.data, key.len);
	return r;
}

/* The CA's folder is the proxy's by now: openssl works in one of ours, where nobody can put a link in its way. */
int trust_renew_ca(const struct trust_job *job, struct buf *ret_certificate, struct err *ret_error)
{
	char dir[512];
	int r;

	if (snprintf(dir, sizeof(dir), "%s/ca-XXXXXX", job->settings->run_dir) >= (int)sizeof(dir) || !mkdtemp(dir))
		return err_set(ret_error, -errno, "cannot make a folder in %s: %s", job->settings->run_dir, strerror(errno));
	r = renew_in(job, dir, ret_certificate, ret_error);
	(void)trust_remove_folder(dir);
	return r;
}
