"""Starts real sisald processes for tests, and calls them through the generated stubs.

Environment: SISAL_BIN (folder of the binaries), SISAL_STUBS (folder of the generated Python stubs).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["SISAL_STUBS"])

import grpc  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from sisal.v1 import request_pb2, sql_error_pb2, sql_service_pb2, transaction_pb2, type_pb2  # noqa: E402
from sisal.v1.sql_service_pb2_grpc import SqlServiceStub  # noqa: E402

SISALD = os.path.join(os.environ["SISAL_BIN"], "sisald")


class Server:
    """One data directory and the process that serves it. Restart keeps the directory."""

    def __init__(self, directory=None, arguments=(), preexec=None):
        self.owned = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="sisal-test-")
        self.arguments = list(arguments)
        self.preexec = preexec
        self.process = None
        self.log_path = self.directory.rstrip("/") + ".log"

    def start(self, timeout_s=60):
        read, write = os.pipe()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [SISALD, "--data-dir", self.directory, "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]
                + self.arguments,
                stdin=subprocess.DEVNULL, stdout=write, stderr=log, preexec_fn=self.preexec)
        os.close(write)
        line = b""
        deadline = time.monotonic() + timeout_s
        while not line.endswith(b"\n"):
            piece = os.read(read, 4096)
            if not piece or time.monotonic() > deadline:
                os.close(read)
                self.process.wait()
                raise RuntimeError("sisald did not start; its log:\n" + self.log_tail())
            line += piece
        os.close(read)
        ready = json.loads(line)
        self.address = ready["grpc"]
        self.http = ready["http"]
        return self

    def log_tail(self):
        with open(self.log_path, "rb") as log:
            return log.read()[-4000:].decode(errors="replace")

    def kill(self):
        """As a power cut for the process: SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """In order. Returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, *_):
        if self.running():
            self.kill()
        if self.owned:
            shutil.rmtree(self.directory, ignore_errors=True)
            if os.path.exists(self.log_path):
                os.unlink(self.log_path)


class SqlError(Exception):
    """A gRPC error with the SqlError that travels in its details."""

    def __init__(self, rpc_error):
        self.code = rpc_error.code()
        self.message = rpc_error.details()
        self.sql = sql_error_pb2.SqlError()
        self.reason = ""
        self.retry_ms = None
        for key, value in rpc_error.trailing_metadata() or ():
            if key != "grpc-status-details-bin":
                continue
            status = status_pb2.Status.FromString(value)
            for detail in status.details:
                if detail.Is(sql_error_pb2.SqlError.DESCRIPTOR):
                    detail.Unpack(self.sql)
                elif detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                    info = error_details_pb2.ErrorInfo()
                    detail.Unpack(info)
                    self.reason = info.reason
                elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                    info = error_details_pb2.RetryInfo()
                    detail.Unpack(info)
                    self.retry_ms = info.retry_delay.ToMilliseconds()
        self.sqlstate = self.sql.sqlstate
        super().__init__(f"{self.code.name} {self.sqlstate}: {self.message}")


def value(v):
    """A Python value as a sisal.v1.Value."""
    if v is None:
        return type_pb2.Value(null=True)
    if isinstance(v, bool):
        return type_pb2.Value(boolean=v)
    if isinstance(v, int):
        return type_pb2.Value(integer=v)
    if isinstance(v, float):
        return type_pb2.Value(number=v)
    if isinstance(v, bytes):
        return type_pb2.Value(blob=v)
    return type_pb2.Value(text=str(v))


def rows(header, batch):
    """Tuples out of a ColumnBatch."""
    columns = []
    for column in batch.columns:
        for name in ("integers", "numbers", "texts", "blobs", "booleans"):
            items = getattr(column, name)
            if len(items):
                break
        else:
            items = [None] * batch.row_count
        nulls = column.null_bitmap
        columns.append([None if nulls and nulls[i // 8] >> (i % 8) & 1 else items[i] for i in range(batch.row_count)])
    return [tuple(column[i] for column in columns) for i in range(batch.row_count)]


class Client:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = SqlServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def call(self, method, request, timeout=60):
        try:
            return getattr(self.stub, method)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise SqlError(error) from None

    def raw(self, sql, params=(), handle=None, begin=None, commit=False, key="", timeout=60):
        request = request_pb2.ExecuteRequest(
            statement=request_pb2_statement(sql, params),
            options=result_options(key))
        if handle is not None:
            request.transaction.handle = handle
        if begin is not None:
            request.transaction.begin.CopyFrom(begin)
        if commit:
            request.transaction.commit = True
        return self.call("Execute", request, timeout)

    def execute(self, sql, *params, **keywords):
        """Rows of a statement; [] if it returns none."""
        response = self.raw(sql, params, **keywords)
        return rows(response.header, response.chunk.batch)


def request_pb2_statement(sql, params):
    from sisal.v1 import result_pb2
    return result_pb2.Statement(sql=sql, params=[value(p) for p in params])


def result_options(key):
    from sisal.v1 import result_pb2
    return result_pb2.CallOptions(idempotency_key=key)
