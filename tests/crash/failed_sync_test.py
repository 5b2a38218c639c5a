"""A write or sync of the log fails under a running server, by the kernel's hand: what the clients are told, and what a
restart finds.

  --fault limit     the process may not write beyond the first blocks of a file any more (prlimit: EFBIG on write)
  --fault device    the device below the store's file system fails each write and flush: EIO. Needs root.
  --fault shutdown  the store's file system is shut down as after a fatal error of its own, its journal not flushed:
                    EIO on all that goes to the disk. Needs root.

Asserted, with writers on several connections:
  - the commits in the failed flush get 08007, all later ones 58030, DDL too; there is no other answer;
  - reads go on;
  - after a restart each acknowledged transaction is there, none that was answered 58030 is, those answered 08007 are
    there whole or not at all; and the store takes writes again.
"""

import argparse
import collections
import fcntl
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kill_test import ACCOUNTS, START_BALANCE, Writer, audit_paged  # noqa: E402
from sisal_server import Client, Server, SqlError  # noqa: E402

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
EXT4_GOING_FLAGS_NOLOGFLUSH = 2
SEEN_AFTERWARDS = 3


def skip(why):
    print(f"*** SKIPPED: {why} ***", flush=True)
    sys.exit(77)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def require_mounts():
    if os.geteuid() != 0:
        skip("a file system of its own needs root")
    for program in ("mkfs.ext4", "mount", "umount"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


class FaultWriter(Writer):
    """Commits until it has been refused a few times."""

    def one(self, client, sequence):
        go_on = super().one(client, sequence)
        refused = sum("58030" in error for error in self.failed.values())
        return go_on and refused < SEEN_AFTERWARDS

    def refused(self):
        return any("58030" in error for error in list(self.failed.values()))


class LimitFault:
    """Nothing to prepare; the next process has no limit."""

    def __init__(self, scratch):
        self.directory = os.path.join(scratch, "data")

    def strike(self, server):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))

    def lift(self):
        pass

    def close(self):
        pass


class Ext4:
    """A file system of its own in `image`, on a loop device."""

    def __init__(self, image, mount_point, image_bytes):
        self.image = image
        self.mount_point = mount_point
        self.mounted = False
        os.mkdir(mount_point)
        with open(image, "wb") as file:
            file.truncate(image_bytes)
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
        result = self.try_mount()
        if result.returncode != 0:
            skip(f"this machine mounts no loop device: {result.stderr.strip()}")

    def try_mount(self):
        result = subprocess.run(["mount", "-o", "loop", self.image, self.mount_point], capture_output=True, text=True)
        self.mounted = result.returncode == 0
        return result

    def mount(self):
        for attempt in range(50):
            result = self.try_mount()
            if self.mounted:
                return
            time.sleep(0.1)
        raise RuntimeError(result.stderr)

    def unmount(self):
        # A killed process's last writes may hold it for a moment.
        for attempt in range(100):
            if subprocess.run(["umount", self.mount_point], capture_output=True).returncode == 0:
                self.mounted = False
                return
            time.sleep(0.1)
        raise RuntimeError("the file system stays busy")

    def shut_down(self):
        root = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH.to_bytes(4, sys.byteorder))
        finally:
            os.close(root)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "--lazy", self.mount_point], check=False)


class ShutdownFault:
    def __init__(self, scratch):
        require_mounts()
        self.own = Ext4(os.path.join(scratch, "image"), os.path.join(scratch, "mounted"), 128 << 20)
        self.directory = os.path.join(self.own.mount_point, "data")

    def strike(self, server):
        self.own.shut_down()

    def lift(self):
        self.own.unmount()
        self.own.mount()

    def close(self):
        self.own.close()


class DeviceFault:
    """The store's ext4 lies on a device whose backing file's file system is shut down. (A full tmpfs below would not
    do: of a write that finds space for its first block only, the loop driver reports success.)"""

    def __init__(self, scratch):
        require_mounts()
        self.below = Ext4(os.path.join(scratch, "image"), os.path.join(scratch, "below"), 256 << 20)
        try:
            self.own = Ext4(os.path.join(self.below.mount_point, "image"), os.path.join(scratch, "mounted"), 128 << 20)
        except BaseException:
            self.below.close()
            raise
        self.directory = os.path.join(self.own.mount_point, "data")

    def strike(self, server):
        self.below.shut_down()

    def lift(self):
        self.own.unmount()
        self.below.unmount()
        self.below.mount()
        self.own.mount()

    def close(self):
        self.own.close()
        self.below.close()


FAULTS = {"limit": LimitFault, "device": DeviceFault, "shutdown": ShutdownFault}


def expect_refused(client, sql):
    try:
        client.execute(sql)
    except SqlError as error:
        assert error.sqlstate == "58030", f"{sql}: {error}"
    else:
        raise AssertionError(f"{sql} was accepted by a log that has failed")


def prepare(client):
    client.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)")
    client.execute("CREATE TABLE ledger (writer INTEGER, sequence INTEGER, source INTEGER, target INTEGER,"
                   " amount BIGINT, pad TEXT, PRIMARY KEY (writer, sequence))")
    for account in range(ACCOUNTS):
        client.execute("INSERT INTO account VALUES ($1, $2)", account, START_BALANCE)


def check_answers(writers):
    """Of one round. Returns how many commits are of unknown outcome."""
    codes = collections.Counter()
    for writer in writers:
        for error in writer.failed.values():
            codes[re.search(r"\b([0-9A-Z]{5}):", error).group(1)] += 1
    # Conflicts are answers of a healthy store.
    strange = set(codes) - {"58030", "40001", "40P01"}
    assert not strange, f"unexpected answers: {codes}"
    unknown = sum(len(writer.unknown) for writer in writers)
    assert unknown <= len(writers), f"{unknown} commits of unknown outcome from {len(writers)} writers: more than a batch"
    assert codes["58030"] >= SEEN_AFTERWARDS * len(writers), f"{codes}"
    return unknown


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=sorted(FAULTS), required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writers", type=int, default=8)
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="sisal-fault-")
    fault = FAULTS[options.fault](scratch)
    server = Server(directory=fault.directory, arguments=["--wal-segment-bytes", str(1 << 20)])
    server.log_path = os.path.join(scratch, "sisald.log")  # not on the disk that fails
    writers = []
    unknown = 0
    try:
        os.makedirs(fault.directory, exist_ok=True)
        server.start()
        client = Client(server.address)
        prepare(client)
        for round_number in range(options.rounds):
            running = [FaultWriter(round_number * options.writers + i, round_number * 1000 + i, 0, 400)
                       for i in range(options.writers)]
            writers += running
            for writer in running:
                writer.run_against(server.address)
            time.sleep(0.5)
            fault.strike(server)
            deadline = time.monotonic() + 30
            while not any(writer.refused() for writer in running):
                assert time.monotonic() < deadline, "the log never failed"
                time.sleep(0.01)
            for writer in running:
                writer.join(30)
                assert not writer.is_alive(), "a writer hangs"
            unknown += check_answers(running)
            # Reads go on; nothing that writes does.
            assert client.execute("SELECT count(*) FROM account")[0][0] == ACCOUNTS
            acknowledged = sum(len(writer.acknowledged) for writer in writers)
            assert client.execute("SELECT count(*) FROM ledger")[0][0] >= acknowledged
            expect_refused(client, "UPDATE account SET balance = balance WHERE id = 0")
            expect_refused(client, "CREATE TABLE refused (a INTEGER PRIMARY KEY)")
            client.close()
            server.kill()
            fault.lift()
            server.start()
            client = Client(server.address)
            count = audit_paged(client, writers)
            print(f"round {round_number + 1}: {count} transactions there, {acknowledged} acknowledged, "
                  f"{unknown} of unknown outcome", flush=True)
        client.close()
        assert unknown > 0, "no commit was in a flush that failed: the test did not test it"
        with open(server.log_path, errors="replace") as log:
            causes = re.findall(r"log: failed, no more writes until a restart: (.*)", log.read())
        assert len(causes) == options.rounds, causes
        print("the log failed by: " + "; ".join(re.sub(r'"[^"]*/([^"]*)"', r'"\1"', cause) for cause in causes))
        print("failed sync test: passed")
    except BaseException:
        if os.path.exists(server.log_path):
            print(server.log_tail(), file=sys.stderr)
        raise
    finally:
        if server.running():
            server.kill()
        fault.close()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
