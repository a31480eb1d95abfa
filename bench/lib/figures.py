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
        """One figure: its median values, or None when it was refused."""
        self.measure_in_turn({name: sample}, repeats)
        return self.runs[name]["median"] if name in self.runs else None

    def measure_in_turn(self, samples, repeats=None):
        """Figures that are compared: one sample of each, round by round, so that a machine that is slow for some minutes is so for all of them."""
        wanted = repeats or self.repeats
        good, disturbed = {name: [] for name in samples}, {name: [] for name in samples}

        def wants(name):
            """Until enough undisturbed ones are there or the extra tries are spent; then the least disturbed count."""
            return name not in self.refused and len(good[name]) < wanted and len(good[name]) + len(disturbed[name]) < wanted + self.extra

        while due := [name for name in samples if wants(name)]:
            for name in due:
                try:
                    figures = samples[name]()
                except machine.Refused as error:
                    self.refused[name] = str(error)
                    machine.say(f"{name}: REFUSED: {error}")
                    continue
                (disturbed if figures.get("other_cpu", 0) > DISTURBED else good)[name].append(figures)
                machine.say(f"{name}: {self.line(figures)}")
        for name in samples:
            if name not in self.refused:
                self.runs[name] = self.summary(wanted, good[name], sorted(disturbed[name], key=lambda figures: figures["other_cpu"]))

    @staticmethod
    def summary(wanted, good, disturbed):
        kept, discarded = good + disturbed[:wanted - len(good)], disturbed[wanted - len(good):]
        run = {"samples": kept, "discarded": discarded, "disturbed": len(kept) > len(good), "repeats": len(kept),
               "repeats_discarded": len(discarded), "other_cpu": [figures["other_cpu"] for figures in kept], "values": {}, "median": {}}
        for key in kept[0]:
            values = [figures[key] for figures in kept if isinstance(figures.get(key), (int, float))]
            if values:
                run["values"][key] = values
                run["median"][key] = statistics.median(values)
        return run

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
