"""Repeats: medians of undisturbed samples, and everything that was seen is kept."""
import statistics

from lib import machine

DISTURBED = 0.10  # share of all cores that others used


class Figures:
    """name -> samples kept, samples set aside, medians."""

    def __init__(self, repeats, extra):
        self.repeats, self.extra = repeats, extra
        self.runs, self.refused = {}, {}

    def measure(self, name, sample, repeats=None):
        """Calls sample() until enough undisturbed ones are there or the extra tries are spent; then the least disturbed count."""
        wanted = repeats or self.repeats
        good, disturbed = [], []
        while len(good) < wanted and len(good) + len(disturbed) < wanted + self.extra:
            try:
                figures = sample()
            except machine.Refused as error:
                self.refused[name] = str(error)
                machine.say(f"{name}: REFUSED: {error}")
                return None
            (disturbed if figures.get("other_cpu", 0) > DISTURBED else good).append(figures)
            machine.say(f"{name}: {self.line(figures)}")
        disturbed.sort(key=lambda figures: figures["other_cpu"])
        kept = good + disturbed[:wanted - len(good)]
        run = {"samples": kept, "discarded": disturbed[wanted - len(good):], "disturbed": len(kept) > len(good),
               "repeats": len(kept), "repeats_discarded": len(disturbed[wanted - len(good):]), "other_cpu": [figures["other_cpu"] for figures in kept],
               "values": {}, "median": {}}
        for key in kept[0]:
            values = [figures[key] for figures in kept if isinstance(figures.get(key), (int, float))]
            if values:
                run["values"][key] = values
                run["median"][key] = statistics.median(values)
        self.runs[name] = run
        return run["median"]

    def median(self, name, key="rate"):
        run = self.runs.get(name)
        return run["median"].get(key) if run else None

    @staticmethod
    def line(figures):
        shown = []
        for key, value in figures.items():
            if isinstance(value, (int, float)) and not key.endswith("_cpu") and key not in ("count", "seconds"):
                shown.append(f"{key} {value:,.0f}" if abs(value) >= 100 else f"{key} {value:.3g}")
        return ", ".join(shown) + f" (others {figures.get('other_cpu', 0):.0%} of the CPU)"
