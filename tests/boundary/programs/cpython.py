# SPDX-License-Identifier: Apache-2.0
# needs: python3
"""CPython's own test suite, the modules that meet the kernel: prints the outcome of every test, sorted. As cpython_slow.py
and cpython_processes.py: the ones that take minutes."""
import concurrent.futures
import glob
import os
import subprocess
import sys
import unittest

QUICK = """test_os test_posix test_fcntl test_epoll test_shutil test_tempfile test_pathlib test_fileio test_pty test_resource""".split()
SLOW = """test_subprocess test_signal test_threading test_multiprocessing_main_handling test_socket test_selectors test_select test_poll test_mmap test_tarfile
test_zipfile test_import test_faulthandler test_stat test_posixpath test_ssl test_io test_file test_glob test_openpty test_fork1 test_wait3 test_wait4 test_popen
test_ftplib test_httplib test_httpservers test_urllib2_localnet test_xmlrpc test_smtplib test_poplib test_imaplib test_telnetlib test_asyncore test_asynchat test_venv
test_ensurepip test_cmd_line test_cmd_line_script test_script_helper test_site test_sysconfig test_runpy test_zipimport test_py_compile test_compileall
test_dbm test_dbm_gnu test_sqlite3 test_mailbox test_logging test_ctypes test_uuid test_time test_timeout test_thread test_threadsignals test_eintr test_bdb test_pdb
test_readline test_curses test_termios test_tty test_getpass test_pwd test_grp test_platform test_locale test_unicode_file""".split()
PROCESSES = """test_concurrent_futures test_asyncio test_multiprocessing_fork test_multiprocessing_spawn test_multiprocessing_forkserver""".split()

# What differs, and why. Nothing else may.
KNOWN = {
    "test.test_signal.StressTest.test_stress_delivery_simultaneous": "kill(2) gets EINTR when another signal arrives before the supervisor has received it",
}


class Outcomes(unittest.TestResult):
    def say(self, test, outcome):
        if not any(test.id().startswith(known) for known in KNOWN):
            print("@@", test.id(), outcome, flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addError(self, test, error):
        self.say(test, "error")
        print(self._exc_info_to_string(error, test), file=sys.stderr)

    def addFailure(self, test, error):
        self.addError(test, error)

    def addSkip(self, test, reason):
        self.say(test, "skipped")

    def addExpectedFailure(self, test, error):
        self.say(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        self.say(test, "unexpected success")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addError(test, error)


def run_module(name):
    from test import support
    support.use_resources = {"subprocess": None, "cpu": None, "walltime": None}
    sys.path[0] = os.getcwd()
    unittest.TestLoader().loadTestsFromModule(__import__("test." + name, fromlist=["*"])).run(Outcomes())
    print("@@", name, "complete", flush=True)
    os._exit(0)


def start_module(name):
    os.mkdir(name)
    done = subprocess.run([sys.executable, os.path.abspath(__file__), name], cwd=name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=550, errors="replace")
    return [line for line in done.stdout.splitlines() if line.startswith("@@")] + (
        [] if f"@@ {name} complete" in done.stdout else [f"@@ {name} ended with {done.returncode}"])


def main():
    if len(sys.argv) > 1:
        run_module(sys.argv[1])
    if not glob.glob(os.path.dirname(os.__file__) + "/test/test_os.py"):
        print("CPython's test suite is not installed (libpython3-testsuite)")
        sys.exit(77)
    modules = {"cpython_slow.py": SLOW, "cpython_processes.py": PROCESSES}.get(os.path.basename(sys.argv[0]), QUICK)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        print("\n".join(sorted(line for lines in pool.map(start_module, modules) for line in lines)))


if __name__ == "__main__":  # as processes that are spawned take it in again
    main()
