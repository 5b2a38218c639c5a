"""Random tables, writes and queries on a real sisald and on a private PostgreSQL 15, whose answers must agree.

Compared: rows, counts and SQLSTATEs of each statement, and whole tables after each write, also inside transactions and
after a rollback. On Sisal alone: TLP (a query is the sum of its parts under p, NOT p and p IS NULL) and NoREC (a filter
finds as many rows as the same expression in the select list), and typed literals against parameters. Internal errors,
crashes and hangs are failures.

A failure is shrunk (statements, then expressions in parentheses) and printed with its seed.

Usage: differential_test.py [--seconds N] [--seed N] [--cases N] [--keep-going] [--no-shrink]
Without PostgreSQL 15 or the corpora's adapter only TLP and NoREC run; that is said loudly.
"""

import argparse
import collections
import decimal
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
CORPORA = os.environ.get("SISAL_CORPORA", os.path.join(REPOSITORY, "..", "shared", "corpora"))
POSTGRES_BIN = "/usr/lib/postgresql/15/bin"
sys.path.insert(0, os.path.join(CORPORA, "tools"))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "python"))
sys.path.insert(0, HERE)

if not os.path.exists(os.path.join(CORPORA, "tools", "slt.py")):
    print(f"*** SKIPPED: the corpora are not there ({CORPORA}); set SISAL_CORPORA ***")
    sys.exit(77)

import slt_pg  # noqa: E402
import slt_sisal  # noqa: E402
import sisal_server  # noqa: E402
from sisal_server import Server  # noqa: E402
from slt import ConnectionLost, SqlError  # noqa: E402
from foreign_key_cases import ForeignKeyCases  # noqa: E402
from sql_generator import Generator, Query  # noqa: E402

# Errors of values: one server may meet them where the other one never computes the value (order of conditions, pruned
# branches, rows that a limit leaves out). A read's answer counts only if both fail or none does.
VALUE_ERRORS = re.compile("^(22|21000)")
FOREIGN_KEY_SHARE = float(os.environ.get("FOREIGN_KEY_SHARE", "0.25"))  # of all cases
LITERAL = re.compile(r"\b(DATE|TIMESTAMP) '((?:[^']|'')*)'|(?<![\w.$')])(-?\d+(?:\.\d+)?)::(bigint|float8|numeric)\b")
INTERNAL = re.compile("^(XX|58|57|53|08)|StatusCode")


class Postgres:
    """A private cluster under /tmp, on a Unix socket, with collation C."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="sisal-pg-", dir="/tmp")
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.directory, self.user)
        self.data = os.path.join(self.directory, "data")
        self.run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "postgres",
            "--no-sync",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--lc-collate=C",
            "--lc-ctype=C.UTF-8",
        )
        self.process = subprocess.Popen(
            [
                os.path.join(POSTGRES_BIN, "postgres"),
                "-D",
                self.data,
                "-k",
                self.directory,
                "-h",
                "",
                "-F",
                "-c",
                "timezone=UTC",
            ],
            user=self.user,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, program, *arguments):
        subprocess.run(
            [os.path.join(POSTGRES_BIN, program), *arguments],
            user=self.user,
            cwd=self.directory,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def connect(self):
        for _ in range(600):
            try:
                connection = slt_pg.Connection(f"host={self.directory} port=5432 user=postgres dbname=postgres")
                connection.execute("SET client_min_messages = error")
                return connection
            except (OSError, ConnectionLost, SqlError):
                if self.process.poll() is not None:
                    raise
                time.sleep(0.05)
        raise RuntimeError("PostgreSQL did not start")

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Failure(Exception):
    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind  # what a shrunk case must show again


class Ambiguous(Exception):
    """The servers may rightly differ from here on: the case ends."""


def cell(v, loose):
    """A value as text in which equal answers are equal texts."""
    if v is None:
        return "NULL"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float):
        if math.isnan(v):
            return "f:NaN"
        return f"f:{0.0 if loose and v == 0 else v!r}"
    if isinstance(v, decimal.Decimal):
        return f"n:{v.normalize() + 0 if loose and v.is_finite() else v}"
    if isinstance(v, int):
        return f"i:{v}"
    return f"'{v}'"


def lines(rows, ordered, loose):
    texts = [" | ".join(cell(v, loose) for v in row) for row in rows]
    return texts if ordered else sorted(texts)


def difference(ours, theirs, ordered):
    if ordered:
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        counts = f"{len(ours)} rows and {len(theirs)}; first at row {at}"
        return f"{counts}:\n  ours   {ours[at:at + 3]}\n  theirs {theirs[at:at + 3]}"
    a, b = collections.Counter(ours), collections.Counter(theirs)
    return (
        f"{len(ours)} rows and {len(theirs)}\n  only ours   {list((a - b).elements())[:4]}\n"
        f"  only theirs {list((b - a).elements())[:4]}"
    )


class Judge:
    """Runs statements of a case on both servers and raises Failure at the first disagreement."""

    def __init__(self, server, postgres):
        self.server, self.postgres = server, postgres
        self.counts = collections.Counter()
        self.unsupported = collections.Counter()
        self.connect()

    def connect(self):
        self.ours = slt_sisal.Connection(self.server.address)
        self.theirs = self.postgres.connect() if self.postgres else None
        self.open = False

    def begin_case(self):
        self.open = False
        self.tables = []
        self.ours.rollback()
        for (name,) in self.ours.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )[1]:
            self.ours.execute(f"DROP TABLE {name} CASCADE")
        if self.theirs:
            self.theirs.execute("ROLLBACK")
            self.theirs.execute("DROP SCHEMA public CASCADE")
            self.theirs.execute("CREATE SCHEMA public")

    def ask(self, connection, sql):
        """(names, rows, affected, None) or (None, None, None, sqlstate)."""
        try:
            answer = connection.execute(sql)
            return answer[0], answer[1], answer[2] if len(answer) > 2 else None, None, ""
        except SqlError as error:
            return None, None, None, error.sqlstate, str(error)

    def ask_ours(self, sql):
        started = time.monotonic()
        try:
            answer = self.ask(self.ours, sql)
        except ConnectionLost as error:
            raise Failure("lost", f"the connection is lost: {error}") from None
        if answer[3] == "StatusCode.DEADLINE_EXCEEDED":
            return None, None, None, "57014", answer[4]
        if answer[3] and INTERNAL.match(answer[3]):
            raise Failure("internal " + answer[3], f"{answer[3]} {answer[4]} after {time.monotonic() - started:.1f} s")
        return answer

    def run(self, step):
        kind, payload = step
        self.counts[kind] += 1
        if kind == "partition":
            return self.partition(*payload)
        if kind == "unoptimized":
            return self.unoptimized(*payload)
        self.compare(kind, payload)

    def compare(self, kind, query):
        sql = query.sql
        ours = self.ask_ours(sql)
        if ours[3] == "0A000":
            self.counts["unsupported"] += 1
            self.unsupported[ours[4][:70]] += 1
            return self.give_up()
        if not self.theirs:
            return self.track(sql, ours[3])
        theirs = self.ask(self.theirs, sql)
        if theirs[3] == "57014":  # slow by nature: theirs has 20 s, ours 60
            self.counts["slow"] += 1
            return self.give_up()
        if ours[3] != theirs[3] and self.order_decides(sql, ours[3], theirs[3]):
            raise Ambiguous
        if ours[3] != theirs[3]:
            # A write that finds no row computes nothing here; PostgreSQL folds its constants all the same.
            harmless = kind == "query" or (ours[3] is None and not ours[2] and not ours[1])
            if harmless and all(e is None or VALUE_ERRORS.match(e) for e in (ours[3], theirs[3])):
                self.counts["value errors"] += 1
                return self.give_up()
            raise Failure(
                f"sqlstate {ours[3]} {theirs[3]}", f"ours {ours[3]} {ours[4]}, theirs {theirs[3]} {theirs[4]}"
            )
        self.counts["errors" if ours[3] else "answers"] += 1
        if not ours[3]:
            self.compare_answers(kind, query, ours, theirs)
        self.track(sql, ours[3])
        if kind == "write" or sql == "ROLLBACK":
            self.compare_tables()
        if kind == "query" and not ours[3]:
            self.compare_parameters(query)

    def compare_parameters(self, query):
        """The same query with its typed literals as parameters."""
        values = []

        def replace(match):
            word, quoted, number, type_ = match.groups()
            value = (type_ or word.lower(), quoted.replace("''", "'") if quoted is not None else number)
            if value not in values:
                values.append(value)
            return f"${values.index(value) + 1}::{value[0]}"

        sql = LITERAL.sub(replace, query.sql)
        if not values:
            return
        handle = self.ours.handle or None
        try:
            literal = self.ours.client.raw(query.sql, handle=handle)
            bound = self.ours.client.raw(sql, [v for _, v in values], handle=handle)
        except sisal_server.SqlError as error:
            raise Failure(f"parameters {error.sqlstate}", f"{sql} with {values}: {error}") from None
        if literal.more or bound.more:
            return
        a, b = (lines(sisal_server.rows(r.header, r.chunk.batch), query.ordered, True) for r in (literal, bound))
        if a != b:
            raise Failure("parameters", f"{sql} with {values}: " + difference(a, b, query.ordered))

    @staticmethod
    def order_decides(sql, ours, theirs):
        """Which of several errors comes first, and whether an UPDATE moves a key onto one that is about to move away,
        depends on the order of rows; and PostgreSQL folds the constants of a DO UPDATE that never happens."""
        if sql.startswith(("SELECT", "WITH")) and not (ours and theirs and ours[:2] == "42"):
            return False
        if sql.startswith("UPDATE") and {ours, theirs} == {None, "23505"}:
            return True
        both = ours and theirs and all(re.match("^(22|23|21)", e) for e in (ours, theirs))
        if ours and theirs and ours[:2] == theirs[:2] == "42":
            return True  # two faults in one text
        if theirs is None and ours.startswith("22") and " WHERE " in sql:
            return True  # a condition that theirs has not looked at
        lists_rows = re.match(r"INSERT INTO [^(]*(\([^)]*\))? *VALUES", sql)
        return (both and (not lists_rows or "RETURNING" in sql or "DO UPDATE" in sql)) or (
            ours is None and theirs[:2] == "22" and "DO UPDATE" in sql
        )

    def compare_answers(self, kind, query, ours, theirs):
        if kind == "write" and "RETURNING" not in query.sql and ours[2] != theirs[2]:
            raise Failure("affected", f"ours {ours[2]} rows affected, theirs {theirs[2]}")
        if [n for n in ours[0]] != [n for n in theirs[0]]:
            raise Failure("names", f"columns: ours {ours[0]}, theirs {theirs[0]}")
        a, b = (lines(x[1], query.ordered, query.loose) for x in (ours, theirs))
        if a != b:
            raise Failure("rows", difference(a, b, query.ordered))

    def track(self, sql, error):
        word = sql.split()[0]
        if error and self.open:
            self.give_up()
        elif word == "BEGIN":
            self.open = True
        elif word in ("COMMIT", "ROLLBACK"):
            self.open = False
        match = re.match(r"CREATE TABLE (\w+)", sql)
        if match and not error:
            self.tables.append(match[1])

    def give_up(self):
        """One of the two may have failed its transaction."""
        if self.open:
            self.ours.rollback()
            if self.theirs:
                self.theirs.execute("ROLLBACK")
            self.open = False
            self.compare_tables()

    def compare_tables(self):
        if not self.theirs:
            return
        for name in self.tables:
            sql = f"SELECT * FROM {name}"
            ours, theirs = self.ask_ours(sql), self.ask(self.theirs, sql)
            if ours[3] or theirs[3]:
                if ours[3] != theirs[3]:
                    raise Failure("table", f"{name}: ours {ours[3]} {ours[4]}, theirs {theirs[3]} {theirs[4]}")
                continue
            a, b = lines(ours[1], False, False), lines(theirs[1], False, False)
            if a != b:
                raise Failure("table", f"{name} differs: " + difference(a, b, False))

    def partition(self, whole, parts, how):
        answers = [self.ask_ours(sql) for sql in [whole] + parts]
        if any(a[3] for a in answers):
            return self.give_up()
        whole, *parts = [a[1] for a in answers]
        if how in ("count", "max"):
            a, b = whole[0][0], sum(p[0][0] for p in parts)
            if a != b:
                raise Failure("TLP", f"{a} rows in all, {b} in the parts {parts}")
            return
        a, b = lines(whole, False, True), lines([r for p in parts for r in p], False, True)
        if how == "distinct":
            a, b = sorted(set(a)), sorted(set(b))
        if a != b:
            raise Failure("TLP", "all and the sum of the parts: " + difference(a, b, False))

    def unoptimized(self, filtered, computed):
        a, b = self.ask_ours(filtered), self.ask_ours(computed)
        if a[3] or b[3]:
            return self.give_up()
        found, expected = a[1][0][0], sum(1 for row in b[1] if row[0])
        if found != expected:
            raise Failure("NoREC", f"the filter finds {found}, the expression is true {expected} times")


def make_case(rng):
    """Steps of one case: (kind, payload)."""
    if rng.random() < FOREIGN_KEY_SHARE:
        yield from make_foreign_key_case(rng)
        return
    generator = Generator(rng)
    for sql in generator.make_tables():
        yield "ddl", Query(sql)
    for _ in range(rng.randint(3, 8)):
        yield "write", generator_insert(generator)
    in_transaction = False
    for _ in range(rng.randint(20, 60)):
        draw = rng.random()
        if draw < 0.3:
            yield "write", generator.write()
        elif draw < 0.36:
            yield "ddl", Query(generator.index_statement())
        elif draw < 0.39 and (not in_transaction or rng.random() < 0.2):
            yield "ddl", Query(generator.alter_statement())
        elif draw < 0.43:
            word = rng.choice(["COMMIT", "ROLLBACK"]) if in_transaction else "BEGIN"
            in_transaction = not in_transaction
            yield "control", Query(word)
        elif draw < 0.435:
            yield "write", generator.bulk()
        elif draw < 0.80:
            yield "query", generator.query()
        elif draw < 0.9:
            yield "partition", generator.partition()
        else:
            yield "unoptimized", generator.unoptimized()


def make_foreign_key_case(rng):
    cases = ForeignKeyCases(rng)
    for sql in cases.ddl():
        yield "ddl", Query(sql)
    in_transaction = False
    for _ in range(rng.randint(20, 60)):
        if rng.random() < 0.1:
            word = rng.choice(["COMMIT", "ROLLBACK"]) if in_transaction else "BEGIN"
            in_transaction = not in_transaction
            yield "control", Query(word)
        else:
            yield "write", Query(cases.write())


def generator_insert(generator):
    return Query(generator.insert(generator.pick(generator.tables)))


# ---- shrinking


def fails(judge, steps, kind):
    """Whether these steps end in a failure of this kind; the failure if they do."""
    try:
        judge.begin_case()
        for step in steps:
            judge.run(step)
    except Failure as failure:
        return failure if failure.kind == kind else None
    except (ConnectionLost, Ambiguous):
        return None
    return None


def shrink(judge, steps, failure, seconds):
    deadline = time.monotonic() + seconds
    kind = failure.kind
    size = max(1, len(steps) // 2)
    while size and time.monotonic() < deadline:  # statements
        at = 0
        while at < len(steps) - 1 and time.monotonic() < deadline:
            fewer = steps[:at] + steps[min(at + size, len(steps) - 1) :]
            found = fails(judge, fewer, kind)
            if found:
                steps, failure = fewer, found
            else:
                at += size
        size //= 2
    changed = True
    while changed and time.monotonic() < deadline:  # expressions of all that is left, the last statement first
        changed = False
        for at in reversed(range(len(steps))):
            for candidate in smaller(steps[at]):
                if time.monotonic() > deadline:
                    break
                tried = steps[:at] + [candidate] + steps[at + 1 :]
                found = fails(judge, tried, kind)
                if found:
                    steps, failure, changed = tried, found, True
                    break
    return steps, failure


def smaller(step):
    kind, payload = step
    if isinstance(payload, Query):
        for text in smaller_texts(payload.sql):
            yield kind, Query(text, payload.ordered and "ORDER BY" in text, payload.loose)
    elif kind == "unoptimized":
        source, p = re.match(r"SELECT count\(\*\) FROM (.*?) WHERE (.*)$", payload[0], re.S).groups()
        if f"SELECT ({p} IS TRUE) FROM {source}" == payload[1]:
            for text in smaller_texts(p):
                yield kind, (f"SELECT count(*) FROM {source} WHERE {text}", f"SELECT ({text} IS TRUE) FROM {source}")
            for text in smaller_texts(source):
                yield kind, (f"SELECT count(*) FROM {text} WHERE {p}", f"SELECT ({p} IS TRUE) FROM {text}")


def groups(text):
    """(begin, end) of what stands in parentheses, outermost first."""
    stack, found, quoted = [], [], False
    for i, c in enumerate(text):
        if c == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif c == "(":
            stack.append(i)
        elif c == ")" and stack:
            found.append((stack.pop(), i + 1))
    return sorted(found, key=lambda g: g[0] - g[1])


def smaller_texts(text):
    for pattern in (
        r" LIMIT \d+",
        r" OFFSET \d+",
        r" ORDER BY [^()]*$",
        r" HAVING .*$",
        r" RETURNING .*$",
        r" WHERE .*$",
        r" DISTINCT(?= )",
        r" (UNION|INTERSECT|EXCEPT)( ALL)? .*$",
        r" FILTER \(.*?\)(?=,| FROM)",
    ):
        yield from (text[: m.start()] + text[m.end() :] for m in re.finditer(pattern, text))
    found = groups(text)
    for begin, end in found:
        inner = [g for g in found if begin < g[0] and g[1] < end]
        for replacement in ["NULL", "true"] + [text[a:b] for a, b in inner[:8]]:
            if end - begin > len(replacement):
                yield text[:begin] + replacement + text[end:]
        body = text[begin + 1 : end - 1]
        pieces = top_level(body, ", ")
        if len(pieces) > 1:
            for i in range(len(pieces)):
                yield text[: begin + 1] + ", ".join(pieces[:i] + pieces[i + 1 :]) + text[end - 1 :]
    match = re.match(r"(SELECT )(.*?)( FROM .*)$", text, re.S)
    if match:
        pieces = top_level(match[2], ", ")
        for i in range(len(pieces) if len(pieces) > 1 else 0):
            yield match[1] + ", ".join(pieces[:i] + pieces[i + 1 :]) + match[3]
    match = re.match(r"(INSERT .* VALUES )(.*?)( ON CONFLICT .*| RETURNING .*)?$", text, re.S)
    if match:
        pieces = top_level(match[2], ", ")
        for i in range(len(pieces) if len(pieces) > 1 else 0):
            yield match[1] + ", ".join(pieces[:i] + pieces[i + 1 :]) + (match[3] or "")


def top_level(text, separator):
    pieces, depth, quoted, begin = [], 0, False, 0
    for i, c in enumerate(text):
        if c == "'":
            quoted = not quoted
        if quoted:
            continue
        depth += (c == "(") - (c == ")")
        if depth == 0 and text.startswith(separator, i):
            pieces.append(text[begin:i])
            begin = i + len(separator)
    return pieces + [text[begin:]]


def show(step):
    kind, payload = step
    if isinstance(payload, Query):
        return payload.sql + ";"
    texts = [payload[0]] + (payload[1] if isinstance(payload[1], list) else [payload[1]])
    return f"-- {kind}\n" + "\n".join(t + ";" for t in texts)


# ---- main


def run_case(judge, seed, options):
    """None, or the text of a failure."""
    steps = []
    try:
        judge.begin_case()
        for step in make_case(random.Random(seed)):
            steps.append(step)
            judge.run(step)
        return None
    except Ambiguous:
        judge.counts["ambiguous"] += 1
        return None
    except Failure as failure:
        at = len(steps)
        if not judge.server.running():
            text = f"seed {seed}, statement {at}: the server died\n{judge.server.log_tail()}"
            text += "\n".join(show(s) for s in steps)
            judge.server.start()
            judge.connect()
            return text
        if not options.no_shrink:
            steps, failure = shrink(judge, steps, failure, options.shrink_seconds)
        judge.connect()
        return f"seed {seed}, statement {at}: {failure.kind}\n" + "\n".join(show(s) for s in steps) + f"\n-- {failure}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None, help="of the first case; the others count up from it")
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--keep-going", action="store_true", help="after a failure")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--shrink-seconds", type=float, default=60)
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    postgres = None
    if os.path.exists(os.path.join(POSTGRES_BIN, "postgres")):
        postgres = Postgres()
    else:
        print(f"*** PostgreSQL 15 is not there ({POSTGRES_BIN}): only TLP and NoREC run ***")
    failures, case = [], 0
    try:
        with Server() as server:
            judge = Judge(server, postgres)
            deadline = time.monotonic() + options.seconds
            while time.monotonic() < deadline and case < options.cases:
                failure = run_case(judge, first + case, options)
                case += 1
                if failure:
                    failures.append(failure)
                    print("FAILED:", failure, "\n", flush=True)
                    if not options.keep_going:
                        break
            print(f"seeds {first} to {first + case - 1}:", dict(judge.counts), flush=True)
            for message, count in judge.unsupported.most_common(20):
                print(f"  not supported, {count} times: {message}")
            if server.stop() != 0:
                failures.append("exit code")
    finally:
        if postgres:
            postgres.close()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
