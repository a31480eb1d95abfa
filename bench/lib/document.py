"""The tables of docs/performance.md, written from a run's JSON between two marks, so that no figure in it is typed by hand; the chart and that
JSON are put beside it. By itself, from the run before: python3 bench/lib/document.py bench/out/latest.json docs/performance.md"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import chart  # noqa: E402

MARKS = re.compile(r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)", re.S)

ROWS = (("Postrider, PostgreSQL", "drain postrider pg"), ("Postrider, SQLite", "drain postrider sqlite"),
        ("pg-boss, log rows per batch", "drain pg-boss log"), ("pg-boss, no log", "drain pg-boss no log"),
        ("graphile-worker, a log row each", "drain graphile-worker log"), ("graphile-worker, no log", "drain graphile-worker no log"),
        ("BullMQ, Redis `appendfsync always`, log", "drain bullmq log"), ("BullMQ, no log", "drain bullmq no log"),
        ("Postrider, whole way from the outbox, PostgreSQL", "whole way pg"), ("Postrider, whole way from the outbox, SQLite", "whole way sqlite"),
        ("Postrider, whole way, each with a record of the application, PostgreSQL", "whole way with records pg"))
LIMITS = (("commits a second on one connection", "limit commits 1"), ("on eight", "limit commits 8"),
          ("rows a second claimed and completed by bare SQL, 500 at once", "limit claim 500 + complete 500"), ("POSTs a second by `wrk` to the mock", "limit mock 64"))


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values):
    return f"{number(min(values))}–{number(max(values))}" if len(values) > 1 else "one sample"


def cpu(median):
    parts = [median.get("engine_us", median.get("peer_us")), median.get("postgres_us")]
    halves = f" ({parts[0]:.0f} + {parts[1]:.0f})" if all(part is not None for part in parts) else ""
    return f"{median['cpu_us']:.0f}{halves}"


def tables(result):
    runs, lines = result["figures"], []
    lines += [f"`bench/run`, {result['finished_at'][:10]}: {'medians of ' + str(result['repeats']) if result['repeats'] > 1 else 'one sample'}, "
              f"{result['count']:,} notifications (the slow peers a quarter), in one run of {result['seconds'] / 60:.0f} minutes.", "",
              "| | per second | lowest and highest | CPU µs per notification (process + database) |", "|---|---|---|---|"]
    for words, name in ROWS:
        if name in runs:
            run = runs[name]
            lines.append(f"| {words} | {number(run['median']['rate'])} | {spread(run['values']['rate'])} | {cpu(run['median'])} |")
    lines += ["", "| | value | lowest and highest | goal | |", "|---|---|---|---|---|"]
    for key, goal in result["goals"].items():
        verdict = ("met" if goal["met"] else "missed") + (", disturbed" if goal["disturbed"] else "")
        lines.append(f"| {goal['what']} | {number(result['targets'][key])} | {samples_of(key, runs)} | {goal['direction']} {number(goal['goal'])} | {verdict} |")
    shown = [f"{number(runs[name]['median']['rate'])} {words}" for words, name in LIMITS if name in runs]
    lines += ["", "The machine's own limits in that run: " + "; ".join(shown) + ".", ""]
    return "\n".join(lines)


def samples_of(key, runs):
    """Where one figure holds the samples of a target, their range."""
    places = {"engine_cpu_us": ("drain postrider pg", "engine_us"), "intake_vs_commit": ("intake http 32 pg", "vs_commit"),
              "recipients_10000_s": ("10,000 recipients", "made_s"), "recipients_10000_priority_p99_ms": ("10,000 recipients", "p99_ms"),
              "drain_history_ratio": ("drain postrider pg, history", "ratio"), "takeover_s": ("takeover pg", "takeover_s"),
              "small_tenants_p99_ms": ("small tenants", "p99_ms"), "priority_p99_ms": ("priority", "p99_ms"), "held_xmin_ratio": ("held transaction", "ratio"),
              "nodes_2_vs_1_slow": ("nodes, slow provider", "ratio_2"), "nodes_3_vs_1_slow": ("nodes, slow provider", "ratio_3"),
              "nodes_2_vs_1": ("nodes", "ratio_2"), "nodes_3_vs_1": ("nodes", "ratio_3"), "rss_mb": ("whole way pg", "rss_mb")}
    if found := re.fullmatch(r"latency_(\d+)_(p\d+)_ms", key):
        places[key] = (f"latency {found[1]} pg", f"{found[2]}_ms")
    if found := re.fullmatch(r"outbox_insert_(running_)?vs_plain_(\d)", key):
        places[key] = (f"outbox insert {found[2]}", f"{found[1] or ''}vs_plain")
    name, part = places.get(key, (None, None))
    return spread(runs[name]["values"][part]) if name in runs and part in runs[name]["values"] else ""


def write(result, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not MARKS.search(text):
        sys.exit(f"bench: {path} has no <!-- bench:begin --> and <!-- bench:end -->")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MARKS.sub(lambda marks: marks[1] + tables(result) + marks[2], text))
    beside = path.removesuffix(".md")
    with open(beside + ".json", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(beside + ".svg", "w", encoding="utf-8") as file:
        file.write(chart.draw(result))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        write(json.load(source), sys.argv[2])
