"""Kill test: concurrent writers over gRPC, kill -9 at random moments, restart, audit; again and again on one store.

Each transaction moves money between two accounts and writes one ledger row with the writer's number and a rising
sequence. After each restart:
  - every acknowledged transaction is there;
  - of the others, those that ended in 08007 or a broken connection may be there or not, those answered with another
    error are not;
  - no number of the ledger's sequence was given to two of them (they would fail);
  - none is half there: the ledger's rows and the balances agree, and the sum of all balances is what it was.

Usage: kill_test.py [--cycles N] [--seed S] [--writers N] [--full tmpfs|rlimit|none]
  --full rlimit   the server may not write files above 3 MiB (ulimit -f; SIGXFSZ ignored), segments of 1 MiB, so that
                  preparing segments fails; with none, nothing is limited.
  --full tmpfs    the store lies on a tmpfs of 24 MiB (needs root): commits fail with 53100 while it is full.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from sisal_server import Client, Server, SqlError, transaction_pb2  # noqa: E402

import grpc  # noqa: E402

ACCOUNTS = 20
START_BALANCE = 1000
CYCLES_MAX = 50


class Writer(threading.Thread):
    """Commits transfers until the server goes away. Remembers what it was told."""

    def __init__(self, number, seed, first_sequence, pad_bytes):
        super().__init__(daemon=True)
        self.pad = "x" * pad_bytes  # makes the log grow
        self.number = number
        self.random = random.Random(seed)
        self.sequence = first_sequence
        self.acknowledged = set()
        self.unknown = set()
        self.failed = {}
        self.repeated = []

    def run_against(self, address):
        self.address = address
        self.stopped = False
        self.start()

    def run(self):
        client = Client(self.address)
        try:
            while not self.stopped:
                self.sequence += 1
                if not self.one(client, self.sequence):
                    return
        finally:
            client.close()

    def one(self, client, sequence):
        """One transfer. False: the server has gone."""
        source, target = self.random.sample(range(ACCOUNTS), 2)
        amount = self.random.randint(1, 50)
        committing = False
        try:
            begun = client.raw("UPDATE account SET balance = balance - $1 WHERE id = $2", (amount, source),
                               begin=transaction_pb2.TransactionOptions(), timeout=20)
            handle = begun.trailer.transaction.handle
            client.raw("UPDATE account SET balance = balance + $1 WHERE id = $2", (amount, target), handle=handle,
                       timeout=20)
            committing = True
            client.raw("INSERT INTO ledger (writer, sequence, source, target, amount, pad) VALUES ($1, $2, $3, $4, $5, $6)",
                       (self.number, sequence, source, target, amount, self.pad), handle=handle, commit=True, timeout=20)
            self.acknowledged.add(sequence)
            return True
        except SqlError as error:
            gone = error.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED) and not error.sqlstate
            if committing and (gone or error.sqlstate == "08007" or not error.sqlstate):
                self.unknown.add(sequence)
            else:
                self.failed[sequence] = str(error)
            if gone:
                return False
            if error.sqlstate == "23505":
                self.repeated.append(str(error))
            if error.sqlstate.startswith("53"):
                time.sleep(0.05)
            return True


def audit(client, writers):
    rows = client.execute("SELECT writer, sequence, source, target, amount FROM ledger")
    balances = dict(client.execute("SELECT id, balance FROM account"))
    expected = {account: START_BALANCE for account in range(ACCOUNTS)}
    there = set()
    for writer, sequence, source, target, amount in rows:
        assert (writer, sequence) not in there, f"transaction {writer}/{sequence} is there twice"
        there.add((writer, sequence))
        expected[source] -= amount
        expected[target] += amount
    assert balances == expected, f"balances do not agree with the ledger: {balances} against {expected}"
    for writer in writers:
        assert not writer.repeated, f"the ledger's sequence gave a value twice: {writer.repeated}"
        for sequence in writer.acknowledged:
            assert (writer.number, sequence) in there, f"acknowledged {writer.number}/{sequence} is lost"
        for sequence, error in writer.failed.items():
            assert (writer.number, sequence) not in there, f"{writer.number}/{sequence} is there but failed: {error}"
    return len(there)


def audit_paged(client, writers):
    """The ledger outgrows one answer: read it page by page."""
    pages = []
    last = (-1, -1)
    while True:
        page = client.execute(
            "SELECT writer, sequence, source, target, amount FROM ledger WHERE writer > $1 OR (writer = $1 AND sequence > $2)"
            " ORDER BY writer, sequence LIMIT 5000", last[0], last[1])
        if not page:
            break
        pages.extend(page)
        last = page[-1][:2]

    class Pages:
        def execute(self, sql):
            return pages if "FROM ledger" in sql else client.execute(sql)
    return audit(Pages(), writers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cycles", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--full", choices=["none", "rlimit", "tmpfs"], default="none")
    options = parser.parse_args()
    print(f"kill test: seed {options.seed}, {options.cycles} cycles, {options.writers} writers, limit {options.full}",
          flush=True)
    choose = random.Random(options.seed)

    arguments, preexec, directory, mounted = [], None, None, None
    pad_bytes = 400 if options.full == "none" else 16000
    if options.full != "none":
        arguments = ["--wal-segment-bytes", str(1 << 20)]
    if options.full == "rlimit":
        # No file may pass half a segment: new segments cannot be made once this holds.
        def preexec():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))
        arguments += ["--wal-max-bytes", str(12 << 20)]
    if options.full == "tmpfs":
        if os.geteuid() != 0:
            print("*** SKIPPED: a tmpfs of its own needs root ***")
            sys.exit(77)
        mounted = tempfile.mkdtemp(prefix="sisal-full-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", mounted], check=True)
        directory = os.path.join(mounted, "data")

    server = Server(directory=directory, arguments=arguments, preexec=preexec)
    writers = []
    full_errors = 0
    try:
        server.start()
        client = Client(server.address)
        client.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)")
        client.execute("CREATE TABLE ledger (writer INTEGER, sequence INTEGER, source INTEGER, target INTEGER,"
                       " amount BIGINT, pad TEXT, number BIGSERIAL UNIQUE, PRIMARY KEY (writer, sequence))")
        for account in range(ACCOUNTS):
            client.execute("INSERT INTO account VALUES ($1, $2)", account, START_BALANCE)
        client.close()
        cycle = 0
        # How much a cycle writes depends on the machine: a disk that is to fill gets the cycles that it takes.
        while cycle < options.cycles or (options.full != "none" and full_errors == 0 and cycle < CYCLES_MAX):
            running = [Writer(cycle * options.writers + i, choose.random(), 0, pad_bytes) for i in range(options.writers)]
            writers += running
            for writer in running:
                writer.run_against(server.address)
            time.sleep(choose.uniform(0.05, 1.5))
            server.kill()
            for writer in running:
                writer.stopped = True
                writer.join(30)
                assert not writer.is_alive(), "a writer hangs"
            # Sometimes the crash meets recovery itself.
            if choose.random() < 0.3:
                server_process = Server(directory=server.directory, arguments=arguments, preexec=preexec)
                try:
                    server_process.start()
                except RuntimeError:
                    pass
                else:
                    server_process.kill()
            server.start()
            client = Client(server.address)
            count = audit_paged(client, writers)
            client.close()
            full_errors = sum("53100" in e for w in writers for e in w.failed.values())
            cycle += 1
            print(f"cycle {cycle}: {count} transactions there, "
                  f"{sum(len(w.acknowledged) for w in writers)} acknowledged, "
                  f"{sum(len(w.unknown) for w in writers)} unknown, "
                  f"{sum(len(w.failed) for w in writers)} failed ({full_errors} by a full disk)", flush=True)
        assert sum(len(w.acknowledged) for w in writers) > 0, "nothing was acknowledged at all"
        if options.full != "none":
            assert full_errors > 0, "the disk never filled: the test did not test it"
        assert server.stop() == 0, "SIGTERM did not end in exit code 0"
        print("kill test: passed")
    except Exception:
        print(server.log_tail(), file=sys.stderr)
        raise
    finally:
        server.__exit__()
        if mounted:
            subprocess.run(["umount", "--lazy", mounted], check=False)


if __name__ == "__main__":
    main()
