"""The sisal command against a real server: scripts, formats, errors, \\copy, and a terminal with editing and Ctrl-C.

Usage: cli_test.py [unittest's arguments]
"""

import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from sisal_server import Server  # noqa: E402

SISAL = os.path.join(os.environ["SISAL_BIN"], "sisal")
server = None


def run(*arguments, script=None, address=None):
    """Exit code, standard output, standard error."""
    environment = dict(os.environ, SISAL_SERVER=address or server.address)
    done = subprocess.run([SISAL, *arguments], input=script, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


def sql(text, *arguments):
    """Standard output of statements that must succeed."""
    code, out, error = run(*arguments, "-c", text)
    if code != 0:
        raise AssertionError(f"{text}: exit {code}\n{error}")
    return out


class Terminal:
    """sisal at a pseudo-terminal of 80 columns, with a home of its own."""

    def __init__(self, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, TERM="xterm", SISAL_SERVER=server.address)
            os.execv(SISAL, [SISAL])
        self.text = ""

    def expect(self, wanted, timeout_s=20):
        """Reads up to `wanted` and returns what came before it."""
        deadline = time.monotonic() + timeout_s
        while wanted not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"{wanted!r} did not come; there is {self.text!r}")
            self.text += os.read(self.fd, 65536).decode()
        before, _, self.text = self.text.partition(wanted)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text, wanted="sisal=> "):
        self.type(text + "\r")
        return self.expect(wanted)

    def close(self):
        """The exit code; sisal must have been told to end."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


class ScriptTest(unittest.TestCase):
    def test_session_in_aligned_format(self):
        out = sql("CREATE TABLE s1 (id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(8,2));"
                  "INSERT INTO s1 VALUES (1, 'one', 1.5), (2, NULL, 20);"
                  "UPDATE s1 SET price = 3 WHERE id = 1; DELETE FROM s1 WHERE id = 7;"
                  "SELECT * FROM s1 ORDER BY id; INSERT INTO s1 VALUES (3, 'x') RETURNING id; DROP TABLE s1")
        self.assertEqual(out, "CREATE TABLE\nINSERT 0 2\nUPDATE 1\nDELETE 0\n"
                              " id | name | price \n----+------+-------\n  1 | one  |  3.00\n  2 |      | 20.00\n(2 rows)\n\n"
                              " id \n----\n  3\n(1 row)\n\nINSERT 0 1\nDROP TABLE\n")

    def test_values_as_postgres_prints_them(self):
        out = sql("SELECT true AS a, 1e20::double precision AS b, 0.1::real AS c, 'NaN'::double precision AS d, "
                  "'\\x00ff'::bytea AS e, date '2026-11-30' AS f, timestamp '2026-11-30 16:05:00.25' AS g, "
                  "timestamptz '2026-11-30 16:05:00+00' AS h, "
                  "uuid 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AS i, date 'infinity' AS j, NULL::text AS k, "
                  "-12.50::numeric AS l", "--format", "csv")
        self.assertEqual(out.splitlines()[1],
                         "t,1e+20,0.1,NaN,\\x00ff,2026-11-30,2026-11-30 16:05:00.25,2026-11-30 16:05:00+00,"
                         "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,infinity,,-12.50")

    def test_json(self):
        out = sql("SELECT 1 AS i, 9007199254740993 AS big, 1.10 AS n, 0.5::double precision AS d, 'a\"b' AS t, "
                  "false AS b, NULL::int AS z", "--format", "json")
        self.assertEqual(json.loads(out), [{"i": 1, "big": "9007199254740993", "n": "1.10", "d": 0.5, "t": 'a"b',
                                            "b": False, "z": None}])

    def test_csv_tells_null_from_empty(self):
        self.assertEqual(sql("SELECT NULL::text AS a, '' AS b, 'x,\"y' AS c", "--format", "csv"),
                         'a,b,c\n,"","x,""y"\n')

    def test_large_result_streams(self):
        out = sql("SELECT n, 'some text that makes the row longer ' || n AS t FROM generate_series(1, 200000) AS g(n)",
                  "--format", "csv")
        rows = list(csv.reader(io.StringIO(out)))
        self.assertEqual(len(rows), 200001)
        self.assertEqual(rows[-1], ["200000", "some text that makes the row longer 200000"])

    def test_transactions(self):
        code, out, error = run(script="CREATE TABLE t1 (a INTEGER PRIMARY KEY);\nBEGIN;\nINSERT INTO t1 VALUES (1);\n"
                                      "ROLLBACK;\nSELECT count(*) FROM t1;\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n"
                                      "INSERT INTO t1 VALUES (2);\nCOMMIT;\nSELECT a FROM t1;\nDROP TABLE t1;\n")
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(out.split(), "CREATE TABLE BEGIN INSERT 0 1 ROLLBACK count ------- 0 (1 row) BEGIN INSERT 0 1 "
                                      "COMMIT a --- 2 (1 row) DROP TABLE".split())

    def test_open_transaction_ends_with_the_script(self):
        sql("CREATE TABLE t2 (a INTEGER PRIMARY KEY)")
        sql("BEGIN; INSERT INTO t2 VALUES (1)")
        self.assertEqual(sql("INSERT INTO t2 VALUES (1); DROP TABLE t2"), "INSERT 0 1\nDROP TABLE\n")

    def test_expanded(self):
        self.assertEqual(run(script="SELECT 1 AS a, 'x' AS bc \\gx\n")[1], "-[ RECORD 1 ]\na  | 1\nbc | x\n\n")


class ErrorTest(unittest.TestCase):
    def test_error_has_sqlstate_and_position(self):
        code, out, error = run("-c", "SELECT 1;\nSELECT *\nFROM missing_table; SELECT 2")
        self.assertEqual(code, 1)
        self.assertEqual(out, " ?column? \n----------\n        1\n(1 row)\n\n")
        self.assertEqual(error, 'ERROR:  42P01: relation "missing_table" does not exist\n'
                                "LINE 2: FROM missing_table\n             ^\n")

    def test_position_counts_characters(self):
        self.assertEqual(run("-c", "SELECT '日本', x")[2].splitlines()[1:],
                         ["LINE 1: SELECT '日本', x", "                       ^"])

    def test_detail_is_shown(self):
        sql("CREATE TABLE e1 (a INTEGER PRIMARY KEY); INSERT INTO e1 VALUES (1)")
        code, _, error = run("-c", "INSERT INTO e1 VALUES (1)")
        self.assertEqual(code, 1)
        self.assertIn("ERROR:  23505: duplicate key value violates unique constraint \"e1_pkey\"", error)
        self.assertIn("DETAIL:  Key (a)=(1) already exists.", error)
        sql("DROP TABLE e1")

    def test_file_and_line_are_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write("SELECT 1;\n\nSELEC 2;\nSELECT 3;\n")
            file.flush()
            code, out, error = run("-f", file.name)
        self.assertEqual(code, 1)
        self.assertTrue(error.startswith(f"sisal:{file.name}:3: ERROR:  42601: syntax error at or near \"SELEC\""), error)
        self.assertNotIn("3", out)

    def test_exit_codes(self):
        self.assertEqual(run("-c", "SELECT 1")[0], 0)
        self.assertEqual(run("-c", "SELECT 1/0")[0], 1)
        self.assertEqual(run("-c", "\\nope")[0], 1)
        self.assertEqual(run("--nope")[0], 2)
        self.assertEqual(run("--format", "xml", "-c", "SELECT 1")[0], 2)
        self.assertEqual(run("-c", "SELECT 1", "-f", "x")[0], 2)
        self.assertEqual(run("-s", "no:port:here", "-c", "SELECT 1")[0], 2)
        code, _, error = run("-c", "SELECT 1", address="127.0.0.1:1")
        self.assertEqual(code, 3)
        self.assertIn("127.0.0.1:1: the server cannot be reached: Connection refused", error)

    def test_warning_goes_to_standard_error(self):
        code, out, error = run("-c", "ROLLBACK")
        self.assertEqual((code, out), (0, "ROLLBACK\n"))
        self.assertEqual(error, "WARNING:  25P01: there is no transaction in progress\n")

    def test_failed_transaction(self):
        code, out, error = run("-c", "BEGIN; SELECT 1/0")
        self.assertEqual((code, out), (1, "BEGIN\n"))
        self.assertIn("22012", error)

    def test_sigint_ends_a_script(self):
        process = subprocess.Popen([SISAL, "-s", server.address, "-c", "SELECT count(*) FROM generate_series(1, 10000000000)"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)  # not for correctness: an earlier signal ends it as well
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        if process.returncode == 1:
            self.assertEqual(error, "ERROR:  57014: canceling statement due to user request\n")


    def test_notice_is_no_warning(self):
        self.assertEqual(run("-c", "DROP TABLE IF EXISTS nothing"),
                         (0, "DROP TABLE\n", 'NOTICE:  table "nothing" does not exist, skipping\n'))


class DescribeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sql("CREATE TABLE d1 (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x', price NUMERIC(8,2), UNIQUE (name))")

    @classmethod
    def tearDownClass(cls):
        sql("DROP TABLE d1")

    def test_list(self):
        self.assertRegex(sql("\\d"), r"public \| d1 +\| table")
        self.assertRegex(sql("\\dt d*"), r"public \| d1 +\| table")
        self.assertEqual(run("-c", "\\dt nothing*")[0], 1)

    def test_table(self):
        out = sql("\\d d1")
        self.assertIn('Table "public.d1"', out)
        self.assertRegex(out, r"id +\| bigint +\| not null \| *\n")
        self.assertRegex(out, r"name +\| character varying\(20\) \| not null \| 'x'")
        self.assertRegex(out, r"price +\| numeric\(8,2\) +\| +\| *\n")
        self.assertIn('"d1_pkey" PRIMARY KEY, btree (id)', out)
        self.assertIn('"d1_name_key" UNIQUE CONSTRAINT, btree (name)', out)

    def test_indexes(self):
        self.assertRegex(sql("\\di"), r"public \| d1_pkey +\| d1")


class CopyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        sql("CREATE TABLE c1 (id INTEGER PRIMARY KEY, t TEXT, n NUMERIC(10,2), d DATE, b BYTEA)")

    def tearDown(self):
        sql("DROP TABLE c1")
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, text):
        with open(self.path("in.csv"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path("in.csv")

    def test_there_and_back(self):
        rows = "".join(f'{i},"text, {i}",{i}.25,2026-11-30,\\x{i % 256:02x}\n' for i in range(20000))
        path = self.write("id,t,n,d,b\n" + rows + '20000,"",,,\n20001,,1.00,,\n')
        self.assertEqual(sql(f"\\copy c1 from '{path}' csv header"), "COPY 20002\n")
        out = self.path("out.csv")
        self.assertEqual(sql(f"\\copy (SELECT * FROM c1 ORDER BY id) to '{out}' csv header"), "COPY 20002\n")
        with open(path, encoding="utf-8") as before, open(out, encoding="utf-8") as after:
            self.assertEqual(before.read(), after.read())

    def test_import_is_one_transaction(self):
        code, _, error = run("-c", f"\\copy c1 (id) from '{self.write('1' + chr(10) + '2' + chr(10) + 'x' + chr(10))}'")
        self.assertEqual(code, 1)
        self.assertIn("22P02", error)
        self.assertEqual(sql("SELECT count(*) FROM c1", "--format", "csv"), "count\n0\n")

    def test_standard_input_and_output(self):
        code, out, _ = run("-c", "\\copy c1 (id, t) from stdin", script="1,a\n2,b\n")
        self.assertEqual((code, out), (0, "COPY 2\n"))
        self.assertEqual(sql("\\copy c1 (t, id) to stdout"), "a,1\nb,2\n")

    def test_bad_lines_are_named(self):
        _, _, error = run("-c", f"\\copy c1 (id, t) from '{self.write('1,a' + chr(10) + '2' + chr(10))}'")
        self.assertIn('22P04: missing data for column "t"', error)
        self.assertIn("Line 2.", error)


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.terminal = Terminal(self.home.name)
        self.terminal.expect("sisal=> ")

    def tearDown(self):
        self.terminal.line("\\q", "\\q")
        self.assertEqual(self.terminal.close(), 0)
        self.home.cleanup()

    def test_prompts(self):
        terminal = self.terminal
        terminal.line("SELECT", "sisal-> ")
        terminal.line("'a", "sisal'> ")
        terminal.line("' AS x;", "sisal=> ")
        terminal.line("BEGIN;", "sisal=*> ")
        terminal.line("SELECT 1/0;", "sisal=!> ")
        terminal.line("ROLLBACK;", "sisal=> ")

    def test_control_c_drops_the_line(self):
        self.terminal.type("SELECT 'a\x03")
        self.terminal.expect("sisal=> ")
        self.assertIn("(1 row)", self.terminal.line("SELECT 1;"))

    def test_control_c_cancels_the_statement(self):
        wanted = "57014: canceling statement due to user request"
        deadline = time.monotonic() + 60
        self.terminal.text = "sisal=> "
        while wanted not in self.terminal.text and time.monotonic() < deadline:
            # Where Ctrl-C came before the statement ran, it dropped the line: once more.
            if self.terminal.text.endswith("sisal=> "):
                self.terminal.type("SELECT count(*) FROM generate_series(1, 10000000000);\r")
            time.sleep(0.2)
            self.terminal.type("\x03")
            time.sleep(0.2)
            while select.select([self.terminal.fd], [], [], 0)[0]:
                self.terminal.text += os.read(self.terminal.fd, 65536).decode()
        self.terminal.expect(wanted)
        self.terminal.line("SELECT 1;", "(1 row)")
        self.terminal.expect("sisal=> ")

    def test_control_c_stops_the_printing(self):
        self.terminal.type("SELECT n FROM generate_series(1, 3000000) AS g(n);\r")
        self.terminal.expect("\n    9")  # the first rows are being shown
        self.terminal.type("\x03")
        self.terminal.expect("57014: canceling statement due to user request")
        self.terminal.expect("sisal=> ")

    def test_help_guides_and_exit_leaves(self):
        self.assertIn("\\q to quit", self.terminal.line("help"))
        self.terminal.type("exit\r")
        self.assertEqual(self.terminal.close(), 0)
        self.terminal = Terminal(self.home.name)
        self.terminal.expect("sisal=> ")

    def test_hangup_rolls_the_transaction_back(self):
        sql("CREATE TABLE h1 (a INTEGER PRIMARY KEY)")
        self.terminal.line("BEGIN;", "sisal=*> ")
        self.terminal.line("INSERT INTO h1 VALUES (1);", "sisal=*> ")
        os.kill(self.terminal.pid, signal.SIGHUP)
        self.assertEqual(self.terminal.close(), 128 + signal.SIGHUP)
        self.assertEqual(sql("INSERT INTO h1 VALUES (1); DROP TABLE h1"), "INSERT 0 1\nDROP TABLE\n")
        self.terminal = Terminal(self.home.name)
        self.terminal.expect("sisal=> ")

    def test_history_outlives_the_program(self):
        self.terminal.line("SELECT", "sisal-> ")
        self.terminal.line("42 AS answer;")
        self.terminal.line("\\q", "\\q")
        self.terminal.close()
        self.terminal = Terminal(self.home.name)
        self.terminal.expect("sisal=> ")
        self.terminal.type("\x1b[A\x1b[A\r")
        self.terminal.expect("42")
        self.terminal.expect("(1 row)")
        self.terminal.expect("sisal=> ")

    def test_completion(self):
        sql("CREATE TABLE completed_by_tab (some_column INTEGER PRIMARY KEY)")
        self.terminal.type("sel\t* from completed\t")
        self.terminal.expect("by_tab")
        self.terminal.type("where some\t")
        self.terminal.expect("column")
        out = self.terminal.line("= 1;")
        self.assertIn("(0 rows)", out)
        sql("DROP TABLE completed_by_tab")

    def test_timing_and_expanded(self):
        self.terminal.line("\\timing", "Timing is on.")
        self.terminal.line("\\x", "Expanded display is on.")
        out = self.terminal.line("SELECT 1 AS a;", "Time: ")
        self.assertIn("-[ RECORD 1 ]", out)


if __name__ == "__main__":
    with Server() as running:
        server = running
        unittest.main(verbosity=1)
