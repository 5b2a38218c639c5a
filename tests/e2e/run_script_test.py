"""scripts/run in a copy of the repository's folders, with the built programs and without its set-up and build.

Usage: run_script_test.py [unittest's arguments]
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

BIN = os.environ["SISAL_BIN"]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")


class RunScriptTest(unittest.TestCase):
    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="sisal-run-"))
        os.makedirs(self.path("scripts"))
        os.makedirs(self.path("build/release/bin"))
        for name in ("run", "first_session.sql"):
            shutil.copy(os.path.join(SCRIPTS, name), self.path("scripts"))
        for name in ("sisald", "sisal"):
            shutil.copy(os.path.join(BIN, name), self.path("build/release/bin"))
        self.write("scripts/setup", "exit 0")
        self.write("scripts/build", "exit 0")
        self.environment = dict(os.environ, SISAL_LISTEN="127.0.0.1:0", SISAL_HTTP_LISTEN="127.0.0.1:0")

    def tearDown(self):
        self.run_script("stop")
        shutil.rmtree(self.root)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(self.path(name), 0o755)

    def run_script(self, *arguments, folder=None, script=None, **environment):
        """Exit code, and both outputs as one text."""
        done = subprocess.run([script or self.path("scripts/run"), *arguments], cwd=folder or self.root, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              env=dict(self.environment, **environment))
        return done.returncode, done.stdout

    def stores(self):
        return sorted(name for name in os.listdir(self.path("build/run")) if name.startswith("data."))

    def sql(self, output, text):
        address = re.search(r"serves gRPC on (\S+)", output).group(1)
        done = subprocess.run([os.path.join(BIN, "sisal"), "-s", address, "--format", "csv", "-c", text], text=True,
                              capture_output=True, timeout=60)
        return done.stdout if done.returncode == 0 else done.stderr

    def test_a_run_begins_empty_and_leaves_one_store(self):
        code, out = self.run_script()
        self.assertEqual(code, 0, out)
        self.sql(out, "CREATE TABLE mine (a INTEGER PRIMARY KEY)")
        first = self.stores()
        code, out = self.run_script()
        self.assertEqual(code, 0, out)
        self.assertIn("removed the store of an earlier run, build/run/" + first[0], out)
        self.assertIn("its data lies in build/run/" + self.stores()[0], out)
        self.assertEqual(len(self.stores()), 1)
        self.assertIn("42P01", self.sql(out, "SELECT * FROM mine"))

    def test_again_goes_on_with_store_and_addresses(self):
        _, out = self.run_script()
        self.sql(out, "CREATE TABLE mine (a INTEGER PRIMARY KEY)")
        with open(self.path("build/run/pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        code, again = self.run_script("again", SISAL_LISTEN="", SISAL_HTTP_LISTEN="")
        self.assertEqual(code, 0, again)
        self.assertEqual(self.sql(out, "SELECT * FROM mine"), "a\n", "the address is the same")
        self.assertEqual(self.run_script("stop")[0], 0)
        self.assertIn("no server", self.run_script("stop")[1])
        self.assertEqual(len(self.stores()), 1)

    def test_from_elsewhere_the_paths_are_whole(self):
        link = self.path("link")
        os.symlink(self.path("scripts/run"), link)
        code, out = self.run_script(folder="/", script=link)
        self.assertEqual(code, 0, out)
        self.assertIn(f"try:  {self.root}/build/release/bin/sisal -s ", out)
        self.assertIn(f"its data lies in {self.root}/build/run/data.", out)

    def test_a_failed_start_keeps_the_last_store(self):
        self.run_script()
        before = self.stores()[0]
        code, out = self.run_script(SISAL_LISTEN="256.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn("sisald did not start", out)
        self.assertIn(before, self.stores())
        code, out = self.run_script("again")
        self.assertEqual(code, 0, out)
        self.assertIn(before, out)

    def test_taken_ports_and_wrong_addresses(self):
        _, out = self.run_script()
        taken = re.search(r"serves gRPC on (\S+)", out).group(1)
        os.unlink(self.path("build/run/pid"))  # the server is a stranger's now
        code, refused = self.run_script(SISAL_LISTEN=taken)
        self.assertEqual(code, 1)
        self.assertIn(f"port {taken.split(':')[1]} is in use by another program", refused)
        self.assertNotIn("run again", refused)
        code, refused = self.run_script("again", SISAL_LISTEN=taken)
        self.assertEqual(code, 1)
        self.assertIn("scripts/run again\n", refused)  # a bare run, as the hint once was, would remove the store
        self.assertEqual(self.run_script(SISAL_LISTEN="nowhere")[0], 2)
        with open(self.path("build/run/ready"), encoding="utf-8") as file:
            os.kill(int(re.search(r'"pid": *(\d+)', file.read()).group(1)), signal.SIGKILL)

    def test_two_at_once_and_an_interrupt_in_the_build(self):
        os.mkfifo(self.path("building"))
        self.write("scripts/build", "echo here > building; exec sleep 100")
        with subprocess.Popen([self.path("scripts/run")], env=self.environment, start_new_session=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
            with open(self.path("building"), encoding="utf-8") as fifo:
                fifo.read()
            code, out = self.run_script()
            self.assertEqual(code, 1)
            self.assertIn("another scripts/run is at work", out)
            os.killpg(first.pid, signal.SIGINT)
            self.assertNotEqual(first.wait(timeout=60), 0)
        self.assertEqual(self.stores(), [])
        self.write("scripts/build", "exit 0")
        code, out = self.run_script()
        self.assertEqual(code, 0, out)


if __name__ == "__main__":
    unittest.main(verbosity=1)
