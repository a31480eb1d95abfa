"""The chart for the docs: two bar charts in one SVG, readable on light and on dark, with no font, script or address from outside."""
from html import escape

WIDTH, LEFT, RIGHT, BAR, GAP = 760, 210, 90, 18, 9
STYLE = """<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px } .note { font-size: 11px; fill: #57606a }
  .peer { fill: #8c959f } .ours { fill: #0969da } .second { fill: #bf8700 } .limit { fill: none; stroke: #8c959f; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note { fill: #9ea7b3 } .peer { fill: #6e7681 } .ours { fill: #58a6ff } .second { fill: #d29922 }
  }
</style>"""

DRAINS = [("drain postrider sqlite", "Postrider, SQLite"), ("drain postrider pg", "Postrider, PostgreSQL"), ("whole way pg", "Postrider, whole way"),
          ("drain pg-boss log", "pg-boss, log"), ("drain pg-boss no log", "pg-boss, no log"), ("drain graphile-worker log", "graphile-worker, log"),
          ("drain graphile-worker no log", "graphile-worker, no log"), ("drain bullmq log", "BullMQ, log"), ("drain bullmq no log", "BullMQ, no log")]


def draw(result):
    figures = result["figures"]
    known = [(name, label, figures[name]["median"]) for name, label in DRAINS if name in figures]
    parts, y = [], 28
    y = bars(parts, y, "Notifications per second, from a durable queue to a durable outcome (more is better)",
             [(label, [(median["rate"], "ours" if "Postrider" in label else "peer")], f"{median['rate']:,.0f}/s") for _, label, median in known])
    costs = []
    for _, label, median in known:
        own = median.get("engine_us", median.get("peer_us", 0)) + median.get("redis_us", 0)
        costs.append((label, [(own, "ours" if "Postrider" in label else "peer"), (median.get("postgres_us", 0), "second")], f"{median['cpu_us']:.0f} µs"))
    y = bars(parts, y + 22, "CPU µs per notification: the process itself, and PostgreSQL in yellow (less is better)", costs)
    machine = result["machine"]
    notes = [f"{machine.get('cpu')}, {machine.get('cores')} cores shared by everything; PostgreSQL {machine.get('postgresql', '').split()[0]} with fsync on; "
             f"{result['count']:,} notifications, median of {result['repeats']}",
             f"pg-boss {machine.get('pg-boss')}, graphile-worker {machine.get('graphile-worker')}, BullMQ {machine.get('bullmq')} (Redis {machine.get('redis')}, "
             f"appendfsync always), Node {machine.get('node')}",
             f"{result['finished_at'][:10]}, commit {machine.get('commit', '')[:10]}"]
    for note in notes:
        y += 16
        parts.append(f'<text class="note" x="14" y="{y}">{escape(note)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 14}" width="{WIDTH}" height="{y + 14}" role="img" '
            f'aria-label="Postrider beside its peers">\n{STYLE}\n' + "\n".join(parts) + "\n</svg>\n")


def bars(parts, y, title, rows):
    """One chart; every row is a label, stacked (value, class) pieces and the words at its end."""
    parts.append(f'<text class="title" x="14" y="{y}">{escape(title)}</text>')
    y += 14
    top = max((sum(value for value, _ in pieces) for _, pieces, _ in rows), default=1) or 1
    for label, pieces, words in rows:
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(label)}</text>')
        x = LEFT
        for value, kind in pieces:
            width = round(value / top * (WIDTH - LEFT - RIGHT), 1)
            if width > 0:
                parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width}" height="{BAR}" rx="2"/>')
            x += width
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 14}">{escape(words)}</text>')
        y += BAR + GAP
    return y
