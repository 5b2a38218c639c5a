"""Runs PostgreSQL's isolation specs and Hermitage's from ../shared/corpora, with several sessions, against a real sisald.

The corpora are data beside the repository; where they are not there, this says so loudly and is skipped (exit code 77).
The runner grades each permutation against what PostgreSQL did. Those in KNOWN differ for a reason that docs/sql.md
gives; any other that is weaker or wrong is a failure, and so are fewer permutations than floors.json counts.

Usage: isolation_specs_test.py [--long]
"""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "python"))
from sisal_server import Server  # noqa: E402

CORPORA = os.environ.get("SISAL_CORPORA", os.path.join(REPOSITORY, "..", "shared", "corpora"))
TOOLS = os.path.join(CORPORA, "tools")
# spec -> why permutations of it may be graded as failed
KNOWN = {
    "postgres-08-PMP-read-committed": "READ COMMITTED runs the statement again as a whole, and deletes the row",
    "two-ids": "PostgreSQL fails a transaction for what one that is still open might write",
}


def main():
    if not os.path.isdir(CORPORA):
        print(f"*** SKIPPED: the corpora are not there ({CORPORA}); set SISAL_CORPORA ***")
        sys.exit(77)
    limit = [] if "--long" in sys.argv else ["--limit", "12"]
    floor = json.load(open(os.path.join(HERE, "floors.json")))["isolation"]
    with Server() as server:
        command = [sys.executable, os.path.join(TOOLS, "isospec.py"), "--connect",
                   os.path.join(HERE, "slt_sisal.py") + ":Connection", "--arg", server.address, *limit,
                   os.path.join(CORPORA, "hermitage"), os.path.join(CORPORA, "pg-isolation")]
        done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=TOOLS), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        print(done.stdout, done.stderr, flush=True)
        assert server.running(), server.log_tail()
        assert server.stop() == 0
    failed = [os.path.basename(path).removesuffix(".spec") for path in re.findall(r"^FAIL (\S+):", done.stdout, re.M)]
    surprises = [spec for spec in failed if spec not in KNOWN]
    passed = int(re.search(r"^(\d+) passed,", done.stdout, re.M).group(1))
    if passed > floor and limit:
        print(f"the floor can be raised to {passed}")
    if surprises or (passed < floor and limit):
        print(f"FAILED: {surprises}, {passed} permutations passed, the floor is {floor}")
        sys.exit(1)


if __name__ == "__main__":
    main()
