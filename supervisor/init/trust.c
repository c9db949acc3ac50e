/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who believes the CA of this container start: the system's store, the bundle, a browser's database, the proxy files.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HELPER_TIMEOUT_S 30

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

static void store_path(const struct trust_job *job, char ret_path[static PATH_MAX])
{
	join(ret_path, job->settings->etc_dir, "ssl/certs/ca-certificates.crt");
}

/* Every certificate of a file that the system has not, byte for byte (an image that ran update-ca-certificates has it), and that was not added yet. */
static void add_roots(const char *path, const struct buf *system, struct buf *roots)
{
	_cleanup_buf_ struct buf file = { 0 };
	const char *begin, *rest;
	size_t len;

	/* The system's store may be what is named: our block in it holds the CA of before. */
	if (trust_file_without_block(path, &file) < 0 || !file.data)
		return;
	for (rest = file.data; (len = trust_find_certificate(rest, &begin)); rest = begin + len) {
		if ((system->len && memmem(system->data, system->len, begin, len)) || (roots->len && memmem(roots->data, roots->len, begin, len)))
			continue;
		buf_append(roots, begin, len);
		buf_char(roots, '\n');
	}
}

/* Roots that were put (or mounted) where Debian looks for them, without the slow run that would have added them. */
static void add_local_roots(const char *dir, const struct buf *system, struct buf *roots)
{
	DIR *folder = opendir(dir);
	const struct dirent *entry;
	char path[PATH_MAX];

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, ".crt") != 0)
			continue;
		join(path, dir, entry->d_name);
		add_roots(path, system, roots);
	}
	closedir(folder);
}

/* These replace a program's roots, so they name the bundle with everything in it … */
static const char *const bundle_names[] = { "SSL_CERT_FILE",	"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
					    "PIP_CERT", "CARGO_HTTP_CAINFO",  "AWS_CA_BUNDLE",  "NIX_SSL_CERT_FILE" };
/* … and these add to them. */
static const char *const extra_names[] = { "NODE_EXTRA_CA_CERTS", "DENO_CERT" };

/* The image's own such variables take ours for value; what the files they named made believed stays so. */
static void add_named_roots(const struct trust_job *job, const struct buf *system, struct buf *roots)
{
	const size_t nr = ARRAY_SIZE(bundle_names) + ARRAY_SIZE(extra_names);
	char ours[2][PATH_MAX];

	join(ours[0], job->settings->trust_dir, "");
	join(ours[1], job->settings->trust_spare_dir, "");
	for (size_t i = 0; i < nr; i++) {
		const char *name = i < ARRAY_SIZE(bundle_names) ? bundle_names[i] : extra_names[i - ARRAY_SIZE(bundle_names)];
		const char *path = getenv(name);

		/* One of an earlier start would bring its CA back. */
		if (path && *path == '/' && strncmp(path, ours[0], strlen(ours[0])) != 0 && strncmp(path, ours[1], strlen(ours[1])) != 0)
			add_roots(path, system, roots);
	}
}

/* What we have to say: the CA (last) and the bundle with everything in it. */
struct public {
	const struct buf *certificate;
	struct buf roots;	/* local roots and the CA: our block in the system's store */
	struct buf bundle;
};

static int compose(struct trust_job *job, const struct buf *certificate, struct public *ret)
{
	_cleanup_buf_ struct buf system = { 0 };
	char path[PATH_MAX];
	int r;

	store_path(job, path);
	r = trust_file_without_block(path, &system);
	if (r < 0 || !system.len)
		doubt(job->report, "there is no system certificate bundle (ca-certificates is not installed)");
	ret->certificate = certificate;
	add_local_roots(job->settings->local_ca_dir, &system, &ret->roots);
	add_named_roots(job, &system, &ret->roots);
	buf_append(&ret->roots, certificate->data, certificate->len);
	buf_append(&ret->bundle, system.data, system.len);
	if (system.len && system.data[system.len - 1] != '\n')
		buf_char(&ret->bundle, '\n');
	buf_append(&ret->bundle, ret->roots.data, ret->roots.len);
	return ret->roots.failed || ret->bundle.failed ? -ENOMEM : 0;
}

static int write_public(const char *dir, const struct public *p, struct err *ret_error)
{
	char path[PATH_MAX];
	int r = prepare_folder(dir, 0755, ret_error);

	if (r < 0)
		return r;
	join(path, dir, "ca.pem");
	r = trust_file_write(path, p->certificate->data, p->certificate->len, 0644, NULL, ret_error);
	if (r < 0)
		return r;
	join(path, dir, "bundle.pem");
	return trust_file_write(path, p->bundle.data, p->bundle.len, 0644, NULL, ret_error);
}

/* ca.pem and the merged bundle, beside the policy or, on a read-only root, in the spare folder. */
static int publish(struct trust_job *job, const struct public *p, struct err *ret_error)
{
	int r = write_public(job->settings->trust_dir, p, ret_error);

	if (r == 0)
		return 0;
	doubt(job->report, ret_error->text);
	job->report->spare_dir = true;
	return write_public(job->settings->trust_spare_dir, p, ret_error);
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
	if (trust_run_tool(argv, write_end) != 0)
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

static void append_to_store(struct trust_job *job, const struct public *p)
{
	struct err e = { 0 };
	char path[PATH_MAX];

	store_path(job, path);
	if (access(path, F_OK) < 0)
		return; /* said already */
	if (trust_file_block(path, p->roots.data, &e) < 0 || link_by_hash(job, &e) < 0)
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
	struct public p = { 0 };
	struct err e = { 0 };
	int r;

	alarm(HELPER_TIMEOUT_S);
	umask(077);
	r = job->renew ? trust_renew_ca(job, &certificate, &e) : trust_make_ca(job, &certificate, &e);
	if (r == 0 && compose(job, &certificate, &p) < 0)
		r = err_set(&e, -ENOMEM, "out of memory");
	if (r == 0)
		r = publish(job, &p, &e);
	if (r == 0) {
		append_to_store(job, &p);
		if (!job->renew)
			write_proxy_files(job);
		job->report->expires = time(NULL) + CA_DAYS * 86400;
	} else {
		snprintf(job->report->why, sizeof(job->report->why), "%.399s", e.text);
	}
	buf_free(&p.roots);
	buf_free(&p.bundle);
	return r == 0 ? 0 : 1;
}

static const char *lowest(const char *first, const char *second)
{
	const char *value = getenv(first);

	return value && *value ? value : getenv(second);
}

/* Ours first; what the image leaves to other ways stays left to them. */
static void put_no_proxy(struct buf *text)
{
	static const char own[] = "localhost,127.0.0.1,::1";
	const char *theirs = lowest("no_proxy", "NO_PROXY");
	const bool more = theirs && strcmp(theirs, own) != 0 && !strpbrk(theirs, "\r\n");

	for (int i = 0; i < 2; i++)
		buf_format(text, "%s%s=%s%s%s", i ? "\n" : "", i ? "NO_PROXY" : "no_proxy", own, more ? "," : "", more ? theirs : "");
}

char *trust_environment(const char *dir, uint16_t port)
{
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY" };
	struct buf text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		buf_format(&text, "%s=http://127.0.0.1:%u\n", proxies[i], port);
	for (size_t i = 0; i < ARRAY_SIZE(bundle_names); i++)
		buf_format(&text, "%s=%s/bundle.pem\n", bundle_names[i], dir);
	/* Where the image added others, all of them; else the CA alone, which is read sooner. */
	for (size_t i = 0; i < ARRAY_SIZE(extra_names); i++)
		buf_format(&text, "%s=%s/%s\n", extra_names[i], dir, getenv(extra_names[i]) ? "bundle.pem" : "ca.pem");
	buf_text(&text, "NODE_USE_ENV_PROXY=1\n"); /* without it Node reads none of the above; before 22.21 it does not know it */
	put_no_proxy(&text);
	if (text.failed) {
		buf_free(&text);
		return NULL;
	}
	return text.data;
}
