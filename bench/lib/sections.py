"""The sections of a run, in the order in which a reader wants them. Each measures and leaves its figures in bench.figures."""
import functools

from lib import enqueue, history, latency, limits, peers, postrider, pressure, takeover, wording


def drain(bench):
    """The peers' job: what waits in a durable queue, one POST each, the outcome durable. The whole way is measured in turn with it when both
    are wanted, because it is compared with a peer's drain."""
    samples = {}
    for name in peers.PEERS:
        for log in (True, False):
            samples[f"drain {name} {'log' if log else 'no log'}"] = functools.partial(peers.drain, bench, name, peer_count(bench, name, log), log)
    samples["drain postrider pg"] = lambda: postrider.drain(bench, postrider.Postgres, bench.count)
    samples["drain postrider sqlite"] = lambda: postrider.drain(bench, postrider.Sqlite, bench.count)
    if "whole" in bench.options.sections:
        samples.update(whole_samples(bench))
    bench.figures.measure_in_turn(samples)


def peer_count(bench, name, log):
    """The slow ones would take most of a run; the rate does not depend on the number, only its precision does. The best one has all."""
    slow = name == "bullmq" or (log and name != "pg-boss")
    if bench.quick:
        return bench.count // 7 if slow else bench.count if log else bench.count // 2
    return bench.count // 4 if slow else bench.count


def whole_samples(bench):
    return {"whole way pg": lambda: postrider.whole_way(bench, postrider.Postgres, bench.count),
            "whole way sqlite": lambda: postrider.whole_way(bench, postrider.Sqlite, bench.count)}


def whole(bench):
    if "drain" not in bench.options.sections:
        bench.figures.measure_in_turn(whole_samples(bench))


limits = limits.run
history = history.run
enqueue = enqueue.run
latency = latency.run
takeover = takeover.run
content = wording.run
pressure = pressure.run
