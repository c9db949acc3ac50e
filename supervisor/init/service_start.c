/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a service's processes are started: its command line, its clean environment, its folder, its notification pipe, its prober.
 *
 * What a policy leaves open ({CA}, lists of the host's environment) is settled here, each time anew.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *value_of(const struct init *init, const char *name, size_t len, const struct service_run *s,
			    const struct user_identity *identity, char ret_port[static 8])
{
	static char bundle[PATH_MAX], p12[PATH_MAX];

	if (len == 2 && strncmp(name, "CA", len) == 0)
		return init->settings->ca_dir;
	if (len == 4 && strncmp(name, "HOME", len) == 0)
		return s->policy->data_dir ? s->policy->data_dir : identity->home;
	if (len == 4 && strncmp(name, "PORT", len) == 0) {
		snprintf(ret_port, 8, "%u", s->policy->port);
		return ret_port;
	}
	if (len == 3 && strncmp(name, "P12", len) == 0) {
		snprintf(p12, sizeof(p12), "%s/ca.p12", init->settings->ca_dir);
		return p12;
	}
	if (len == 6 && strncmp(name, "BUNDLE", len) == 0) {
		snprintf(bundle, sizeof(bundle), "%s/bundle.pem", trust_dir(init));
		return bundle;
	}
	return NULL;
}

/* {CA} {P12} {PORT} {HOME} {BUNDLE} become values; other braces stay as they are. Owned by the caller. */
static char *expand(const struct init *init, const char *word, const struct service_run *s, const struct user_identity *identity)
{
	struct buf out = { 0 };

	while (*word) {
		const char *end = *word == '{' ? strchr(word, '}') : NULL, *value = NULL;
		char port[8];

		if (end)
			value = value_of(init, word + 1, (size_t)(end - word - 1), s, identity, port);
		if (value) {
			buf_text(&out, value);
			word = end + 1;
		} else {
			buf_char(&out, *word++);
		}
	}
	if (out.failed) {
		buf_free(&out);
		return NULL;
	}
	return out.data ? out.data : strdup("");
}

static void words_free(char **words)
{
	if (!words)
		return;
	for (char **w = words; *w; w++)
		free(*w);
	free(words);
}

static char **expand_all(const struct init *init, const struct strings *words, size_t room, const struct service_run *s,
			 const struct user_identity *identity)
{
	char **out = calloc(words->nr + room + 1, sizeof(*out));

	for (size_t i = 0; out && i < words->nr; i++) {
		out[i] = expand(init, words->items[i], s, identity);
		if (!out[i]) {
			words_free(out);
			return NULL;
		}
	}
	return out;
}

static size_t count_elements(const struct service_repeats *repeats)
{
	size_t nr = 0;

	for (size_t i = 0; i < repeats->nr; i++) {
		const char *value = getenv(repeats->items[i].variable);

		for (nr += value != NULL; value && *value; value++)
			nr += *value == ',';
	}
	return nr;
}

/* "a, b" in the variable: OPTION a OPTION b. */
static int append_elements(char **words, const struct service_repeat *repeat)
{
	const char *value = getenv(repeat->variable);

	while (*words)
		words++;
	for (; value && *value; value += *value == ',') {
		size_t len;

		value += strspn(value, " ");
		len = strcspn(value, ", ");
		if (len) {
			words[0] = strdup(repeat->option);
			words[1] = strndup(value, len);
			if (!words[0] || !words[1])
				return -ENOMEM;
			words += 2;
		}
		value += strcspn(value, ",");
	}
	return 0;
}

static char **command_line(const struct init *init, const struct service_run *s, const struct user_identity *identity)
{
	const struct service_repeats *repeats = &s->policy->repeats;
	char **words = expand_all(init, &s->policy->command, 2 * count_elements(repeats), s, identity);

	for (size_t i = 0; words && i < repeats->nr; i++)
		if (append_elements(words, &repeats->items[i]) < 0) {
			words_free(words);
			return NULL;
		}
	return words;
}

/* A clean environment: nothing of the host's reaches a service unless its file says so. */
static char **environment_of(const struct init *init, const struct service_run *s, const struct user_identity *identity)
{
	const char *const own[][2] = {
		{ "HOME", s->policy->data_dir ? s->policy->data_dir : identity->home },
		{ "USER", identity->name },
		{ "LOGNAME", identity->name },
		{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "LANG", "C.UTF-8" },
		{ s->policy->probe == PROBE_NOTIFY ? "NOTIFY_FD" : NULL, NOTIFY_FD_TEXT },
	};
	char **env = expand_all(init, &s->policy->environment, ARRAY_SIZE(own), s, identity);

	for (size_t i = 0; env && i < ARRAY_SIZE(own) && own[i][0]; i++) {
		struct buf pair = { 0 };

		buf_format(&pair, "%s=%s", own[i][0], own[i][1]);
		if (pair.failed) {
			words_free(env);
			return NULL;
		}
		env[s->policy->environment.nr + i] = pair.data;
	}
	return env;
}

/* Without root there is only one user to be. */
int service_user(const struct init *init, const struct service_run *s, struct user_identity *ret_identity, struct err *ret_error)
{
	char number[16];
	int r = user_find(init->settings->etc_dir, s->policy->user, ret_identity, ret_error);

	if (geteuid() == 0 || (r == 0 && ret_identity->uid == geteuid()))
		return r;
	snprintf(number, sizeof(number), "%u", geteuid());
	return user_find(init->settings->etc_dir, number, ret_identity, ret_error);
}

int service_start_prober(struct init *init, struct service_run *s, bool alive, const struct user_identity *identity)
{
	static char ca_file[PATH_MAX];
	struct probe probe = {
		.kind = s->policy->probe,
		.port = s->policy->port,
		.owner = identity->uid,
		.url = s->policy->probe_url,
		.ca_file = ca_file,
		.timeout_ms = alive ? s->policy->alive_ms : 0,
		.report = s->report,
	};
	struct spawn spawn = { .identity = identity, .in_fd = -1, .out_fd = -1, .error_fd = -1, .channel_fd = -1, .no_new_privs = true };
	pid_t pid;

	snprintf(ca_file, sizeof(ca_file), "%s/mitmproxy-ca-cert.pem", init->settings->ca_dir);
	s->report->why[0] = '\0';
	pid = spawn_function(&spawn, alive ? probe_watch : probe_run, &probe);
	if (pid < 0)
		return pid;
	s->prober = pid;
	return 0;
}

/* The folder a service keeps its data in, and has for its home. Root's or nobody's yet becomes the service's; another user's is refused. */
static int prepare_data(const struct service_run *s, const struct user_identity *identity, struct err *ret_error)
{
	const char *path = s->policy->data_dir;
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = prepare_parents(path);

	if (r == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = -errno;
	fd = r == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (r == 0 && (fd < 0 || fstat(fd, &st) < 0))
		r = -errno;
	if (r == 0 && st.st_uid != identity->uid && st.st_uid != geteuid())
		return err_set(ret_error, -EPERM, "cannot use its data folder %s: it belongs to uid %u, not to %s", path, st.st_uid,
			       identity->name);
	if (r == 0 && st.st_uid != identity->uid && fchown(fd, identity->uid, identity->gid) < 0)
		r = -errno;
	if (r == 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		r = -errno;
	return r < 0 ? err_set(ret_error, r, "cannot use its data folder %s: %s", path, strerror(-r)) : 0;
}

/* A pipe whose write end becomes the service's descriptor 3. */
static int open_notification(struct init *init, struct service_run *s, int *ret_write_end)
{
	int ends[2], r;

	service_close_notification(s);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : init_watch(init, ends[0], EPOLLIN, TAG_NOTIFY, (size_t)(s - init->services));
	if (r < 0) {
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	s->notify_pipe = ends[0];
	*ret_write_end = ends[1];
	return 0;
}

void service_close_notification(struct service_run *s)
{
	if (s->notify_pipe >= 0)
		close(s->notify_pipe);
	s->notify_pipe = -1;
}

static int start_process(struct init *init, struct service_run *s, const struct user_identity *identity, struct err *ret_error)
{
	_cleanup_close_ int write_end = -1, notify_end = -1;
	struct spawn spawn = { .identity = identity, .in_fd = -1, .no_new_privs = true };
	char **argv = command_line(init, s, identity);
	char **env = environment_of(init, s, identity);
	int r = argv && env ? service_open_output(init, s, &write_end) : -ENOMEM;

	if (r == 0 && s->policy->probe == PROBE_NOTIFY)
		r = open_notification(init, s, &notify_end);
	if (r == 0) {
		spawn.argv = argv;
		spawn.envp = env;
		spawn.out_fd = spawn.error_fd = write_end;
		spawn.channel_fd = notify_end;
		r = spawn_program(&spawn);
	}
	words_free(argv);
	words_free(env);
	if (r < 0)
		return err_set(ret_error, r, "cannot start %s: %s", s->policy->command.items[0], strerror(-r));
	s->pid = r;
	return 0;
}

int service_start_processes(struct init *init, struct service_run *s, struct err *ret_error)
{
	struct user_identity identity;
	int r = service_user(init, s, &identity, ret_error);

	if (r == 0 && s->policy->data_dir)
		r = prepare_data(s, &identity, ret_error);
	if (r == 0)
		r = start_process(init, s, &identity, ret_error);
	if (r < 0 || s->policy->probe == PROBE_NONE || s->policy->probe == PROBE_NOTIFY)
		return r;
	r = service_start_prober(init, s, false, &identity);
	return r < 0 ? err_set(ret_error, r, "cannot start its probe: %s", strerror(-r)) : 0;
}
