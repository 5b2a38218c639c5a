"""Generated stubs used for real, from each language whose toolchain is on the machine; and buf's lint of the protos.

Each language runs the README's first call and a test program of its own against one real sisald. A language without a
toolchain is skipped loudly; at least Python must run.
"""

import os
import shutil
import subprocess
import sys

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "python"))
from sisal_server import Client, Server, SqlError, transaction_pb2  # noqa: E402

WORK = os.path.join(os.environ["SISAL_BUILD"], "clients")
PROTOS = os.path.join(REPOSITORY, "proto")
skipped = []


def run(command, cwd=None, **keywords):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, **keywords)


def output(command, cwd=None, env=None):
    return run(command, cwd, stdout=subprocess.PIPE, text=True, env=env).stdout


def find(program, *elsewhere):
    return shutil.which(program) or next((p for p in elsewhere if os.path.exists(p)), None)


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
        skipped.append("Go (no go on this machine)")
        return
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
        skipped.append("Node (no node and npm on this machine)")
        return
    example = fresh("node_example", os.path.join(REPOSITORY, "docs/examples/node"),
                    os.path.join(REPOSITORY, "tests/clients/node"))
    run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], example)
    check_first_call(output(["node", "first_call.mjs", address, PROTOS], example))
    run(["node", "client.mjs", address, PROTOS], example)


def lint_protos():
    if find("npm") is None:
        skipped.append("buf lint (no npm on this machine)")
        return
    folder = fresh("buf")
    if not os.path.exists(os.path.join(folder, "node_modules/.bin/buf")):
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "@bufbuild/buf@1"], folder)
    run([os.path.join(folder, "node_modules/.bin/buf"), "lint"], PROTOS)
    print("buf lint: ok")


def main():
    lint_protos()
    with Server() as server:
        python_client(server.address)
        go_client(server.address)
        node_client(server.address)
        assert server.stop() == 0
    for what in skipped:
        print(f"*** SKIPPED: {what}")
    print("clients: passed" + (f", {len(skipped)} skipped" if skipped else ""))


if __name__ == "__main__":
    main()
