"""sisal-sim as its users see it: sim_test.py PROGRAM repeat|plants|options"""
import re
import subprocess
import sys

program, what = sys.argv[1:3]


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def names(kind):
    return [line.split()[1] for line in run("--list").stdout.splitlines() if line.startswith(kind + " ")]


def fail(why, done):
    sys.exit(f"{why}\n{done.stdout}{done.stderr}")


def trace(scenario, seed):
    done = run("--scenario", scenario, "--seeds", "1", "--first-seed", str(seed))
    match = re.search(r"trace ([0-9a-f]{16})$", done.stdout, re.M)
    if done.returncode != 0 or not match:
        fail(f"{scenario} seed {seed}", done)
    return match.group(1)


def repeat():
    for scenario in names("scenario"):
        traces = {trace(scenario, seed): trace(scenario, seed) for seed in range(7, 12)}
        if any(first != again for first, again in traces.items()):
            sys.exit(f"{scenario}: a seed played twice gives two traces")
        if len(traces) < 2:
            sys.exit(f"{scenario}: all seeds give one trace")


def plants():
    for plant in names("plant"):
        done = run("--plant", plant)
        if done.returncode != 0 or f"plant {plant} found after" not in done.stdout:
            fail(f"plant {plant}", done)
        print(done.stdout, end="")


def options():
    for arguments in (["--scenario", "none"], ["--plant", "none"], ["--seeds", "x"], ["--seeds"], ["--what", "1"]):
        done = run(*arguments)
        if done.returncode != 2 or "usage:" not in done.stderr:
            fail(f"{arguments}", done)
    done = run("--scenario", "crash-recovery", "--plant", "ack-before-sync", "--seeds", "1", "--first-seed", "1000000")
    if done.returncode not in (0, 1):
        fail("one seed with a plant", done)


{"repeat": repeat, "plants": plants, "options": options}[what]()
