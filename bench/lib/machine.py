"""The machine: what it is, what processes cost, and how much of it somebody else used meanwhile.

CPU of a process tree is utime + stime of every live process in it plus cutime + cstime, which hold the children that ended and were
waited for. PostgreSQL's postmaster is the parent of all its processes, so its tree misses none. The kernel counts softirq time (the
loopback's network work) both in /proc/stat and in the process that it interrupted, so the two can be subtracted."""
import hashlib
import os
import platform
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
extra_trees = set()  # process ids beside our own tree that are ours too: the database server


class Refused(Exception):
    """A figure whose counts do not match, or that could not be measured: it is never reported."""


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def read_stats():
    """pid -> (parent, own ticks, ticks of children that ended) for every process."""
    stats = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        stats[int(name)] = (int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]))
    return stats


def tree_seconds(roots, stats=None):
    """CPU seconds of these processes and everything below them, ended children included."""
    stats = stats or read_stats()
    children = {}
    for pid, (parent, _, _) in stats.items():
        children.setdefault(parent, []).append(pid)
    ticks, waiting, seen = 0, [pid for pid in roots if pid in stats], set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        ticks += stats[pid][1] + stats[pid][2]
        waiting += children.get(pid, [])
    return ticks / TICKS


def busy_seconds():
    """CPU seconds that the whole machine was busy, and those that its host took away (steal)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICKS, steal / TICKS


class Meter:
    """Measures from its making to stop(): wall time, CPU of the trees named, and the share that others used."""

    def __init__(self, **trees):
        self.trees = trees  # name -> process id
        self.first = self.snapshot()

    def snapshot(self):
        """The time is read first: reading /proc takes milliseconds."""
        now, stats = time.monotonic(), read_stats()
        busy, steal = busy_seconds()
        own = tree_seconds([os.getpid(), *extra_trees], stats)
        return now, busy, steal, own, {name: tree_seconds([pid], stats) for name, pid in self.trees.items()}

    def stop(self):
        """A dict: seconds, other_cpu (share of all cores, steal included) and NAME_cpu in seconds."""
        now, busy, steal, own, trees = self.snapshot()
        was, busy_was, steal_was, own_was, trees_was = self.first
        seconds = max(now - was, 1e-6)
        others = max(0.0, (busy - busy_was) - (own - own_was)) + (steal - steal_was)
        figures = {"seconds": seconds, "other_cpu": round(min(1.0, others / (seconds * CORES)), 3)}
        figures.update({f"{name}_cpu": trees[name] - trees_was[name] for name in trees})
        return figures


def peak_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(file.read().split("VmHWM:")[1].split()[0]) / 1024


def end(process, seconds=30):
    """Ends a process of ours politely, then not."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return (done.stdout + done.stderr).strip()


def describe(binary):
    """What a reader needs to judge a figure; the versions of database and peers are added by those who know them."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(file.readline().split()[1]) // 1024
    with open(binary, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    commit = output_of("git", "-C", ROOT, "rev-parse", "HEAD")
    changed = bool(output_of("git", "-C", ROOT, "status", "--porcelain", "--", "src", "apps"))
    return {"cpu": models[0] if models else platform.machine(), "cores": CORES, "memory_mb": memory, "kernel": platform.release(),
            "system": output_of("sh", "-c", ". /etc/os-release && echo \"$PRETTY_NAME\""), "commit": commit, "sources_changed": changed,
            "binary_sha256": digest, "postrider": output_of(binary, "version"),
            "nginx": output_of("/usr/sbin/nginx", "-v").rsplit("/", 1)[-1], "wrk": output_of("wrk", "-v").split("[")[0].strip(),
            "load_at_start": os.getloadavg()}
