"""A node is killed while it holds deliveries: how long until another one has them all."""
import time

from lib import machine, postrider

POLICY = '[[policies]]\nkind = "fixed"\ninterval = "200ms"\nmax_attempts = 20\ntimeout = "5s"\n'


def sample(bench):
    count = 20_000
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url, POLICY) as home:
        home.queue_up(count)
        home.store.settle()
        bench.nginx.mark()
        doomed = home.start("send,maintain").ready()
        node = home.store.query("SELECT max(id) FROM postrider.node")[0][0]
        survivor = home.start("send,maintain").ready()
        meter = machine.Meter()
        bench.nginx.wait_for(count // 10, 30, every=0.001)
        doomed.kill()
        killed = time.monotonic()
        held = owned = home.store.query(f"SELECT count(*) FROM postrider.queue WHERE node = {node}")[0][0]
        if held == 0:
            raise machine.Refused("the killed node held nothing")
        while owned:
            if time.monotonic() - killed > 120:
                raise machine.Refused(f"{owned} deliveries still belong to the killed node after 120 s")
            time.sleep(0.02)
            owned = home.store.query(f"SELECT count(*) FROM postrider.queue WHERE node = {node}")[0][0]
        taken = time.monotonic() - killed
        home.wait_empty("queue", "deferred", seconds=60)
        figures = {**meter.stop(), "takeover_s": taken, "all_done_s": time.monotonic() - killed, "held": held}
        delivered, _ = home.finished()
        served = bench.nginx.requests()
        survivor.stop()
        if delivered != count or served < count:
            raise machine.Refused(f"of {count}: {delivered} delivered, {served} POSTs served")
        return {**figures, "repeated_posts": served - count}


def run(bench):
    bench.figures.measure("takeover pg", lambda: sample(bench))
