/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java reads neither the system's bundle nor the proxy variables: it has a key store and a file of defaults of its own.
 *
 * Runs in the helper of trust_clients.c, since each keytool takes a second. The key store is changed in a copy, looked at, and put in place whole.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_LIMIT_BYTES (8u << 20)
#define ALIAS "cordon-ca"
#define STORE_PASSWORD "changeit"	/* of every cacerts: it is no secret */

/* The folder of the Java that is run by name, or that the image names: HOME/bin/java. */
static int find_home(char ret_home[static PATH_MAX])
{
	const char *named = getenv("JAVA_HOME");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bin/java", named && *named ? named : "/usr");
	if (!realpath(path, ret_home) && !realpath("/usr/bin/java", ret_home))
		return -ENOENT;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(ret_home, '/');

		if (!slash || slash == ret_home)
			return -ENOENT;
		*slash = '\0';
	}
	return 0;
}

static int copy_store(const char *path, char ret_copy[static PATH_MAX], struct trust_client *client)
{
	_cleanup_buf_ struct buf store = { 0 };
	struct err e = { 0 };
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		r = -errno;
	else
		r = io_read_file(AT_FDCWD, path, STORE_LIMIT_BYTES, &store);
	if (r == 0 && (snprintf(ret_copy, PATH_MAX, "%s.cordon-new.jks", path) >= PATH_MAX || store.failed))
		r = -ENOMEM;
	if (r == 0)
		r = trust_file_write(ret_copy, store.data, store.len, st.st_mode & 07777, NULL, &e);
	if (r < 0)
		snprintf(client->why, sizeof(client->why), "cannot copy Java's key store %.60s: %.100s", path, e.text[0] ? e.text : strerror(-r));
	return r;
}

/* Nobody else may have a hand in what root runs, or changes by name: every folder on the way is root's (or ours) alone. */
static bool is_safe(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	for (;;) {
		char *slash = strrchr(part, '/');

		if (lstat(part[0] ? part : "/", &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022 && !(st.st_mode & S_ISVTX) && !S_ISLNK(st.st_mode)))
			return false;
		if (!slash || !part[0])
			return true;
		*slash = '\0';
	}
}

static int install(const char *home, const char *store, const char *certificate, struct trust_client *client)
{
	char keytool[PATH_MAX], copy[PATH_MAX];
	char *const show[] = { keytool, "-exportcert", "-rfc", "-alias", ALIAS, "-keystore", copy, "-storepass", STORE_PASSWORD, NULL };
	char *const forget[] = { keytool, "-delete", "-alias", ALIAS, "-keystore", copy, "-storepass", STORE_PASSWORD, NULL };
	char *const add[] = { keytool, "-importcert", "-noprompt", "-trustcacerts", "-alias", ALIAS, "-file", (char *)(uintptr_t)certificate, "-keystore",
			      copy, "-storepass", STORE_PASSWORD, NULL };
	int r;

	if (snprintf(keytool, sizeof(keytool), "%s/bin/keytool", home) >= (int)sizeof(keytool) || access(keytool, X_OK) < 0) {
		snprintf(client->why, sizeof(client->why), "there is no keytool beside java: Java does not believe the CA");
		return -ENOENT;
	}
	if (!is_safe(keytool) || !is_safe(store)) {
		snprintf(client->why, sizeof(client->why), "others than root can write on the way to %.60s or %.60s: left alone", keytool, store);
		return -EPERM;
	}
	r = copy_store(store, copy, client);
	if (r < 0)
		return r;
	(void)trust_run_tool(forget, -1);
	if (trust_run_tool(add, -1) != 0 || !trust_tool_prints(show, certificate)) {
		snprintf(client->why, sizeof(client->why), "keytool did not take the CA into a copy of %.100s", store);
		r = -EIO;
	} else if (rename(copy, store) < 0) {
		r = -errno;
		snprintf(client->why, sizeof(client->why), "cannot replace %.100s: %s", store, strerror(-r));
	}
	(void)unlink(copy);
	return r;
}

/* Never in the way of loopback; "|" separates, and "*" stands for anything. */
static int write_defaults(const char *home, uint16_t port, struct trust_client *client)
{
	static const char *const places[] = { "conf", "lib" };
	char text[400], path[PATH_MAX];
	struct err e = { 0 };

	snprintf(text, sizeof(text),
		 "http.proxyHost=127.0.0.1\nhttp.proxyPort=%u\nhttps.proxyHost=127.0.0.1\nhttps.proxyPort=%u\n"
		 "http.nonProxyHosts=localhost|127.*|[::1]\n", port, port);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (snprintf(path, sizeof(path), "%s/%s/net.properties", home, places[i]) >= (int)sizeof(path) || access(path, F_OK) < 0)
			continue;
		if (trust_file_block(path, text, &e) == 0)
			return 0;
		snprintf(client->why, sizeof(client->why), "%.199s", e.text);
		return -EIO;
	}
	snprintf(client->why, sizeof(client->why), "there is no net.properties below %.100s: Java does not know the proxy", home);
	return -ENOENT;
}

int trust_java(const struct trust_job *job, const char *certificate, struct trust_client *client)
{
	char home[PATH_MAX], path[PATH_MAX + 32];
	_cleanup_free_ char *store = NULL;

	if (find_home(home) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/lib/security/cacerts", home);
	store = realpath(path, NULL);
	if (!store)
		snprintf(client->why, sizeof(client->why), "Java in %.100s has no key store", home);
	client->degraded = !store || install(home, store, certificate, client) < 0 || write_defaults(home, job->port, client) < 0;
	return 0;
}
