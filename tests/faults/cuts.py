#!/usr/bin/python3
"""Power cuts, as far as one machine can show them: the database lies on an ext4 of its own on a loop device. Under load everybody who
writes is stopped, the device is copied as it is (what was not flushed is not on it), and everybody goes on. The copy is mounted and
held against the ledgers of that moment; from the last of each group an engine goes on until everything has come to rest.

  cuts.py --store sqlite|postgres [--cuts N] [--only-group G]
  cuts.py --store sqlite --canary [--cuts N]     with synchronous=NORMAL: a cut must lose something, or cutting proves nothing

Needs root and loop devices; without them it says so and ends with 77."""
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import world
from server import Server, children_of
from world import FAULTS_BINARY, Failed, PostgresStore, World

PER_GROUP = {"sqlite": 20, "postgres": 5}
IMAGE_MB = {"sqlite": 128, "postgres": 512}


def sh(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def why_not():
    """Why no power can be cut here; empty when it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Disk(folder, "try", 8):
                return ""
        except Failed as failure:
            return str(failure)


class Disk:
    """An ext4 on a loop device over a file in memory."""

    def __init__(self, folder, name, megabytes=None, image=None):
        self.place = os.path.join(folder, name)
        self.image = image or os.path.join(folder, name + ".image")
        self.megabytes = megabytes

    def __enter__(self):
        if self.megabytes:
            with open(self.image, "wb") as file:
                file.truncate(self.megabytes << 20)
            sh("mkfs.ext4", "-q", "-F", self.image)
        os.makedirs(self.place, exist_ok=True)
        sh("mount", "-o", "loop", self.image, self.place)  # the device goes with the mount
        self.device = sh("findmnt", "--noheadings", "--output", "SOURCE", self.place)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.place], check=False, capture_output=True)
        if os.path.exists(self.image):
            os.unlink(self.image)

    def writes(self):
        """How many writes the device has seen."""
        with open(f"/sys/block/{os.path.basename(self.device)}/stat", encoding="ascii") as file:
            return int(file.read().split()[4])

    def copy(self, to):
        """The device as it is at one moment: copied again when the kernel wrote to it meanwhile."""
        for _ in range(50):
            before = self.writes()
            sh("cp", "--sparse=always", self.image, to)
            if self.writes() == before:
                return
        raise Failed("the device did not rest for as long as a copy takes")


class Group:
    """Some cuts of one run."""

    def __init__(self, options, number):
        self.options, self.number = options, number
        self.seed = options.seed * 1000 + number
        self.random = random.Random(f"{self.seed} cuts")
        self.on_postgres = options.store == "postgres"
        self.lost = 0

    def run(self, cuts):
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-cuts-", dir=world.memory_folder()))
            os.chmod(self.folder, 0o755)
            self.disk = stack.enter_context(Disk(self.folder, "disk", IMAGE_MB[self.options.store]))
            self.world = self.begin(stack)
            for _ in range(cuts):
                time.sleep(self.random.uniform(0.05, 0.35))
                self.cut("cut.image")
                self.judge("cut.image")
            said = f"{self.lost} of them lost something" if self.options.canary else self.finish()
        print(f"{self.options.store} group {self.number}: {cuts} cuts; {said}", flush=True)

    def begin(self, stack):
        store = None
        if self.on_postgres:
            place = os.path.join(self.disk.place, "postgres")
            os.mkdir(place)
            self.server = Server(place).initialize()
            self.server.start()
            stack.callback(self.server.stop)
            store = PostgresStore(self.server.url())
        here = stack.enter_context(World(store, self.options, self.seed, home=os.path.join(self.disk.place, "home")))
        here.start_provider()
        canary = self.options.canary
        self.engine = here.start_engine(0, FAULTS_BINARY if canary else world.BINARY,
                                        {"POSTRIDER_FAULT_SYNCHRONOUS": "NORMAL"} if canary else None).ready()
        os.sync()  # what an installation puts there before it is used
        here.start_client(synchronous="NORMAL" if canary else "FULL")
        here.wait_for_load()
        return here

    def finish(self):
        """One more cut; the run itself comes to its end and is judged, and then another engine goes on from the cut."""
        self.cut("last.image")
        self.world.settle(90)
        said = self.world.check()
        self.world.end_processes()
        return f"the run itself: {said}; gone on from the last: {self.judge('last.image', go_on=True)}"

    def cut(self, image):
        """A copy of the device and of the ledgers, with everybody stopped."""
        stopped = []
        parents = [self.engine.process.pid, self.world.client.pid] + ([self.server.postmaster()] if self.on_postgres else [])
        try:
            for parent in parents:
                for process in stopping(parent):
                    stopped.append(process)
            self.disk.copy(os.path.join(self.folder, image))
            shutil.copy(self.world.client_ledger, os.path.join(self.folder, "client.ledger"))
            shutil.copy(self.world.provider_ledger, os.path.join(self.folder, "provider.ledger"))
        finally:
            for process in reversed(stopped):
                os.kill(process, signal.SIGCONT)

    def judge(self, image, go_on=False):
        with contextlib.ExitStack() as stack:
            copy = stack.enter_context(Disk(self.folder, "copy", image=os.path.join(self.folder, image)))
            # Deliveries carry the address of their provider: whoever goes on finds it at the same port.
            there = stack.enter_context(World(self.open_store(copy, stack), self.options, self.seed, os.path.join(copy.place, "home"),
                                              self.world.provider_port))
            shutil.copy(os.path.join(self.folder, "client.ledger"), there.client_ledger)
            shutil.copy(os.path.join(self.folder, "provider.ledger"), there.provider_ledger)
            try:
                said = there.check("cut")
            except Failed as failure:
                if not self.options.canary:
                    raise
                self.lost += "FAIL  I1:" in str(failure)
                return ""
            if go_on:
                there.start_provider("well")
                there.start_engine().ready()
                there.rest()
                said = there.check("settled")
                there.end_processes()  # before their disk goes
            return said

    def open_store(self, copy, stack):
        if not self.on_postgres:
            path = os.path.join(copy.place, "home", "postrider.db")
            connection = sqlite3.connect(path)  # recovers what is in the log
            found = connection.execute("PRAGMA integrity_check").fetchone()[0]
            connection.close()
            if found != "ok":
                raise Failed(f"the database is damaged: {found}")
            return None
        server = Server(os.path.join(copy.place, "postgres"))
        os.unlink(os.path.join(server.data, "postmaster.pid"))  # names the server that lives on
        server.start()
        stack.callback(server.stop)
        return CutPostgres(server.url(), self.world.store.database)


class CutPostgres(PostgresStore):
    """The database of the copy; it goes with its disk."""

    def close(self):
        pass


def stopping(parent):
    """Stops a process and then its children, of which there can be no more then."""
    os.kill(parent, signal.SIGSTOP)
    yield parent
    for child in children_of(parent):
        os.kill(child, signal.SIGSTOP)
        yield child


def run(options):
    reason = why_not()
    if reason:
        print(f"SKIPPED: {options.store} was NOT tested against power cuts: {reason}", flush=True)
        return world.SKIPPED
    lost = 0
    for number, first in enumerate(range(0, options.cuts, PER_GROUP[options.store])):
        if options.only_group is not None and number != options.only_group:
            continue
        options.replay = world.replay_command(options, only_group=number)
        group = Group(options, number)
        group.run(min(PER_GROUP[options.store], options.cuts - first))
        lost += group.lost
    if not options.canary:
        print(f"{options.store}: {options.cuts} power cuts, nothing acknowledged was lost ({world.bound(options.cuts, 'cut')})")
    elif lost == 0:
        raise Failed(f"{options.cuts} cuts with synchronous=NORMAL lost nothing: cutting like this proves nothing")
    else:
        print(f"canary: {lost} of {options.cuts} cuts with synchronous=NORMAL lost something that was acknowledged, and it was found")
    return 0


def add(parser):
    parser.add_argument("--store", choices=["sqlite", "postgres"], required=True)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--canary", action="store_true")
    parser.add_argument("--only-group", type=int, help="repeats one group of a run")


if __name__ == "__main__":
    # In a mount name space of its own: whatever happens, nothing stays mounted.
    unshare = ["unshare", "--mount", "--propagation", "private"]
    if os.environ.setdefault("POSTRIDER_OWN_MOUNTS", "no") == "no" and subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
        os.environ["POSTRIDER_OWN_MOUNTS"] = "yes"
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
    sys.exit(world.main(__doc__, add, run))
