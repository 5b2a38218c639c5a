"""Many clients at once on a real sisald, and kill -9 in the middle.

 bank      transfers at SNAPSHOT and READ COMMITTED; an auditor must always find the same sum
 counters  n = n + 1 by many clients; no increment that was acknowledged is lost
 unique    clients insert the same keys; each key goes to exactly one
 jobs      workers take the next job by SKIP LOCKED; each job is done once, and nobody finds the queue empty too early
 deadlock  two transactions take two rows in opposite order; exactly one is the victim
 ddl       CREATE and DROP of an index and of a table while rows are written; the index has exactly the table's rows
 alter     ALTER TABLE of all kinds, also such as write the rows anew, while rows are written and read; then kill -9: no
           acknowledged row or change is lost, and each is there once
 kill      bank and counters with kill -9 and restart; what was acknowledged is there, and nothing twice

Usage: concurrency_test.py [--seconds N per part] [--clients N] [--only PART]
"""

import argparse
import collections
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))
import grpc  # noqa: E402
from sisal_server import Client, Server, SqlError, rows, transaction_pb2  # noqa: E402
from sisal.v1 import request_pb2  # noqa: E402

RETRYABLE = ("40001", "40P01")
ACCOUNTS, START = 20, 1000
LEVELS = {
    "snapshot": transaction_pb2.ISOLATION_LEVEL_SNAPSHOT,
    "read committed": transaction_pb2.ISOLATION_LEVEL_READ_COMMITTED,
}
LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN)


class Workers:
    """Runs `work(client, rng, stopped)` on many threads; the first exception is raised in join."""

    def __init__(self, address, count, work):
        self.stopped = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(address, i, work)) for i in range(count)]
        for t in self.threads:
            t.start()

    def run(self, address, number, work):
        client = Client(address)
        try:
            work(client, random.Random(number), self.stopped)
        except Exception as failure:  # noqa: BLE001
            self.failures.append(failure)
            self.stopped.set()
        finally:
            client.close()

    def join(self, seconds):
        self.stopped.wait(seconds)
        self.stopped.set()
        for t in self.threads:
            t.join(90)
            if t.is_alive():
                raise AssertionError("a client hangs")
        if self.failures:
            raise self.failures[0]


def rollback(client, handle):
    client.call("RollbackTransaction", request_pb2.RollbackTransactionRequest(handle=handle))


def transaction(client, level, statements):
    """Runs them in one transaction; False after a conflict. Each is (sql, parameters); returns their rows' counts."""
    handle = client.call(
        "BeginTransaction",
        request_pb2.BeginTransactionRequest(transaction=transaction_pb2.TransactionOptions(isolation=LEVELS[level])),
    ).transaction.handle
    try:
        for sql, parameters in statements:
            client.execute(sql, *parameters, handle=handle)
        client.call("CommitTransaction", request_pb2.CommitTransactionRequest(handle=handle))
        return True
    except SqlError as error:
        try:
            rollback(client, handle)  # a failed one too: the server's stop would wait for it
        except SqlError as after:
            assert after.sqlstate in ("25P01", "25P03") or after.code in LOST, after
        if error.sqlstate not in RETRYABLE:
            raise
        return False


def fill(client):
    client.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL, branch INTEGER NOT NULL)")
    client.execute("CREATE INDEX account_branch ON account (branch, balance)")
    client.execute(f"INSERT INTO account SELECT g, {START}, g % 4 FROM generate_series(1, {ACCOUNTS}) AS s(g)")


def bank(options, level):
    counts = collections.Counter()

    def transfer(client, rng, stopped):
        while not stopped.is_set():
            a, b = rng.sample(range(1, ACCOUNTS + 1), 2)
            amount = rng.randint(1, 50)
            done = transaction(
                client,
                level,
                [
                    (
                        "UPDATE account SET balance = balance - $1, branch = $3 WHERE id = $2",
                        (amount, a, rng.randrange(4)),
                    ),
                    ("UPDATE account SET balance = balance + $1 WHERE id = $2", (amount, b)),
                ],
            )
            counts["committed" if done else "conflicts"] += 1

    def audit(client, rng, stopped):
        while not stopped.is_set():
            for sql in (
                "SELECT sum(balance), count(*) FROM account",
                "SELECT sum(balance), count(*) FROM account WHERE branch >= 0",
                "SELECT sum(s), sum(c) FROM (SELECT sum(balance) s, count(*) c FROM account GROUP BY branch) x",
            ):
                answer = [tuple(int(v) for v in row) for row in client.execute(sql)]
                assert answer == [(ACCOUNTS * START, ACCOUNTS)], (level, sql, answer)
                counts["audits"] += 1

    with Server() as server:
        client = Client(server.address)
        fill(client)
        transfers = Workers(server.address, options.clients, transfer)
        auditors = Workers(server.address, 2, audit)
        transfers.join(options.seconds)
        auditors.join(0)
        assert counts["committed"] > 0
        assert server.stop() == 0
    return counts


def counters(options, level):
    acknowledged, counts = collections.Counter(), collections.Counter()

    def increment(client, rng, stopped):
        while not stopped.is_set():
            row = rng.randrange(3)
            kind = rng.randrange(3)
            try:
                if kind == 0:
                    client.execute("UPDATE counter SET n = n + 1 WHERE id = $1", row)
                elif kind == 1:
                    client.execute(
                        "INSERT INTO counter VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = counter.n + 1", row
                    )
                else:
                    handle = client.raw(
                        "SELECT n FROM counter WHERE id = $1 FOR UPDATE",
                        (row,),
                        begin=transaction_pb2.TransactionOptions(isolation=LEVELS[level]),
                    ).trailer.transaction.handle
                    n = client.execute("SELECT n FROM counter WHERE id = $1", row, handle=handle)[0][0]
                    client.raw("UPDATE counter SET n = $1 WHERE id = $2", (n + 1, row), handle=handle, commit=True)
                with lock:
                    acknowledged[row] += 1
            except SqlError as error:
                if error.sqlstate not in RETRYABLE:
                    raise
                counts["conflicts"] += 1

    lock = threading.Lock()
    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, n BIGINT)")
        client.execute("INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0)")
        Workers(server.address, options.clients, increment).join(options.seconds)
        found = dict(client.execute("SELECT id, n FROM counter"))
        assert found == {i: acknowledged[i] for i in range(3)}, (found, acknowledged)
        assert server.stop() == 0
    counts["increments"] = sum(acknowledged.values())
    return counts


def unique(options, level):
    owners, counts = collections.Counter(), collections.Counter()
    lock = threading.Lock()

    def insert(client, rng, stopped):
        key = 0
        while not stopped.is_set():
            key += rng.randint(0, 2)
            try:
                if rng.random() < 0.5:
                    client.execute("INSERT INTO u VALUES ($1, $2)", rng.randrange(2**40), key)
                else:
                    if not transaction(
                        client,
                        level,
                        [
                            ("INSERT INTO u VALUES ($1, $2)", (rng.randrange(2**40), key)),
                            ("DELETE FROM u WHERE code = $1", (-1,)),
                        ],
                    ):
                        continue
                with lock:
                    owners[key] += 1
            except SqlError as error:
                assert error.sqlstate in ("23505",) + RETRYABLE, error
                counts[error.sqlstate] += 1

    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE u (id BIGINT PRIMARY KEY, code INTEGER UNIQUE)")
        Workers(server.address, options.clients, insert).join(options.seconds)
        assert set(owners.values()) == {1}, [k for k, n in owners.items() if n > 1][:5]
        found = client.execute("SELECT count(*), count(DISTINCT code) FROM u")
        assert found == [(len(owners), len(owners))], (found, len(owners))
        assert server.stop() == 0
    counts["keys"] = len(owners)
    return counts


def jobs(options, level):
    count, done, counts = 40 * int(options.seconds + 1), collections.Counter(), collections.Counter()
    lock = threading.Lock()
    take = "SELECT id FROM job WHERE state = 'new' ORDER BY prio LIMIT 1 FOR UPDATE SKIP LOCKED"

    def work(client, rng, stopped):
        while not stopped.is_set():
            try:
                answer = client.raw(take, begin=transaction_pb2.TransactionOptions(isolation=LEVELS[level]))
                handle = answer.trailer.transaction.handle
                taken = rows(answer.header, answer.chunk.batch)
                if not taken:
                    rollback(client, handle)
                    left = client.execute("SELECT count(*) FROM job WHERE state = 'new'")[0][0]
                    # What is left is in the hands of others.
                    assert left < options.clients, left
                    if left == 0:
                        return
                    counts["empty"] += 1
                    continue
                job = taken[0][0]
                if rng.randrange(5) == 0:
                    rollback(client, handle)
                    counts["given back"] += 1
                    continue
                client.raw("UPDATE job SET state = 'done' WHERE id = $1", (job,), handle=handle, commit=True)
                with lock:
                    done[job] += 1
            except SqlError as error:
                assert error.sqlstate in RETRYABLE, error
                counts[error.sqlstate] += 1

    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, prio INTEGER)")
        client.execute("INSERT INTO job SELECT g, 'new', g * 7919 % 1000 FROM generate_series(1, $1) AS s(g)", count)
        workers = Workers(server.address, options.clients, work)
        for thread in workers.threads:
            thread.join(90)
        workers.join(0)
        assert done == {i: 1 for i in range(1, count + 1)}, [i for i, n in done.items() if n != 1]
        assert server.stop() == 0
    counts["jobs"] = count
    return counts


def deadlock(options, level):
    counts = collections.Counter()
    with Server() as server:
        clients = [Client(server.address) for _ in range(2)]
        clients[0].execute("CREATE TABLE d (id INTEGER PRIMARY KEY, n INTEGER)")
        clients[0].execute("INSERT INTO d VALUES (1, 0), (2, 0)")
        until = time.monotonic() + options.seconds
        while time.monotonic() < until:
            handles = [
                c.raw(
                    "UPDATE d SET n = n + 1 WHERE id = $1",
                    (i + 1,),
                    begin=transaction_pb2.TransactionOptions(isolation=LEVELS[level]),
                ).trailer.transaction.handle
                for i, c in enumerate(clients)
            ]
            results = [None, None]

            def second(i):
                try:
                    clients[i].raw("UPDATE d SET n = n + 1 WHERE id = $1", (2 - i,), handle=handles[i], commit=True)
                    results[i] = "ok"
                except SqlError as error:
                    results[i] = error.sqlstate
                    try:
                        rollback(clients[i], handles[i])
                    except SqlError:
                        pass

            threads = [threading.Thread(target=second, args=(i,)) for i in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join(60)
            # SNAPSHOT too: each waits for the other before anything was committed.
            assert sorted(results) == ["40P01", "ok"], results
            counts["deadlocks"] += 1
        assert clients[0].execute("SELECT sum(n) FROM d") == [(2 * counts["deadlocks"],)]
        assert server.stop() == 0
    return counts


def ddl(options, level):
    counts = collections.Counter()

    def write(client, rng, stopped):
        me = rng.randrange(2**30)
        while not stopped.is_set():
            key = me * 100000 + rng.randrange(200)
            try:
                kind = rng.randrange(3)
                if kind == 0:
                    client.execute(
                        "INSERT INTO w VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
                        key,
                        rng.randrange(50),
                    )
                elif kind == 1:
                    client.execute("DELETE FROM w WHERE id = $1", key)
                else:
                    client.execute(
                        "UPDATE w SET v = v + 1 WHERE v = $1 AND id >= $2 AND id < $2 + 200",
                        rng.randrange(50),
                        me * 100000,
                    )
                counts["writes"] += 1
                try:
                    client.execute("INSERT INTO passing VALUES ($1)", rng.randrange(2**40))
                except SqlError as error:
                    assert error.sqlstate in ("42P01", "23505", "40001"), error
                    counts["passing " + error.sqlstate] += 1
            except SqlError as error:
                assert error.sqlstate in RETRYABLE, error
                counts[error.sqlstate] += 1

    def define(client, rng, stopped):
        while not stopped.is_set():
            for sql in (
                "DROP INDEX IF EXISTS w_v",
                "CREATE INDEX w_v ON w (v)",
                None,
                "DROP INDEX IF EXISTS w_v",
                "DROP TABLE IF EXISTS passing",
                "CREATE TABLE passing (id BIGINT PRIMARY KEY)",
            ):
                try:
                    if sql is None:
                        a, b = [
                            client.execute(q)[0][0]
                            for q in (
                                "SELECT count(*) FROM w WHERE v >= 0 AND v < 1000",
                                "SELECT count(*) FROM w WHERE v IS NOT NULL",
                            )
                        ]
                        counts["looks"] += 1
                        with_index, without = client.execute(
                            "SELECT (SELECT count(*) FROM w WHERE v >= 0), (SELECT count(*) FROM w WHERE v + 0 >= 0)"
                        )[0]
                        assert with_index == without, (with_index, without)
                    else:
                        client.execute(sql)
                        counts["definitions"] += 1
                except SqlError as error:
                    assert error.sqlstate in RETRYABLE, (sql, error)
                    counts[f"{sql}: {error}"] += 1
                    break

    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE w (id BIGINT PRIMARY KEY, v INTEGER)")
        writers = Workers(server.address, options.clients, write)
        definers = Workers(server.address, 1, define)
        definers.join(options.seconds)
        writers.join(0)
        try:
            client.execute("CREATE INDEX w_v ON w (v)")
        except SqlError as error:
            assert error.sqlstate == "42P07", error
        server.kill()
        server.start()
        client = Client(server.address)
        with_index, without = client.execute(
            "SELECT (SELECT count(*) FROM w WHERE v >= 0), (SELECT count(*) FROM w WHERE v + 0 >= 0)"
        )[0]
        assert with_index == without, (with_index, without)
        assert server.stop() == 0
    return counts


def alter(options, level):
    counts = collections.Counter()
    lock = threading.Lock()
    changes, unknown = collections.Counter(), collections.Counter()  # of each row: acknowledged, and who knows
    killed = threading.Event()

    def write(client, rng, stopped):
        me, made = rng.randrange(2**30), 0
        while not stopped.is_set() or not killed.is_set():
            fresh = made == 0 or rng.random() < 0.3
            row = me * 1000 + (made if fresh else rng.randrange(made))
            try:
                if fresh:
                    client.execute("INSERT INTO w (id, v) VALUES ($1, 1)", row)
                    made += 1
                else:
                    client.execute("UPDATE w SET v = v + 1 WHERE id = $1", row)
                with lock:
                    changes[row] += 1
                counts["writes"] += 1
            except SqlError as error:
                if error.code in LOST or error.sqlstate in ("08007", "57P01", "57P03"):
                    with lock:
                        unknown[row] += 1
                    return
                assert error.sqlstate in RETRYABLE, error
                counts[error.sqlstate] += 1

    def read(client, rng, stopped):
        while not stopped.is_set():
            try:
                a, b = client.execute("SELECT (SELECT count(*) FROM w), (SELECT count(*) FROM seen)")[0]
                assert a == b, (a, b)
                for row in client.execute("SELECT * FROM w ORDER BY id LIMIT 50"):
                    assert row[0] > 0 and row[1] > 0, row
                client.execute("SELECT v FROM w WHERE id = 1")
                counts["reads"] += 1
            except SqlError as error:
                assert error.sqlstate in RETRYABLE or "PLAN_CHANGED" in str(error), error
                counts["read " + error.sqlstate] += 1

    def define(client, rng, stopped):
        while not stopped.is_set():
            for sql in (
                "ALTER TABLE w ADD x INTEGER DEFAULT 7 NOT NULL",
                "ALTER TABLE w ADD y TEXT DEFAULT 'y' UNIQUE",
                "ALTER TABLE w DROP CONSTRAINT w_pkey",
                "ALTER TABLE w ALTER x TYPE BIGINT, ADD r DOUBLE PRECISION DEFAULT random()",
                None,
                "ALTER TABLE w ADD PRIMARY KEY (id)",
                "ALTER TABLE w DROP x, DROP r, DROP IF EXISTS y",
                "ALTER TABLE w ADD CONSTRAINT positive CHECK (v > 0)",
                "ALTER TABLE w DROP CONSTRAINT positive",
            ):
                try:
                    if sql is None:
                        assert client.execute("SELECT count(*) FROM w WHERE x IS DISTINCT FROM 7") == [(0,)]
                    else:
                        client.execute(sql)
                    counts["definitions"] += 1
                except SqlError as error:
                    assert error.sqlstate == "23505" and "y TEXT" in (sql or ""), (sql, error)

    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE w (id BIGINT PRIMARY KEY, v INTEGER)")
        client.execute("CREATE VIEW seen AS SELECT id, v FROM w")
        writers = Workers(server.address, options.clients // 2, write)
        readers = Workers(server.address, 4, read)
        definers = Workers(server.address, 1, define)
        definers.join(options.seconds)
        readers.join(0)
        server.kill()
        killed.set()
        writers.join(0)
        server.start()
        client = Client(server.address)
        found = dict(client.execute("SELECT id, v FROM w LIMIT 100000"))
        assert len(found) == client.execute("SELECT count(*) FROM seen")[0][0]
        for row in changes.keys() | found.keys():
            n = found.get(row, 0)
            assert changes[row] <= n <= changes[row] + unknown[row], (row, n, changes[row], unknown[row])
        assert server.stop() == 0
    return counts


def kill(options, level):
    acknowledged, unknown, counts = collections.Counter(), collections.Counter(), collections.Counter()
    lock = threading.Lock()

    def work(client, rng, stopped):
        while not stopped.is_set():
            row = rng.randint(1, ACCOUNTS)
            other = row % ACCOUNTS + 1
            try:
                done = transaction(
                    client,
                    level,
                    [
                        ("UPDATE account SET balance = balance - 1 WHERE id = $1", (row,)),
                        ("UPDATE account SET balance = balance + 1 WHERE id = $1", (other,)),
                        ("INSERT INTO counter VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = counter.n + 1", (row,)),
                    ],
                )
                with lock:
                    acknowledged[row] += done
            except SqlError as error:
                assert error.code in LOST or error.sqlstate in ("08007", "57P01", "57P03", "25P03"), error
                with lock:
                    unknown[row] += 1
                return

    with Server() as server:
        client = Client(server.address)
        fill(client)
        client.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, n BIGINT)")
        for cycle in range(3):
            workers = Workers(server.address, options.clients, work)
            time.sleep(options.seconds / 3 * random.Random(cycle).uniform(0.5, 1))
            server.kill()
            workers.join(0)
            server.start()
            client = Client(server.address)
            assert client.execute("SELECT sum(balance), count(*) FROM account")[0] in (
                (str(ACCOUNTS * START), ACCOUNTS),
                (ACCOUNTS * START, ACCOUNTS),
            )
            found = dict(client.execute("SELECT id, n FROM counter"))
            for row in range(1, ACCOUNTS + 1):
                n = found.get(row, 0)
                assert acknowledged[row] <= n <= acknowledged[row] + unknown[row], (
                    row,
                    n,
                    acknowledged[row],
                    unknown[row],
                )
            for sql in (
                "SELECT count(*) FROM account WHERE branch >= 0",
                "SELECT count(*) FROM account WHERE branch + 0 >= 0",
            ):
                assert client.execute(sql) == [(ACCOUNTS,)]
            counts["kills"] += 1
        assert server.stop() == 0
    counts["acknowledged"] = sum(acknowledged.values())
    return counts


PARTS = {
    "bank": bank,
    "counters": counters,
    "unique": unique,
    "jobs": jobs,
    "deadlock": deadlock,
    "ddl": ddl,
    "alter": alter,
    "kill": kill,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    for name, part in PARTS.items():
        if options.only and name != options.only:
            continue
        for level in list(LEVELS)[:1] if part in (ddl, alter) else LEVELS:
            print(f"{name} at {level}:", dict(part(options, level)), flush=True)


if __name__ == "__main__":
    main()
