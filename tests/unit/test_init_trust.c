/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA for real: openssl makes it, openssl and curl believe it, mitmproxy (where installed) signs with it and the probe tells it from
 * another. Everything is in a folder of our own that stands for /etc and /run.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], etc[80], ca[80], trust[80], spare[80], local[80], store[128];
static struct trust_report *report;
static struct init_settings settings;

#define NOBODY 65534

static int shell(const char *format, ...)
{
	char command[4096];
	va_list arguments;
	int status;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_text(const char *path, struct buf *ret_text)
{
	assert_int_equal(io_read_file(AT_FDCWD, path, 10000000, ret_text), 0);
}

static unsigned count(const char *path, const char *text)
{
	_cleanup_buf_ struct buf content = { 0 };
	unsigned nr = 0;

	read_text(path, &content);
	for (const char *at = content.data; (at = strstr(at, text)); at++)
		nr++;
	return nr;
}

static int set_up(void **state)
{
	static const char *const machines[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
						"AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT", "no_proxy", "NO_PROXY" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		unsetenv(machines[i]);
	snprintf(dir, sizeof(dir), "/tmp/cordon-trust-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(etc, sizeof(etc), "%s/etc", dir);
	snprintf(ca, sizeof(ca), "%s/ca", dir);
	snprintf(trust, sizeof(trust), "%s/trust", dir);
	snprintf(spare, sizeof(spare), "%s/spare", dir);
	snprintf(local, sizeof(local), "%s/local", dir);
	snprintf(store, sizeof(store), "%s/ssl/certs/ca-certificates.crt", etc);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	settings = (struct init_settings){ .run_dir = dir, .ca_dir = ca, .trust_dir = trust, .trust_spare_dir = spare, .local_ca_dir = local, .etc_dir = etc };
	/* A store with one certificate of somebody else, as the image has it. */
	return shell("chmod 755 %s; mkdir -p %s/ssl/certs %s/profile.d && echo 'ORIGINAL=1' >%s/environment && cd %s && "
		     "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Other -keyout other.key -out %s 2>/dev/null",
		     dir, etc, etc, etc, dir, store);
}

static int tear_down(void **state)
{
	(void)state;
	munmap(report, sizeof(*report));
	return shell("rm -rf %s", dir);
}

static int run_helper(const char *short_id, uint16_t port, bool renew)
{
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = 2, .channel_fd = -1 };
	struct trust_job job = { .settings = &settings,
				 .short_id = short_id,
				 .owner = { .uid = NOBODY, .gid = NOBODY, .groups = { NOBODY }, .nr_groups = 1 },
				 .renew = renew,
				 .port = port,
				 .report = report };
	pid_t pid;
	int status;

	memset(report, 0, sizeof(*report));
	pid = spawn_function(&spawn, trust_run, &job);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_trust(const char *short_id, uint16_t port)
{
	return run_helper(short_id, port, false);
}

static void the_key_is_the_proxys_alone_and_the_store_believes_the_ca(void **state)
{
	char path[200];
	struct stat st;

	(void)state;
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_false(report->degraded);
	assert_int_equal(stat(ca, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_uid, NOBODY);
	snprintf(path, sizeof(path), "%s/mitmproxy-ca.pem", ca);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(count(path, "PRIVATE KEY"), 2);
	/* No other copy of the key anywhere. */
	assert_int_equal(shell("test $(grep -rl 'PRIVATE KEY' %s --include='*' | grep -v other.key | wc -l) = 1", dir), 0);
	assert_int_equal(shell("openssl x509 -in %s/ca.pem -noout -text | grep -q 'ASN1 OID: prime256v1'", trust), 0);
	assert_int_equal(shell("openssl x509 -in %s/ca.pem -noout -text | grep -q 'CA:TRUE'", trust), 0);
	assert_int_equal(shell("openssl x509 -in %s/ca.pem -noout -subject | grep -q 'CN = Cordon CA aaaaaaaa'", trust), 0);
	assert_int_equal(shell("openssl x509 -in %s/ca.pem -noout -checkend 86400 >/dev/null", trust), 0);
	assert_int_not_equal(shell("openssl x509 -in %s/ca.pem -noout -checkend 259200 >/dev/null", trust), 0);
	assert_int_equal(shell("openssl verify -no-CApath -CAfile %s %s/ca.pem >/dev/null 2>&1", store, trust), 0);
	assert_int_equal(shell("openssl verify -no-CAfile -CApath %s/ssl/certs %s/ca.pem >/dev/null 2>&1", etc, trust), 0);
	assert_int_equal(shell("openssl verify -no-CApath -CAfile %s/bundle.pem %s/ca.pem >/dev/null 2>&1", trust, trust), 0);
	snprintf(path, sizeof(path), "%s/bundle.pem", trust);
	assert_int_equal(count(path, "BEGIN CERTIFICATE"), 2);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(stat(store, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
}

static void a_second_start_replaces_the_first_ones_ca_everywhere(void **state)
{
	char path[200];

	(void)state;
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_int_equal(shell("cp %s/ca.pem %s/first.pem", trust, dir), 0);
	assert_int_equal(run_trust("bbbbbbbb", 48081), 0);
	assert_false(report->degraded);
	assert_int_equal(count(store, "BEGIN CERTIFICATE"), 2);
	assert_int_not_equal(shell("openssl verify -no-CApath -CAfile %s %s/first.pem >/dev/null 2>&1", store, dir), 0);
	assert_int_equal(shell("openssl verify -no-CApath -CAfile %s %s/ca.pem >/dev/null 2>&1", store, trust), 0);
	assert_int_equal(shell("test $(ls %s/ssl/certs/*.0 | wc -l) = 1", etc), 0);
	snprintf(path, sizeof(path), "%s/environment", etc);
	assert_int_equal(count(path, "ORIGINAL=1"), 1);
	assert_int_equal(count(path, "48080"), 0);
	assert_int_equal(count(path, "\nhttps_proxy=http://127.0.0.1:48081\n"), 1);
	snprintf(path, sizeof(path), "%s/wgetrc", etc);
	assert_int_equal(count(path, "https_proxy = http://127.0.0.1:48081"), 1);
	assert_int_equal(shell(". %s/profile.d/proxy.sh && test \"$CURL_CA_BUNDLE\" = %s/bundle.pem", etc, trust), 0);
}

/* What the proxy signed before is good under the new certificate, and what it signs after under the old one. */
static void a_renewed_certificate_has_the_key_of_before(void **state)
{
	struct stat st;
	char path[200];

	(void)state;
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_int_equal(shell("cp %s/ca.pem %s/first.pem && cp %s/mitmproxy-ca.pem %s/pair.pem", trust, dir, ca, dir), 0);
	/* The folder is the proxy's, who might put links where something is going to be written. */
	assert_int_equal(shell("echo precious >%s/precious; for n in key.pem certificate.pem openssl.cnf mitmproxy-ca.pem.cordon-new; do ln -s %s/precious %s/$n; done",
			       dir, dir, ca),
			 0);
	assert_int_equal(run_helper("aaaaaaaa", 48080, true), 0);
	assert_false(report->degraded);
	assert_int_equal(shell("test \"$(cat %s/precious)\" = precious", dir), 0);
	assert_int_not_equal(shell("cmp -s %s/ca.pem %s/first.pem", trust, dir), 0);
	assert_int_equal(shell("cd %s && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=leaf -keyout l.key -out l.csr 2>/dev/null && "
			       "openssl x509 -req -in l.csr -CA first.pem -CAkey pair.pem -CAcreateserial -days 1 -out leaf.pem 2>/dev/null && "
			       "for ca in first.pem %s/ca.pem %s; do openssl verify -no-CApath -CAfile $ca leaf.pem >/dev/null || exit 1; done",
			       dir, trust, store),
			 0);
	assert_int_equal(count(store, "BEGIN CERTIFICATE"), 2);
	snprintf(path, sizeof(path), "%s/mitmproxy-ca.pem", ca);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(shell("test -z \"$(ls -d %s/ca-* 2>/dev/null)\"", dir), 0);
	assert_true(report->expires > time(NULL) + 86400);
}

/* Root does not run, nor change by name, what somebody else could put in its way. */
static void a_java_that_others_can_write_is_left_alone(void **state)
{
	struct trust_job job = { .settings = &settings, .port = 1, .report = report };
	struct trust_client client = { 0 };
	char home[100], certificate[100];

	(void)state;
	snprintf(home, sizeof(home), "%s/java", dir);
	snprintf(certificate, sizeof(certificate), "%s/other.pem", dir);
	assert_int_equal(shell("mkdir -p %s/bin %s/lib/security %s/conf && cd %s && printf '#!/bin/sh\ntouch %s/ran\n' >bin/keytool && chmod 755 bin/keytool && "
			       "cp bin/keytool bin/java && echo store >lib/security/cacerts && echo a=b >conf/net.properties && chmod 777 lib/security",
			       home, home, home, home, dir),
			 0);
	setenv("JAVA_HOME", home, 1);
	assert_int_equal(trust_java(&job, certificate, &client), 0);
	assert_true(client.degraded);
	assert_non_null(strstr(client.why, "left alone"));
	assert_int_equal(shell("test ! -e %s/ran && test \"$(cat %s/lib/security/cacerts)\" = store", dir, home), 0);
	/* One that is root's is tried; what its keytool does not do is said. */
	assert_int_equal(shell("chmod 755 %s/lib/security", home), 0);
	client = (struct trust_client){ 0 };
	assert_int_equal(trust_java(&job, certificate, &client), 0);
	assert_non_null(strstr(client.why, "did not take the CA"));
	assert_int_equal(shell("test -e %s/ran && test \"$(ls %s/lib/security)\" = cacerts && test \"$(cat %s/lib/security/cacerts)\" = store", dir, home, home), 0);
	unsetenv("JAVA_HOME");
}

static void local_roots_are_believed_once(void **state)
{
	(void)state;
	/* One that is new, the one the store has already, and a file that is none. */
	assert_int_equal(shell("mkdir %s && cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Local -keyout %s/l.key "
			       "-out new.crt 2>/dev/null && cp %s old.crt && echo nothing >none.crt && cp new.crt not-named-so",
			       local, local, dir, store),
			 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
		assert_int_equal(count(store, "BEGIN CERTIFICATE"), 3);
		assert_int_equal(shell("openssl verify -no-CApath -CAfile %s %s/new.crt >/dev/null 2>&1", store, local), 0);
		assert_int_equal(shell("openssl verify -no-CApath -CAfile %s/bundle.pem %s/new.crt >/dev/null 2>&1", trust, local), 0);
	}
	assert_int_equal(shell("rm %s/new.crt", local), 0);
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_int_equal(count(store, "BEGIN CERTIFICATE"), 2);
}

static void what_an_earlier_proxy_left_in_its_folder_is_not_followed(void **state)
{
	char path[200];

	(void)state;
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_int_equal(shell("echo precious >%s/precious; ln -sf %s/precious %s/key.pem; ln -sf %s/precious %s/mitmproxy-ca.pem.cordon-new",
			       dir, dir, ca, dir, ca),
			 0);
	assert_int_equal(run_trust("bbbbbbbb", 48080), 0);
	snprintf(path, sizeof(path), "%s/precious", dir);
	assert_int_equal(count(path, "precious\n"), 1);
	/* And a link in place of the folder is refused. */
	assert_int_equal(shell("rm -rf %s && mkdir %s/elsewhere && ln -s %s/elsewhere %s", ca, dir, dir, ca), 0);
	assert_int_equal(run_trust("cccccccc", 48080), 1);
	assert_non_null(strstr(report->why, "cannot replace folder"));
	assert_int_equal(shell("test -z \"$(ls -A %s/elsewhere)\"", dir), 0);
}

static void a_read_only_root_is_degraded_and_the_bundle_goes_to_the_spare_folder(void **state)
{
	char proc_path[128];

	(void)state;
	/* A file where the trust folder should be, and /proc for /etc: neither can be written, also by root. */
	assert_int_equal(shell("echo >%s", trust), 0);
	snprintf(proc_path, sizeof(proc_path), "/proc/self");
	settings.etc_dir = proc_path;
	assert_int_equal(run_trust("aaaaaaaa", 48080), 0);
	assert_true(report->degraded);
	assert_true(report->spare_dir);
	assert_non_null(strstr(report->why, "must be a folder"));
	assert_int_equal(shell("openssl verify -no-CApath -CAfile %s/bundle.pem %s/ca.pem >/dev/null 2>&1", spare, spare), 0);
}

static void the_environment_names_the_proxy_the_bundle_and_the_ca(void **state)
{
	_cleanup_free_ char *text = trust_environment("/t", 99);

	(void)state;
	assert_non_null(strstr(text, "https_proxy=http://127.0.0.1:99\n"));
	assert_non_null(strstr(text, "ALL_PROXY=http://127.0.0.1:99\n"));
	assert_non_null(strstr(text, "\nSSL_CERT_FILE=/t/bundle.pem\n"));
	assert_non_null(strstr(text, "\nREQUESTS_CA_BUNDLE=/t/bundle.pem\n"));
	assert_non_null(strstr(text, "\nNODE_EXTRA_CA_CERTS=/t/ca.pem\n"));
	assert_string_equal(text + strlen(text) - strlen("NO_PROXY=localhost,127.0.0.1,::1"), "NO_PROXY=localhost,127.0.0.1,::1");
}

static void what_the_image_believes_and_leaves_alone_stays_so(void **state)
{
	_cleanup_free_ char *text = NULL;
	char path[200];

	(void)state;
	/* Two roots in one file, and the system's own store, which holds the CA of an earlier start in our block. */
	assert_int_equal(shell("cd %s && for n in one two; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$n -keyout k -out $n.pem "
			       "2>/dev/null; done && cat one.pem two.pem >named.pem", dir),
			 0);
	snprintf(path, sizeof(path), "%s/named.pem", dir);
	setenv("REQUESTS_CA_BUNDLE", path, 1);
	setenv("SSL_CERT_FILE", store, 1);
	setenv("NODE_EXTRA_CA_CERTS", path, 1);
	setenv("NO_PROXY", "intern.test,10.0.0.1", 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_trust(i ? "bbbbbbbb" : "aaaaaaaa", 48080), 0);
		snprintf(path, sizeof(path), "%s/bundle.pem", trust);
		assert_int_equal(count(path, "BEGIN CERTIFICATE"), 4);
		assert_int_equal(shell("for n in one two; do openssl verify -no-CApath -CAfile %s %s/$n.pem >/dev/null || exit 1; done", path, dir), 0);
	}
	text = trust_environment("/t", 99);
	assert_non_null(strstr(text, "\nNODE_EXTRA_CA_CERTS=/t/bundle.pem\n"));
	assert_non_null(strstr(text, "\nNO_PROXY=localhost,127.0.0.1,::1,intern.test,10.0.0.1"));
	assert_non_null(strstr(text, "\nno_proxy=localhost,127.0.0.1,::1,intern.test,10.0.0.1\n"));
}

static int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* A helper program of the test, killed with its group. */
static pid_t start_shell(const char *format, ...)
{
	static char command[4096];
	va_list arguments;
	pid_t pid;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	pid = fork();
	if (pid == 0) {
		setsid();
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void stop_shell(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool becomes_ready(const struct probe *probe, char *ret_why, size_t why_bytes)
{
	for (int i = 0; i < 600; i++) {
		const struct timespec pause = { .tv_nsec = 50000000 };

		if (probe_once(probe, ret_why, why_bytes) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void mitmproxy_signs_with_our_ca_and_the_probe_knows_it_from_another(void **state)
{
	char ca_file[128], why[200] = "", other[128];
	int port = free_port(), target = free_port();
	struct probe probe = { .kind = PROBE_PROXY_CA, .port = (uint16_t)port, .ca_file = ca_file };
	pid_t proxy, server;

	(void)state;
	if (access("/usr/bin/mitmdump", X_OK) < 0)
		skip();
	snprintf(ca_file, sizeof(ca_file), "%s/mitmproxy-ca-cert.pem", ca);
	snprintf(other, sizeof(other), "%s/other.pem", dir);
	/* The target's certificate is signed by nobody the machine knows: it is added to the store, as an image would. */
	assert_int_equal(shell("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost "
			       "-addext subjectAltName=DNS:localhost -keyout target.key -out target.pem 2>/dev/null && cat target.pem >>%s && cp %s %s",
			       dir, store, store, other),
			 0);
	assert_int_equal(run_trust("aaaaaaaa", (uint16_t)port), 0);
	server = start_shell("cd %s && exec openssl s_server -quiet -accept 127.0.0.1:%d -cert target.pem -key target.key -www >/dev/null 2>&1", dir, target);
	proxy = start_shell("exec setpriv --reuid=%d --regid=%d --clear-groups env -i PATH=/usr/bin:/bin HOME=/nonexistent mitmdump --listen-host "
			    "127.0.0.1 --listen-port %d --set confdir=%s --set ssl_verify_upstream_trusted_ca=%s/bundle.pem -q >%s/proxy.log 2>&1",
			    NOBODY, NOBODY, port, ca, trust, dir);
	assert_true(becomes_ready(&probe, why, sizeof(why)));
	/* With our store alone the intercepted answer is believed; without our CA it is not. */
	assert_int_equal(shell("env -i PATH=/usr/bin:/bin https_proxy=http://127.0.0.1:%d curl -sS --max-time 20 --cacert %s https://localhost:%d/ | "
			       "grep 's_server' >/dev/null", port, store, target),
			 0);
	assert_int_equal(shell("env -i PATH=/usr/bin:/bin https_proxy=http://127.0.0.1:%d curl -sS --max-time 20 --cacert %s https://localhost:%d/ "
			       ">/dev/null 2>&1", port, other, target),
			 60);
	probe.ca_file = other;
	assert_int_equal(probe_once(&probe, why, sizeof(why)), -EAGAIN);
	assert_non_null(strstr(why, "signs with another CA"));
	stop_shell(proxy);
	stop_shell(server);
}

static void a_web_server_on_the_port_is_not_our_proxy(void **state)
{
	char why[200] = "", ca_file[128];
	int port = free_port();
	struct probe http = { .kind = PROBE_HTTP, .port = (uint16_t)port, .url = "http://127.0.0.1/" };
	struct probe proxy_ca = { .kind = PROBE_PROXY_CA, .port = (uint16_t)port, .ca_file = ca_file };
	struct probe bad = { .kind = PROBE_HTTP, .port = (uint16_t)port, .url = "ftp://127.0.0.1/" };
	pid_t server;

	(void)state;
	if (access("/usr/bin/python3", X_OK) < 0)
		skip();
	assert_int_equal(run_trust("aaaaaaaa", (uint16_t)port), 0);
	snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", trust);
	server = start_shell("cd %s && exec /usr/bin/python3 -m http.server --bind 127.0.0.1 %d >/dev/null 2>&1", etc, port);
	assert_true(becomes_ready(&http, why, sizeof(why)));
	assert_int_equal(probe_once(&proxy_ca, why, sizeof(why)), -EAGAIN);
	assert_non_null(strstr(why, "is not our proxy"));
	/* 404 is an answer, 501 is not. */
	http.url = "http://127.0.0.1/nothing-here";
	assert_int_equal(probe_once(&http, why, sizeof(why)), 0);
	http.url = "POST http://127.0.0.1/";
	assert_int_equal(probe_once(&http, why, sizeof(why)), -EAGAIN);
	assert_non_null(strstr(why, "501"));
	assert_int_equal(probe_once(&bad, why, sizeof(why)), -EINVAL);
	stop_shell(server);
	assert_int_equal(probe_once(&http, why, sizeof(why)), -ECONNREFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_key_is_the_proxys_alone_and_the_store_believes_the_ca, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_second_start_replaces_the_first_ones_ca_everywhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_renewed_certificate_has_the_key_of_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_java_that_others_can_write_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(local_roots_are_believed_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_an_earlier_proxy_left_in_its_folder_is_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_read_only_root_is_degraded_and_the_bundle_goes_to_the_spare_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_environment_names_the_proxy_the_bundle_and_the_ca, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_image_believes_and_leaves_alone_stays_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mitmproxy_signs_with_our_ca_and_the_probe_knows_it_from_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_web_server_on_the_port_is_not_our_proxy, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
