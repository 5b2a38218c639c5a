"""A 5-million-row Query read by a slow client: the server's memory stays flat, and a cancel frees the snapshot fast.

"Flat" is a bound that does not grow with the rows: the server may grow by 64 MiB while five million rows of some 90
bytes (more than 400 MiB of answers) pass. "Fast": the transaction is gone from /metrics within 100 ms of the cancel in
the median of the repeats.

Usage: stream_test.py [--rows N] [--repeats N]
"""

import argparse
import os
import re
import statistics
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from sisal_server import Client, Server  # noqa: E402
from sisal.v1 import result_pb2, sql_service_pb2  # noqa: E402

import grpc  # noqa: E402

# A sanitizer keeps what was freed, 256 MiB of it by default, and that is not the server's growth.
os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=8")

SQL = "SELECT n, n * 2 AS twice, 'row number ' || n AS label, md5(n::text) AS hash FROM generate_series(1, {}) AS g(n)"


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def metric(server, name):
    text = urllib.request.urlopen(f"http://{server.http}/metrics", timeout=10).read().decode()
    match = re.search(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.e+]+)$", text, re.M)
    assert match, f"no metric {name} in:\n{text[:2000]}"
    return float(match[1])


def query(client, rows):
    return client.stub.Query(sql_service_pb2.QueryRequest(statement=result_pb2.Statement(sql=SQL.format(rows))),
                             timeout=600)


def slow_reader(server, client, rows):
    """Reads everything, with a pause now and then; watches the server's memory all along."""
    before = resident_mib(server.process.pid)
    highest, received, total, chunk_max, pauses = before, 0, 0, 0, 0
    for part in query(client, rows):
        batch = part.chunk.batch
        received += batch.row_count
        if batch.row_count:
            total += sum(batch.columns[0].integers)
        chunk_max = max(chunk_max, part.ByteSize())
        if received // 100000 > pauses:
            pauses = received // 100000
            time.sleep(0.05)
            highest = max(highest, resident_mib(server.process.pid))
    assert received == rows, f"{received} rows of {rows}"
    assert total == rows * (rows + 1) // 2, "the rows are not those asked for"
    assert chunk_max < 4 << 20, f"a chunk of {chunk_max} bytes"
    print(f"slow reader: {rows} rows, memory {before:.0f} MiB before, {highest:.0f} MiB at most, "
          f"largest chunk {chunk_max >> 10} KiB", flush=True)
    assert highest - before < 64, "the server's memory grew with the rows"


def cancelled_reader(server, client, rows, repeats):
    """Cancels in the middle and waits until no transaction is left."""
    latencies = []
    for _ in range(repeats):
        call = query(client, rows)
        received = 0
        for part in call:
            received += part.chunk.batch.row_count
            if received > 10000:
                break
        assert metric(server, "sisal_txn_active") >= 1
        start = time.monotonic()
        call.cancel()
        while metric(server, "sisal_txn_active") > 0:
            assert time.monotonic() - start < 10, "the cancelled query still holds its snapshot after 10 s"
        latencies.append((time.monotonic() - start) * 1000)
    print(f"cancel: snapshot gone after {statistics.median(latencies):.1f} ms (median of {repeats}, "
          f"{min(latencies):.1f} to {max(latencies):.1f})", flush=True)
    assert statistics.median(latencies) < 100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with Server() as server:
        client = Client(server.address)
        list(query(client, 200000))  # warm-up: pools and caches reach their size
        slow_reader(server, client, options.rows)
        cancelled_reader(server, client, options.rows, options.repeats)
        try:
            client.stub.Query(sql_service_pb2.QueryRequest(
                statement=result_pb2.Statement(sql=SQL.format(10**9))), timeout=0.3).__next__()
            for _ in client.stub.Query(sql_service_pb2.QueryRequest(
                    statement=result_pb2.Statement(sql=SQL.format(10**9))), timeout=0.3):
                pass
            raise AssertionError("a deadline of 0.3 s did not end a query of 10^9 rows")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
        assert server.stop() == 0
    print("stream test: passed")


if __name__ == "__main__":
    main()
