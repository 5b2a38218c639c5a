"""Hostile clients of a real sisald: it answers each call with a proper error, lives on, and gives back what they took.

Malformed and mutated requests of every method, forged handles, parameters of wrong shape, calls that race on one handle
or end one transaction several times, cancel storms, deadlines that have passed, a thousand connections with a
transaction each, clients that vanish in the middle of theirs.

Usage: hostile_test.py [--seconds N of mutated requests] [--seed N]
"""

import argparse
import collections
import os
import random
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))
import grpc  # noqa: E402
from google.protobuf import duration_pb2  # noqa: E402
from sisal_server import Client, Server, SqlError, transaction_pb2, type_pb2  # noqa: E402
from sisal.v1 import request_pb2, result_pb2, sql_service_pb2  # noqa: E402

Begin, Options = request_pb2.BeginTransactionRequest, transaction_pb2.TransactionOptions
INSERT = "INSERT INTO f VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"


def statement(**fields):
    return result_pb2.Statement(**fields)


def execute(**fields):
    return request_pb2.ExecuteRequest(statement=statement(**fields))


def metric(server, name):
    page = urllib.request.urlopen(f"http://{server.http}/metrics", timeout=30).read().decode()
    return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(name + " "))


def resident_mib(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def outcome(call):
    """The SQLSTATE of a call, or "ok"."""
    try:
        call()
        return "ok"
    except SqlError as error:
        return error.sqlstate or error.code.name


def at_once(calls):
    results = [None] * len(calls)

    def run(i):
        results[i] = outcome(calls[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive(), "a call hangs"
    return results


# ---- malformed bytes


def samples(rng, handle):
    value, column = type_pb2.Value, type_pb2.Column
    some = lambda n: bytes(rng.randrange(256) for _ in range(n))  # noqa: E731
    rows = type_pb2.ColumnBatch(
        row_count=3,
        columns=[
            column(integers=[1, 2, 3]),
            column(texts=["a", "b", "c"], null_bitmap=b"\2"),
            column(texts=["1", "2", "3"]),
            column(packed=b"abc", lengths=[1, 0, 2]),
        ],
    )
    yield "Execute", execute(
        sql=INSERT + " RETURNING *",
        params=[
            value(integer=rng.randint(-(2**63), 2**63 - 1)),
            value(text="x"),
            value(number=1.5),
            value(blob=b"\0\1"),
        ],
    )
    yield "Execute", execute(
        sql="SELECT $1::int + 1, $2::text, $3::date",
        params=[value(text="77"), value(null=True), value(text="2024-01-01")],
    )
    yield "Execute", execute(sql=INSERT, param_rows=rows)
    yield "Execute", execute(statement_id=some(16))
    options = result_pb2.CallOptions(
        idempotency_key=f"k{rng.randrange(50)}",
        encoding=rng.randint(0, 5),
        settings={"TimeZone": "UTC"},
        chunk_bytes=rng.choice([0, 1, 2**32 - 1]),
    )
    yield "Execute", request_pb2.ExecuteRequest(
        statement=statement(sql=f"SELECT * FROM generate_series(1, {rng.randint(0, 3000)})"), options=options
    )
    yield "Execute", request_pb2.ExecuteRequest(
        statement=statement(sql="SELECT 1"), transaction=transaction_pb2.Transaction(handle=handle)
    )
    yield "Query", sql_service_pb2.QueryRequest(
        statement=statement(sql="SELECT * FROM f"), resume_token=some(rng.randint(0, 40))
    )
    yield "Query", sql_service_pb2.QueryRequest(statement=statement(sql="SELECT * FROM f"))
    yield "BeginTransaction", Begin(transaction=Options(isolation=rng.randint(0, 3), read_only=True))
    yield "CommitTransaction", request_pb2.CommitTransactionRequest(handle=handle)
    yield "RollbackTransaction", request_pb2.RollbackTransactionRequest(handle=handle)
    yield "GetTransaction", sql_service_pb2.GetTransactionRequest(handle=handle)
    yield "Prepare", request_pb2.PrepareRequest(sql="SELECT $1 + id FROM f WHERE t LIKE $2")
    yield "Call", request_pb2.CallRequest(call=request_pb2.ProcedureCall(name="p"))
    yield "ExecuteBatch", request_pb2.ExecuteBatchRequest(
        mode=rng.randint(0, 4),
        steps=[
            request_pb2.Step(statement=statement(sql="SELECT 1, 2")),
            request_pb2.Step(
                statement=statement(sql="SELECT $1::int", params=[value(null=True)]),
                refs=[
                    request_pb2.ParamRef(
                        param=rng.choice([0, 1, 9, 2**32 - 1]),
                        step=rng.choice([0, 1, 2**32 - 1]),
                        column=rng.randint(0, 3),
                    )
                ],
                when=request_pb2.Condition(step_ok=rng.choice([0, 1, 7])),
            ),
            request_pb2.Step(savepoint=transaction_pb2.Savepoint(create="s")),
        ],
    )


def mutate(rng, data):
    data, kind = bytearray(data), rng.randrange(6)
    if kind == 0:
        for _ in range(rng.randint(1, 4) if data else 0):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data) + 1) :]
    elif kind == 2:
        at = rng.randrange(len(data) + 1)
        data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
    elif kind == 3:
        data = bytearray(rng.randrange(256) for _ in range(rng.randint(0, 60)))
    elif kind == 4:
        data += data[: rng.randrange(len(data) + 1)]
    return bytes(data)


def malformed(server, client, options):
    rng, counts = random.Random(options.seed), collections.Counter()
    handle = client.call("BeginTransaction", Begin()).transaction.handle
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        for method, message in samples(rng, handle):
            data = mutate(rng, message.SerializeToString(deterministic=True))
            make = client.channel.unary_stream if method == "Query" else client.channel.unary_unary
            call = make(f"/sisal.v1.SqlService/{method}", request_serializer=bytes, response_deserializer=bytes)
            try:
                answer = call(data, timeout=30)
                if method == "Query":
                    list(answer)
                counts["ok"] += 1
            except grpc.RpcError as failure:
                error = SqlError(failure)
                assert error.sqlstate and not error.sqlstate.startswith("XX"), (options.seed, method, data, str(error))
                counts[error.sqlstate] += 1
    return counts


# ---- wrong shapes, forged handles


def shapes(server, client, options):
    column, batch = type_pb2.Column, type_pb2.ColumnBatch
    good = [column(integers=[7]), column(texts=["x"]), column(texts=["1"]), column(blobs=[b""])]
    nine = [column(texts=["x"] * 9), column(texts=["1"] * 9), column(blobs=[b""] * 9)]
    wrong = [
        batch(row_count=5, columns=good),
        batch(row_count=2**32 - 1, columns=good),
        batch(row_count=1),
        batch(row_count=0),
        batch(row_count=1, columns=good * 2),
        batch(row_count=1, columns=good[:1]),
        batch(row_count=1, columns=[column(integers=[9], texts=["a"])] + good[1:]),
        batch(row_count=9, columns=[column(integers=list(range(9)), null_bitmap=b"\0")] + nine),
        batch(row_count=9, columns=[column(integers=list(range(9)), null_bitmap=b"\0" * 3)] + nine),
        batch(row_count=1, columns=[good[0], column(packed=b"abc", lengths=[2**32 - 1])] + good[2:]),
    ]
    for rows in wrong:
        assert outcome(lambda: client.call("Execute", execute(sql=INSERT, param_rows=rows))) == "08P01", rows
    durations = [(-5, 0), (2**62, 0), (5, -7), (-(2**63), 0), (315576000001, 0)]
    for field in ("idle_timeout", "max_lifetime"):
        for seconds, nanos in durations:
            begin = Options(**{field: duration_pb2.Duration(seconds=seconds, nanos=nanos)})
            assert outcome(lambda: client.call("BeginTransaction", Begin(transaction=begin))) == "22023", begin
    handle = client.call("BeginTransaction", Begin()).transaction.handle
    forged = [b"", b"x", b"\0" * 64, b"\xff" * 64, b"a" * 10000, handle[:-1], handle + b"\0"]
    for bit in range(len(handle) * 8):
        flipped = bytearray(handle)
        flipped[bit // 8] ^= 1 << bit % 8
        forged.append(bytes(flipped))
    for bytes_ in forged:
        assert outcome(lambda: client.raw("SELECT 1", handle=bytes_)) == "22023", bytes_
        assert (
            outcome(lambda: client.call("CommitTransaction", request_pb2.CommitTransactionRequest(handle=bytes_)))
            == "22023"
        ), bytes_
    client.call("RollbackTransaction", request_pb2.RollbackTransactionRequest(handle=handle))
    return collections.Counter(shapes=len(wrong), handles=len(forged))


# ---- races


def races(server, client, options):
    handle = client.call("BeginTransaction", Begin()).transaction.handle
    clients = [Client(server.address) for _ in range(8)]

    def fill(c, first):
        for i in range(30):
            c.raw(f"INSERT INTO f (id) VALUES ({first + i})", handle=handle)

    assert set(at_once([lambda c=c, i=i: fill(c, 1000000 + i * 100) for i, c in enumerate(clients)])) == {"ok"}
    client.call("CommitTransaction", request_pb2.CommitTransactionRequest(handle=handle))
    assert client.execute("SELECT count(*) FROM f WHERE id BETWEEN 1000000 AND 1001000") == [(240,)]

    counts = collections.Counter()
    for key in range(2000000, 2000100):
        handle = client.raw(f"INSERT INTO f (id) VALUES ({key})", begin=Options()).trailer.transaction.handle
        commit, rollback, update = at_once(
            [
                lambda: clients[0].call("CommitTransaction", request_pb2.CommitTransactionRequest(handle=handle)),
                lambda: clients[1].call("RollbackTransaction", request_pb2.RollbackTransactionRequest(handle=handle)),
                lambda: clients[2].raw(f"UPDATE f SET t = 'z' WHERE id = {key}", handle=handle),
            ]
        )
        found = client.execute(f"SELECT t FROM f WHERE id = {key}")
        assert (commit == "ok") == (rollback != "ok"), (commit, rollback)
        assert {commit, rollback, update} <= {"ok", "25P01", "25P03", "25P02"}, (commit, rollback, update)
        assert found == ([("z" if update == "ok" else None,)] if commit == "ok" else []), (
            commit,
            rollback,
            update,
            found,
        )
        counts[commit, rollback, update] += 1
    return counts


def storms(server, client, options):
    for timeout in (0, 0.0001, 0.001):
        for _ in range(100):
            assert outcome(
                lambda: client.execute("SELECT count(*) FROM generate_series(1, 100000)", timeout=timeout)
            ) in ("ok", "DEADLINE_EXCEEDED", "57014")

    def storm(seed):
        rng, mine = random.Random(seed), Client(server.address)
        for _ in range(20):
            long = mine.stub.Execute.future(
                execute(sql="SELECT count(*) FROM generate_series(1, 300000) a, generate_series(1, 100) b"), timeout=60
            )
            stream = mine.stub.Query(
                sql_service_pb2.QueryRequest(statement=statement(sql="SELECT * FROM generate_series(1, 30000000)")),
                timeout=60,
            )
            next(stream)
            got = outcome(lambda: mine.raw("UPDATE f SET t = 's' WHERE id = 1000000", timeout=rng.random() / 10))
            assert got in ("ok", "DEADLINE_EXCEEDED", "57014"), got
            long.cancel()
            stream.cancel()
        mine.close()

    assert set(at_once([lambda i=i: storm(i) for i in range(16)])) == {"ok"}
    started = time.monotonic()
    client.raw("UPDATE f SET t = 'after' WHERE id = 1000000")
    return collections.Counter(after_ms=int(1000 * (time.monotonic() - started)))


def crowd(server, client, options):
    before = resident_mib(server)
    clients = [Client(server.address) for _ in range(1000)]
    calls = [c.stub.Execute.future(execute(sql="SELECT 1"), timeout=120) for c in clients]
    for call in calls:
        call.result()
    lease = Options(idle_timeout=duration_pb2.Duration(seconds=5))
    for i, c in enumerate(clients):
        c.raw(f"INSERT INTO f (id) VALUES ({3000000 + i})", begin=lease)
    for c in clients:  # gone in the middle of their transactions
        c.close()
    until = time.monotonic() + 60
    while metric(server, "sisal_txn_active") > 0:
        assert time.monotonic() < until, "transactions of clients that are gone stay open"
        time.sleep(0.2)
    assert client.execute("SELECT count(*) FROM f WHERE id BETWEEN 3000000 AND 3001000") == [(0,)]
    client.execute("INSERT INTO f (id) VALUES (3000001)")  # its key is free again
    after = resident_mib(server)
    assert after < before + 200, (before, after)
    return collections.Counter(mib_before=before, mib_after=after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    options = parser.parse_args()
    with Server() as server:
        client = Client(server.address)
        client.execute("CREATE TABLE f (id BIGINT PRIMARY KEY, t TEXT, n NUMERIC(6,2), b BYTEA)")
        for part in (malformed, shapes, races, storms, crowd):
            try:
                counts = part(server, client, options)
            except Exception:
                print(f"FAILED: {part.__name__}, seed {options.seed}; the server's log:\n{server.log_tail()}")
                raise
            assert server.running(), server.log_tail()
            print(f"{part.__name__}:", dict(counts), flush=True)
        assert server.stop() == 0
        with open(server.log_path) as log:
            lines = log.readlines()
        assert len(lines) < 1000, f"clients wrote {len(lines)} lines of log, such as {lines[:3]}"


if __name__ == "__main__":
    main()
