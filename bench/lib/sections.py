"""The sections of a run, in the order in which a reader wants them. Each measures and leaves its figures in bench.figures."""
from lib import enqueue, history, latency, limits, peers, postrider, pressure, takeover, wording


def drain(bench):
    """The peers' job: what waits in a durable queue, one POST each, the outcome durable."""
    for name in peers.PEERS:
        for log in (True, False):
            count = peer_count(bench, name, log)
            bench.figures.measure(f"drain {name} {'log' if log else 'no log'}", lambda: peers.drain(bench, name, count, log))
    bench.figures.measure("drain postrider pg", lambda: postrider.drain(bench, postrider.Postgres, bench.count))
    bench.figures.measure("drain postrider sqlite", lambda: postrider.drain(bench, postrider.Sqlite, bench.count))


def peer_count(bench, name, log):
    """The slow ones would take most of a run; the rate does not depend on the number, only its precision does. The best one has all."""
    slow = name == "bullmq" or (log and name != "pg-boss")
    if bench.quick:
        return bench.count // 7 if slow else bench.count if log else bench.count // 2
    return bench.count // 4 if slow else bench.count


def whole(bench):
    bench.figures.measure("whole way pg", lambda: postrider.whole_way(bench, postrider.Postgres, bench.count))
    bench.figures.measure("whole way sqlite", lambda: postrider.whole_way(bench, postrider.Sqlite, bench.count))


limits = limits.run
history = history.run
enqueue = enqueue.run
latency = latency.run
takeover = takeover.run
content = wording.run
pressure = pressure.run
