"""Generated stubs used for real, one language at a time; and buf's lint of the protos.

A language runs the README's first call and a test program of its own against a real sisald. Without its toolchain the
test exits with 77, so that ctest's summary names it as skipped; Python always runs.

Usage: clients_test.py python|go|node|lint
"""

import os
import re
import shutil
import subprocess
import sys

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "python"))
from sisal_server import Client, Server, SqlError, transaction_pb2  # noqa: E402

WORK = os.path.join(os.environ["SISAL_BUILD"], "clients")
PROTOS = os.path.join(REPOSITORY, "proto")


def run(command, cwd=None, **keywords):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, **keywords)


def output(command, cwd=None, env=None):
    return run(command, cwd, stdout=subprocess.PIPE, text=True, env=env).stdout


def find(program, *elsewhere):
    return shutil.which(program) or next((p for p in elsewhere if os.path.exists(p)), None)


def skip(what):
    print(f"*** SKIPPED: {what} ***")
    sys.exit(77)


def fresh(name, *sources):
    """A working folder with copies of the sources; what was installed there before stays."""
    folder = os.path.join(WORK, name)
    os.makedirs(folder, exist_ok=True)
    for source in sources:
        for entry in os.listdir(source):
            if os.path.isfile(os.path.join(source, entry)):
                shutil.copy(os.path.join(source, entry), folder)
    return folder


def check_first_call(printed):
    for expected in ("Chania", "Merida", "nowhere"):
        assert expected in printed, f"the first call printed no {expected!r}:\n{printed}"


def python_client(address):
    environment = dict(os.environ, PYTHONPATH=os.environ["SISAL_STUBS"])
    check_first_call(output([sys.executable, os.path.join(REPOSITORY, "docs/examples/first_call.py"), address],
                            env=environment))
    client = Client(address)
    client.execute("CREATE TABLE python_test (id INTEGER PRIMARY KEY, note TEXT, amount NUMERIC(10,2))")
    begun = client.raw("INSERT INTO python_test VALUES ($1, $2, $3)", (1, None, "1.50"),
                       begin=transaction_pb2.TransactionOptions())
    client.raw("INSERT INTO python_test VALUES (2, 'b', 2)", handle=begun.trailer.transaction.handle, commit=True)
    assert client.execute("SELECT * FROM python_test ORDER BY id") == [(1, None, "1.50"), (2, "b", "2.00")]
    try:
        client.execute("SELECT nothing FROM python_test")
        raise AssertionError("no error for an unknown column")
    except SqlError as error:
        assert error.sqlstate == "42703" and error.sql.position == 8, error
    client.execute("DROP TABLE python_test")
    print("python client: ok")


def go_client(address):
    go = find("go", "/usr/local/go/bin/go")
    if go is None:
        skip("Go: there is no go on this machine")
    version = output([go, "env", "GOVERSION"]).strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (1, 22):
        skip(f"Go: {version} is older than go1.22")
    environment = dict(os.environ, PATH=os.path.dirname(go) + ":" + os.environ["PATH"])
    example = fresh("go_example", os.path.join(REPOSITORY, "docs/examples/go"))
    run(["sh", "generate.sh", PROTOS], example, env=environment)
    run([go, "build", "-o", "first_call", "."], example, env=environment)
    check_first_call(output([os.path.join(example, "first_call"), address]))
    shutil.copy(os.path.join(REPOSITORY, "tests/clients/go/main.go"), os.path.join(example, "main.go"))
    run([go, "build", "-o", "client", "."], example, env=environment)
    run([os.path.join(example, "client"), address])


def node_client(address):
    if find("node") is None or find("npm") is None:
        skip("Node: there is no node or no npm on this machine")
    example = fresh("node_example", os.path.join(REPOSITORY, "docs/examples/node"),
                    os.path.join(REPOSITORY, "tests/clients/node"))
    run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], example)
    check_first_call(output(["node", "first_call.mjs", address, PROTOS], example))
    run(["node", "client.mjs", address, PROTOS], example)


def lint_protos():
    if find("npm") is None:
        skip("buf lint: there is no npm on this machine")
    folder = fresh("buf")
    if not os.path.exists(os.path.join(folder, "node_modules/.bin/buf")):
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "@bufbuild/buf@1"], folder)
    run([os.path.join(folder, "node_modules/.bin/buf"), "lint"], PROTOS)
    print("buf lint: ok")


def main():
    if sys.argv[1] == "lint":
        lint_protos()
        return
    client = {"python": python_client, "go": go_client, "node": node_client}[sys.argv[1]]
    with Server() as server:
        client(server.address)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
