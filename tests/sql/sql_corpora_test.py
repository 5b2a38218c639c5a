"""Runs public SQL logic tests from ../shared/corpora against a real sisald.

The corpora are data beside the repository; where they are not there, this says so loudly and the test is skipped (exit
code 77). Each set has a floor in floors.json: how many records passed when it was last raised. Fewer is a failure; more
prints a reminder to raise it. Records that fail are features we lack or bugs; the summary prints the counts.

Usage: sql_corpora_test.py [--long]
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "python"))
from sisal_server import Server  # noqa: E402

CORPORA = os.environ.get("SISAL_CORPORA", os.path.join(REPOSITORY, "..", "shared", "corpora"))
SETS = [
    ("sqllogictest/select1.test", []),
    ("sqllogictest/select3.test", []),
    ("sqllogictest/evidence", []),
    ("sqllogictest/index", ["--every", "10"]),
    ("sqllogictest/random", ["--every", "10"]),
    ("risingwave", []),
    ("pg-regress", []),
]


def run_set(server, name, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [sys.executable, os.path.join(CORPORA, "tools", "slt.py"), "--connect",
             os.path.join(HERE, "slt_sisal.py") + ":Connection", "--arg", server.address, "--show", "0", "--json",
             report.name, "--exempt", os.path.join(CORPORA, "pg15-exempt.txt")] + options
            + [os.path.join(CORPORA, name)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment())
        return json.load(open(report.name))["total"]


def environment():
    return dict(os.environ, PYTHONPATH=os.path.join(CORPORA, "tools"))


def main():
    if not os.path.isdir(CORPORA):
        print(f"*** SKIPPED: the corpora are not there ({CORPORA}); set SISAL_CORPORA ***")
        sys.exit(77)
    long = "--long" in sys.argv
    floors = json.load(open(os.path.join(HERE, "floors.json")))
    failures = []
    with Server() as server:
        for name, options in SETS:
            counts = run_set(server, name, [] if long else options)
            passed, failed = counts["passed"], counts["failed"]
            floor = floors.get(name, 0)
            print(f"{name}: {passed} passed, {failed} failed, {counts.get('skipped', 0)} skipped (floor {floor})",
                  flush=True)
            if not server.running():
                failures.append(f"the server died in {name}:\n{server.log_tail()}")
                break
            if not long and passed < floor:
                failures.append(f"{name}: {passed} passed, the floor is {floor}")
        assert failures or server.stop() == 0
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
