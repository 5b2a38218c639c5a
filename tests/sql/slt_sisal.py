"""Adapter of slt.py and isospec.py (../shared/corpora/tools) for sisald, through the public stubs.

    SISAL_BIN=build/release/bin SISAL_STUBS=build/release/python/stubs \
      build/release/python/bin/python CORPORA/tools/slt.py --connect tests/sql/slt_sisal.py:Connection \
      --arg HOST:PORT FILE...

One Connection is one client: it keeps the handle of the transaction that SQL's BEGIN opened.
"""

import datetime
import decimal
import os
import re
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import grpc  # noqa: E402
import sisal_server  # noqa: E402
from sisal.v1 import request_pb2, result_pb2, sql_service_pb2, transaction_pb2, type_pb2  # noqa: E402

from slt import ConnectionLost, SqlError  # noqa: E402

T = type_pb2.TypeCode
EPOCH = datetime.date(1970, 1, 1).toordinal()
INFINITY, MINUS_INFINITY = 2**63 - 1, -(2**63)
GONE = (grpc.StatusCode.UNAVAILABLE,)


def date_text(days):
    if days in (INFINITY, MINUS_INFINITY):
        return "infinity" if days == INFINITY else "-infinity"
    ordinal = days + EPOCH
    if 1 <= ordinal <= datetime.date.max.toordinal():
        return datetime.date.fromordinal(ordinal).isoformat()
    # Outside of Python's calendar: the same date some whole 400-year cycles away.
    cycles = (ordinal - 1) // 146097
    shifted = datetime.date.fromordinal(ordinal - cycles * 146097)
    year = shifted.year + 400 * cycles
    text = f"{year if year > 0 else 1 - year:04d}-{shifted.month:02d}-{shifted.day:02d}"
    return text if year > 0 else text + " BC"


def time_text(micros):
    seconds, fraction = divmod(micros, 1000000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text + (f".{fraction:06d}".rstrip("0") if fraction else "")


def timestamp_text(micros, zone):
    if micros in (INFINITY, MINUS_INFINITY):
        return "infinity" if micros == INFINITY else "-infinity"
    days, rest = divmod(micros, 86400 * 1000000)
    date = date_text(days)
    era = " BC" if date.endswith(" BC") else ""
    return f"{date.removesuffix(' BC')} {time_text(rest)}{zone}{era}"


def convert(code):
    if code == T.TYPE_CODE_NUMERIC:
        return decimal.Decimal
    if code == T.TYPE_CODE_DATE:
        return date_text
    if code == T.TYPE_CODE_TIME:
        return time_text
    if code == T.TYPE_CODE_TIMESTAMP:
        return lambda v: timestamp_text(v, "")
    if code == T.TYPE_CODE_TIMESTAMPTZ:
        return lambda v: timestamp_text(v, "+00")
    if code == T.TYPE_CODE_UUID:
        return lambda v: str(uuid.UUID(bytes=v))
    if code == T.TYPE_CODE_BYTEA:
        return lambda v: "\\x" + v.hex()
    if code == T.TYPE_CODE_REAL:
        return real_value
    return lambda v: v


def real_value(v):
    """The shortest number that gives the same float."""
    import struct
    for digits in range(6, 10):
        text = f"{v:.{digits}g}"
        try:
            if struct.pack("f", float(text)) == struct.pack("f", v):
                return float(text)
        except OverflowError:
            break
    return v


class Connection:
    def __init__(self, arg):
        self.address = arg
        self.client = sisal_server.Client(arg)
        self.handle = b""

    def reset(self):
        self.rollback()
        tables = self.execute(
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'"
        )[1]
        for name, kind in sorted(tables, key=lambda table: table[1] != "VIEW"):
            quoted = '"' + name.replace('"', '""') + '"'
            self.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} IF EXISTS {quoted} CASCADE")

    def rollback(self):
        if self.handle:
            try:
                self.execute("ROLLBACK")
            except SqlError:
                pass
            self.handle = b""

    def session(self, name):
        return Connection(self.address)

    def close(self):
        self.rollback()
        self.client.close()

    def execute(self, sql):
        statements = [s for s in split(sql) if s.strip()]
        result = ([], [])
        for statement in statements:
            result = self.one(statement)
        return result

    def one(self, sql):
        request = request_pb2.ExecuteRequest(statement=result_pb2.Statement(sql=sql))
        if self.handle:
            request.transaction.handle = self.handle
        try:
            response = self.client.stub.Execute(request, timeout=60)
        except grpc.RpcError as error:
            failure = sisal_server.SqlError(error)
            if failure.sqlstate in ("25P03", "08007"):
                self.handle = b""
            if not failure.sqlstate and failure.code in GONE:
                raise ConnectionLost(str(failure)) from None
            raise SqlError(failure.message, failure.sqlstate or str(failure.code)) from None
        state = response.trailer.transaction
        ended = state.phase in (transaction_pb2.TRANSACTION_PHASE_COMMITTED, transaction_pb2.TRANSACTION_PHASE_ROLLED_BACK)
        if ended:
            self.handle = b""
        elif state.handle:
            self.handle = state.handle
        if not response.HasField("header"):
            return [], [], response.trailer.rows_affected
        rows = list(self.rows(response.header, response.chunk.batch))
        if response.more:
            rows += self.rest(request, response)
        return [c.name for c in response.header.columns], rows

    def rest(self, request, response):
        query = sql_service_pb2.QueryRequest(statement=request.statement, resume_token=response.more)
        if self.handle:
            query.transaction.handle = self.handle
        for part in self.client.stub.Query(query, timeout=120):
            yield from self.rows(response.header, part.chunk.batch)

    def rows(self, header, batch):
        makers = [convert(c.type) for c in header.columns]
        for row in sisal_server.rows(header, batch):
            yield tuple(None if v is None else make(v) for make, v in zip(makers, row))


TOKEN = re.compile(
    r"""(?P<skip>--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|[eE]'(?:[^'\\]|\\.|'')*')|(?P<dollar>\$(?:[A-Za-z_]\w*)?\$)|(?P<open>/\*)|(?P<end>;)""",
    re.S)


def split(sql):
    """Statements of a text, at semicolons outside of quotes and comments."""
    at = start = 0
    while True:
        match = TOKEN.search(sql, at)
        if match is None:
            yield sql[start:]
            return
        at = match.end()
        if match["dollar"]:
            close = sql.find(match["dollar"], at)
            at = len(sql) if close < 0 else close + len(match["dollar"])
        elif match["open"]:
            close = sql.find("*/", at)
            at = len(sql) if close < 0 else close + 2
        elif match["end"]:
            yield sql[start:match.start()]
            start = at
