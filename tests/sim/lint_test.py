"""The lint lets the engine pass, and finds each thing that it is there for."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINT = ROOT / "scripts/lint"

FORBIDDEN = [
    "auto t = std::chrono::steady_clock::now();",
    "::clock_gettime(CLOCK_REALTIME, &t);",
    "std::thread worker([] {});",
    "std::mutex mutex;",
    "std::condition_variable changed;",
    "std::random_device device;",
    "::fsync(fd);",
    "const ssize_t n = ::pwrite(fd, p, 1, 0);",
    "#include <fstream>",
    "std::this_thread::sleep_for(x);",
]
ALLOWED = ["// steady_clock in a comment", 'f("std::mutex");', "std::lock_guard lock(latch);", "file.read(x);",
           "std::this_thread::yield();", "Reader::read(x);"]


def run(*arguments):
    return subprocess.run([LINT, *arguments], capture_output=True, text=True)


def check_line(line, expected):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "engine/wal/src/x.cc"
        source.parent.mkdir(parents=True)
        source.write_text(line + "\n")
        done = run(directory)
    if done.returncode != expected:
        sys.exit(f"{line!r}: the lint answers {done.returncode}: {done.stdout}")


for forbidden in FORBIDDEN:
    check_line(forbidden, 1)
for allowed in ALLOWED:
    check_line(allowed, 0)
engine = run()
if engine.returncode != 0:
    sys.exit(engine.stdout)
