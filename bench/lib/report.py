"""Targets, the table and the JSON."""
import time

PEERS = ("pg-boss", "graphile-worker", "bullmq")


def best(figures, log, key="rate"):
    """The best peer that keeps a log (or none): the highest rate, or the least CPU."""
    found = {name: figures.median(f"drain {name} {'log' if log else 'no log'}", key) for name in PEERS}
    found = {name: value for name, value in found.items() if value}
    if not found:
        return None, None
    name = (max if key == "rate" else min)(found, key=found.get)
    return name, found[name]


def divide(above, below):
    return above / below if above is not None and below else None


def highest(*values):
    known = [value for value in values if value is not None]
    return max(known) if known else None


def specification(figures):
    """(key, value, goal, "≥" or "≤", words, the figures that it is made of): one line per target."""
    value = figures.median
    log, nolog, thrifty = best(figures, True), best(figures, False), best(figures, True, "cpu_us")
    drain, whole, sqlite = "drain postrider pg", "whole way pg", "drain postrider sqlite"
    # The best of several is in doubt when any of them was disturbed, not only the one that won.
    logs, nologs = ([f"drain {peer} {kind}" for peer in PEERS] for kind in ("log", "no log"))
    lines = [
        ("drain_pg_vs_best_log", divide(value(drain), log[1]), 2.5, "≥", "drain on PostgreSQL / best peer with a log", [drain, *logs]),
        ("drain_pg_vs_best_nolog", divide(value(drain), nolog[1]), 2, "≥", "drain on PostgreSQL / best peer without a log",
         [drain, *nologs]),
        ("cpu_vs_best_log", divide(value(drain, "cpu_us"), thrifty[1]), 1 / 3, "≤",
         "CPU per notification, engine + PostgreSQL / thriftiest peer with a log", [drain, *logs]),
        ("engine_cpu_us", value(drain, "engine_us"), 20, "≤", "CPU µs of the engine per notification, drain", [drain]),
        ("whole_way_vs_best_log", divide(value(whole), log[1]), 1.2, "≥", "whole way on PostgreSQL / best peer's drain with a log",
         [whole, *logs]),
        ("drain_sqlite_vs_best_log", divide(value(sqlite), log[1]), 3, "≥", "drain on SQLite / best peer with a log", [sqlite, *logs]),
    ]
    for rate in (500, 200):
        for share, goal in (("p50", 1.5), ("p99", 8)):
            lines.append((f"latency_{rate}_{share}_ms", value(f"latency {rate} pg", f"{share}_ms"), goal, "≤",
                          f"commit to provider at {rate}/s, {share} ms", [f"latency {rate} pg"]))
    for clients in (1, 8):
        name = f"outbox insert {clients}"
        lines.append((f"outbox_insert_vs_plain_{clients}", value(name, "vs_plain"), 0.85, "≥",
                      f"outbox INSERT / plain INSERT, {clients} client(s), no engine", [name]))
        lines.append((f"outbox_insert_running_vs_plain_{clients}", value(name, "running_vs_plain"), 0.5, "≥",
                      f"outbox INSERT / plain INSERT, {clients} client(s), engine running", [name]))
    simple = [("intake_vs_commit", "intake http 32 pg", "vs_commit", 4, "≥", "HTTP intake, 32 connections / one commit per row"),
              ("placeholders_20_us", "20 placeholders", "added_us", 5, "≤", "20 placeholders in a template, CPU µs of the engine"),
              ("recipients_10000_s", "10,000 recipients", "made_s", 1, "≤", "one event becomes 10,000 deliveries, s"),
              ("recipients_10000_priority_p99_ms", "10,000 recipients", "p99_ms", 50, "≤", "priority meanwhile, p99 ms"),
              ("drain_history_ratio", "drain postrider pg, history", "ratio", 0.9, "≥", "drain with a long history / with none"),
              ("takeover_s", "takeover pg", "takeover_s", 10, "≤", "a killed node's work resumes, s"),
              ("held_xmin_ratio", "held transaction", "ratio", 3, "≤", "claim p99 beside a transaction held open / normal"),
              ("small_tenants_p99_ms", "small tenants", "p99_ms", 1000, "≤", "small tenants beside a large one, p99 ms"),
              ("priority_p99_ms", "priority", "p99_ms", 50, "≤", "priority beside a million bulk, p99 ms"),
              ("nodes_2_vs_1_slow", "nodes, slow provider", "ratio_2", 1, "≥", "two nodes / one, a provider that takes 10 ms"),
              ("nodes_3_vs_1_slow", "nodes, slow provider", "ratio_3", 1, "≥", "three nodes / one, a provider that takes 10 ms"),
              ("nodes_2_vs_1", "nodes", "ratio_2", 1, "≥", "two nodes / one, where one fills the machine"),
              ("nodes_3_vs_1", "nodes", "ratio_3", 1, "≥", "three nodes / one, where one fills the machine")]
    lines += [(key, value(name, part), goal, direction, words, [name]) for key, name, part, goal, direction, words in simple]
    lines.append(("rss_mb", highest(value(drain, "rss_mb"), value(whole, "rss_mb")), 64, "≤", "peak memory MB, all of them waiting", []))
    return lines


def result(bench, seconds):
    figures = bench.figures
    lines = [line for line in specification(figures) if line[1] is not None]
    return {
        "mode": "quick" if bench.quick else "full", "count": bench.count, "repeats": figures.repeats, "sections": bench.options.sections,
        "seconds": round(seconds, 1), "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": bench.facts,
        "drain_history_rows": bench.facts.get("drain_history_rows"),
        "best_peer": {"log": best(figures, True)[0], "no_log": best(figures, False)[0], "log_cpu": best(figures, True, "cpu_us")[0]},
        "targets": {key: round(value, 4) for key, value, *_ in lines},
        "goals": {key: {"goal": round(goal, 4), "direction": direction, "met": met(value, goal, direction), "what": words,
                        "disturbed": any(figures.runs[name]["disturbed"] for name in made_of if name in figures.runs)}
                  for key, value, goal, direction, words, made_of in lines},
        "figures": figures.runs, "refused": figures.refused,
        "disturbed": sorted(name for name, run in figures.runs.items() if run["disturbed"]),
    }


def met(value, goal, direction):
    return value >= goal if direction == "≥" else value <= goal


def table(result):
    rows = ["", f"{'figure':<34}{'rate/s':>10}{'CPU µs':>9}{'engine/peer':>13}{'PostgreSQL':>12}{'WAL B':>8}{'MB':>6}{'p50 ms':>9}{'p99 ms':>9}{'others':>8}"]
    for name, run in result["figures"].items():
        median = run["median"]
        cells = [cell(median.get("rate"), "{:,.0f}", 10), cell(median.get("cpu_us"), "{:.1f}", 9),
                 cell(median.get("engine_us", median.get("peer_us")), "{:.1f}", 13), cell(median.get("postgres_us"), "{:.1f}", 12),
                 cell(median.get("wal_bytes"), "{:,.0f}", 8), cell(median.get("rss_mb"), "{:.0f}", 6), cell(median.get("p50_ms"), "{:.2f}", 9),
                 cell(median.get("p99_ms"), "{:.2f}", 9), cell(median.get("other_cpu"), "{:.0%}", 8)]
        rows.append(f"{name:<34}" + "".join(cells) + (" disturbed" if run["disturbed"] else ""))
    rows += ["", f"{'target':<76}{'value':>9}  {'goal':>8}"]
    for key, goal in result["goals"].items():
        rows.append(f"{goal['what']:<76}{result['targets'][key]:>9.2f}  {goal['direction']}{goal['goal']:>7.2f}  {'met' if goal['met'] else 'MISSED':<6}  {key}"
                    + (" (disturbed)" if goal["disturbed"] else ""))
    for name, why in result["refused"].items():
        rows.append(f"REFUSED {name}: {why}")
    if result["drain_history_rows"]:
        rows.append(f"history: {result['drain_history_rows']:,} finished notifications")
    rows.append(f"{result['mode']} run, {result['count']:,} notifications, {result['repeats']} repeat(s), {result['seconds']:.0f} s; best peer with a log "
                f"{result['best_peer']['log']}, without {result['best_peer']['no_log']}; {len(result['disturbed'])} figures disturbed by others")
    if result["mode"] == "quick":
        rows.append("a quick run flatters us: the peers' Node is not warm yet within it; quote full runs")
    return "\n".join(rows)


def cell(value, form, width):
    return " " * width if value is None else form.format(value).rjust(width)
