/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA of this container start: made by openssl, readable by the proxy alone, believed by everything in the container.
 *
 * Everything here runs in forked helpers. The full update-ca-certificates takes 5 to 12 s; appending to the bundle
 * and one hash link take a few milliseconds and convince the same programs. What reads neither gets the environment.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CA_DAYS "2"
#define HELPER_TIMEOUT_S 30
#define CERTIFICATE_LIMIT_BYTES 65536

static void doubt(struct trust_report *report, const char *text)
{
	size_t len = strlen(report->why);

	report->degraded = true;
	snprintf(report->why + len, sizeof(report->why) - len, "%s%s", len ? "; " : "", text);
}

static void join(char ret_path[static PATH_MAX], const char *dir, const char *name)
{
	snprintf(ret_path, PATH_MAX, "%s/%s", dir, name);
}

/* A tool of the image with a clean environment. out_fd -1: its output goes nowhere. Returns its exit code or -errno. */
static int run_tool(char *const *argv, int out_fd)
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
	int r = io_read_file(AT_FDCWD, path, CERTIFICATE_LIMIT_BYTES, ret_text);

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
	r = run_tool(argv, -1);
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

static int make_ca(const struct trust_job *job, struct buf *ret_certificate, struct err *ret_error)
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
	(void)unlink(key_path);
	(void)unlink(certificate_path);
	/* Only now is the folder the proxy's: no file was written by root into a folder of somebody else. */
	if (r == 0 && geteuid() == 0 && chown(dir, job->owner.uid, job->owner.gid) < 0)
		r = err_set(ret_error, -errno, "cannot give %s to the proxy: %s", dir, strerror(errno));
	return r;
}

/* ---- who believes it ---- */

static void store_path(const struct trust_job *job, char ret_path[static PATH_MAX])
{
	join(ret_path, job->settings->etc_dir, "ssl/certs/ca-certificates.crt");
}

static int write_public(const struct trust_job *job, const char *dir, const struct buf *certificate, const struct buf *system,
			struct err *ret_error)
{
	_cleanup_buf_ struct buf bundle = { 0 };
	char path[PATH_MAX];
	int r = prepare_folder(dir, 0755, ret_error);

	(void)job;
	if (r < 0)
		return r;
	join(path, dir, "ca.pem");
	r = trust_file_write(path, certificate->data, certificate->len, 0644, NULL, ret_error);
	if (r < 0)
		return r;
	buf_append(&bundle, system->data, system->len);
	if (bundle.len && bundle.data[bundle.len - 1] != '\n')
		buf_char(&bundle, '\n');
	buf_append(&bundle, certificate->data, certificate->len);
	if (bundle.failed)
		return err_set(ret_error, -ENOMEM, "out of memory");
	join(path, dir, "bundle.pem");
	return trust_file_write(path, bundle.data, bundle.len, 0644, NULL, ret_error);
}

/* ca.pem and the merged bundle, beside the policy or, on a read-only root, in the spare folder. */
static int publish(struct trust_job *job, const struct buf *certificate, struct err *ret_error)
{
	_cleanup_buf_ struct buf system = { 0 };
	char path[PATH_MAX];
	int r;

	store_path(job, path);
	r = trust_file_without_block(path, &system);
	if (r < 0 || !system.len)
		doubt(job->report, "there is no system certificate bundle (ca-certificates is not installed)");
	r = write_public(job, job->settings->trust_dir, certificate, &system, ret_error);
	if (r < 0) {
		doubt(job->report, ret_error->text);
		job->report->spare_dir = true;
		r = write_public(job, job->settings->trust_spare_dir, certificate, &system, ret_error);
	}
	return r;
}

/* Links an earlier start made: they would name a CA that is gone. */
static void remove_old_links(const char *certs_dir, const char *target)
{
	const struct dirent *entry;
	DIR *folder = opendir(certs_dir);

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		char link[PATH_MAX];
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link));

		if (len == (ssize_t)strlen(target) && memcmp(link, target, (size_t)len) == 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	}
	closedir(folder);
}

static int read_subject_hash(const char *certificate_path, char ret_hash[static 16])
{
	char *const argv[] = { "openssl", "x509", "-noout", "-hash", "-in", (char *)(uintptr_t)certificate_path, NULL };
	_cleanup_close_ int read_end = -1, write_end = -1;
	ssize_t len;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	read_end = ends[0];
	write_end = ends[1];
	if (run_tool(argv, write_end) != 0)
		return -EIO;
	len = read(read_end, ret_hash, 8);
	if (len != 8 || strspn(ret_hash, "0123456789abcdef") < 8)
		return -EIO;
	ret_hash[8] = '\0';
	return 0;
}

/* What OpenSSL finds certificates by when it is given the folder instead of the bundle. */
static int link_by_hash(const struct trust_job *job, struct err *ret_error)
{
	char certs_dir[PATH_MAX], target[PATH_MAX], link[PATH_MAX + 32], hash[16] = "";
	int r;

	join(certs_dir, job->settings->etc_dir, "ssl/certs");
	join(target, job->report->spare_dir ? job->settings->trust_spare_dir : job->settings->trust_dir, "ca.pem");
	remove_old_links(certs_dir, target);
	r = read_subject_hash(target, hash);
	if (r < 0)
		return err_set(ret_error, r, "openssl x509 -hash failed");
	snprintf(link, sizeof(link), "%s/%s.0", certs_dir, hash);
	if (symlink(target, link) < 0 && errno != EEXIST)
		return err_set(ret_error, -errno, "cannot make %s: %s", link, strerror(errno));
	return 0;
}

static void append_to_store(struct trust_job *job, const struct buf *certificate)
{
	struct err e = { 0 };
	char path[PATH_MAX];

	store_path(job, path);
	if (access(path, F_OK) < 0)
		return; /* said already */
	if (trust_file_block(path, certificate->data, &e) < 0 || link_by_hash(job, &e) < 0)
		doubt(job->report, e.text);
}

/* A courtesy for people and login shells; launches get the variables directly. The same files as Strix's image has. */
static void write_proxy_files(struct trust_job *job)
{
	const char *dir = job->report->spare_dir ? job->settings->trust_spare_dir : job->settings->trust_dir;
	_cleanup_free_ char *environment = trust_environment(dir, job->port);
	_cleanup_buf_ struct buf profile = { 0 }, plain = { 0 }, wget = { 0 };
	const struct {
		const char *name;
		const struct buf *content;
	} files[] = { { "profile.d/proxy.sh", &profile }, { "environment", &plain }, { "wgetrc", &wget } };
	char *rest = environment, *line, path[PATH_MAX];
	struct err e = { 0 };

	while (rest && (line = strsep(&rest, "\n"))) {
		buf_format(&profile, "export %s\n", line);
		buf_format(&plain, "%s\n", line);
	}
	buf_format(&wget, "use_proxy = on\nhttp_proxy = http://127.0.0.1:%u\nhttps_proxy = http://127.0.0.1:%u\n", job->port, job->port);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		join(path, job->settings->etc_dir, files[i].name);
		if (files[i].content->failed || trust_file_block(path, files[i].content->data, &e) < 0)
			doubt(job->report, e.text);
	}
}

int trust_run(void *argument)
{
	struct trust_job *job = argument;
	_cleanup_buf_ struct buf certificate = { 0 };
	struct err e = { 0 };

	alarm(HELPER_TIMEOUT_S);
	umask(077);
	if (make_ca(job, &certificate, &e) < 0 || publish(job, &certificate, &e) < 0) {
		snprintf(job->report->why, sizeof(job->report->why), "%.399s", e.text);
		return 1;
	}
	append_to_store(job, &certificate);
	write_proxy_files(job);
	return 0;
}

char *trust_environment(const char *dir, uint16_t port)
{
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY" };
	/* These replace a program's roots, so they name the bundle with everything in it … */
	static const char *const bundles[] = { "SSL_CERT_FILE",	    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
					       "PIP_CERT", "CARGO_HTTP_CAINFO",  "AWS_CA_BUNDLE",  "NIX_SSL_CERT_FILE" };
	/* … and these add to them. */
	static const char *const certificates[] = { "NODE_EXTRA_CA_CERTS", "DENO_CERT" };
	struct buf text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		buf_format(&text, "%s=http://127.0.0.1:%u\n", proxies[i], port);
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++)
		buf_format(&text, "%s=%s/bundle.pem\n", bundles[i], dir);
	for (size_t i = 0; i < ARRAY_SIZE(certificates); i++)
		buf_format(&text, "%s=%s/ca.pem\n", certificates[i], dir);
	buf_text(&text, "no_proxy=localhost,127.0.0.1,::1\nNO_PROXY=localhost,127.0.0.1,::1");
	if (text.failed) {
		buf_free(&text);
		return NULL;
	}
	return text.data;
}

int trust_run_browser(void *argument)
{
	struct trust_browser_job *job = argument;
	char database[PATH_MAX], folder[PATH_MAX], certificate[PATH_MAX];
	char *const create[] = { "certutil", "-N", "-d", database, "--empty-password", NULL };
	char *const forget[] = { "certutil", "-D", "-d", database, "-n", "Cordon CA", NULL };
	char *const add[] = { "certutil", "-A", "-d", database, "-n", "Cordon CA", "-t", "C,,", "-i", certificate, NULL };

	alarm(HELPER_TIMEOUT_S);
	umask(077);
	join(folder, job->home, ".pki");
	(void)mkdir(folder, 0700);
	join(folder, job->home, ".pki/nssdb");
	(void)mkdir(folder, 0700);
	snprintf(database, sizeof(database), "sql:%.4000s", folder);
	join(certificate, job->trust_dir, "ca.pem");
	join(folder, job->home, ".pki/nssdb/cert9.db");
	if (access(folder, F_OK) < 0 && run_tool(create, -1) != 0)
		return 1;
	(void)run_tool(forget, -1);
	return run_tool(add, -1) == 0 ? 0 : 1;
}
