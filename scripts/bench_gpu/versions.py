#!/usr/bin/env python3
"""Times the programs of two versions of hirgen alternately, to find regressions.

    scripts/bench_gpu/versions.py OLD NEW [--rounds 6] [--seconds 0.15] [--only TEXT...] [--json FILE]

OLD and NEW are sets of emitted folders (emit_set.py; folders.py defines a set). Neither hirgen nor Go is needed. CMake builds
the rows that both sets have, with one compiled runtime for each set. Then the rows run in groups of --together: their programs
start and wait. Each round times every program of the group, the two of a row directly after each other. The version that comes
first alternates between rounds. A round gives the median of its repeats and the ratio old / new; above 1 the new version is
faster. The ratio of a row is the median over its rounds. After all rows, those below --limit start again, for as many rounds,
and all rounds count. Rows that do not fit into --budget are listed. If both versions emit the same text, the ratio shows only
the noise and the difference between the runtimes.

The exit code is 0 if the median over the rows is at least --median, every row is at least --least, no program was wrong and
no row is missing. Otherwise it is 1.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import sys
import time

from folders import Set
from runs import Ready
from tables import geometric_mean, ms, number, table

OLD, NEW = "old", "new"


class Row:
    """A row of both sets. rounds is [(old us, new us)], and failures is {version: reason}."""

    def __init__(self, name, folders):
        self.name, self.folders = name, dict(zip((OLD, NEW), folders))
        self.rounds, self.wrong = [], {}
        self.failures = {}
        self.same_text = folders[0].text() == folders[1].text()

    def take(self, version, ready, repeats):
        """Returns the median of each of a program's rounds, and adds its wrong elements; on failure notes the reason."""
        if "refused" in ready.item:
            self.failures[version] = ready.item["refused"]
            return []
        self.wrong[version] = (self.wrong.get(version) or 0) + ready.item["wrong"] if ready.item["wrong"] is not None else None
        return [statistics.median(part) for part in batches(ready.item["us"], repeats)]

    @property
    def ratio(self):
        """The median over rounds of old / new; None without rounds or with a failure."""
        return statistics.median(old / new for old, new in self.rounds) if self.rounds and not self.failures else None

    def result(self):
        """The row for the JSON."""
        return {"row": self.name, "ratio": self.ratio, "same_text": self.same_text, "rounds": self.rounds, "wrong": self.wrong,
                "failures": self.failures}


def batches(items, size):
    """Lists of size items each; the last one may be shorter."""
    return [items[i:i + size] for i in range(0, len(items), size)]


def options_of(folder, args):
    """The options of a program."""
    warmup, iters = folder.calls(args.seconds, args.repeats)
    check = ["--checks", 1] if folder.entry.get("check", True) and not args.no_check else ["--no-check"]
    return ["--warmup", warmup, "--iters", iters, "--repeats", args.repeats, *check]


def started(rows, args):
    """{(row, version): Ready} of rows, all started at the same time. Old and new run the same number of calls."""
    def start(pair):
        row, version = pair
        ready = Ready(row.folders[version], args.ranks, options_of(row.folders[NEW], args))
        ready.start()
        return ready
    pairs = [(row, version) for row in rows for version in (OLD, NEW)]
    with concurrent.futures.ThreadPoolExecutor(len(pairs)) as pool:
        return dict(zip(pairs, pool.map(start, pairs)))


def time_rows(rows, args):
    """Starts the programs of rows, times them round by round and ends them."""
    ready = started(rows, args)
    for i in range(args.rounds):
        for j, row in enumerate(rows):
            for version in ((OLD, NEW), (NEW, OLD))[(i + j) % 2]:
                ready[row, version].round()
    with concurrent.futures.ThreadPoolExecutor(len(ready)) as pool:
        list(pool.map(Ready.finish, ready.values()))
    for row in rows:
        row.rounds += zip(*(row.take(version, ready[row, version], args.repeats) for version in (OLD, NEW)))
        print(f"{number(row.ratio)}  {row.name}  {'; '.join(f'{k}: {v}' for k, v in row.failures.items())}", flush=True)


def take_all(rows, args, deadline, save):
    """Times all rows, then those below the limit again. Rows without time left for a first run fail."""
    longest = 0
    waiting, again = batches(rows, args.together), False
    while waiting:
        part, begin = waiting.pop(0), time.monotonic()
        if begin + longest <= deadline:
            time_rows(part, args)
            longest = max(longest, time.monotonic() - begin)
            save()
        elif not again:
            for row in part:
                row.failures["both"] = "no time was left"
        if not waiting and not again:
            again = True
            low = sorted((row for row in rows if row.ratio is not None and row.ratio < args.limit), key=lambda row: row.ratio)
            waiting = batches(low, args.together)


def build(old, new, args):
    """Builds both sets concurrently."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, concurrent.futures.ThreadPoolExecutor(2) as both:
        for under_way in both.map(lambda one: one.build(args.device, args.cmake, pool), (old, new)):
            concurrent.futures.wait(under_way)


def rows_of(old, new, only):
    """(rows of both sets, rows of only one set). Both sets keep only the shared rows."""
    wanted = [row for row in {**new.folders, **old.folders} if not only or any(text in row for text in only)]
    shared = [row for row in wanted if row in old.folders and row in new.folders]
    for one in (old, new):
        one.keep(shared)
    return shared, [row for row in wanted if row not in shared]


def verdict(rows, left_out, args):
    """The figures of the run; "passed" is the verdict."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    missing = [row.name for row in rows if row.ratio is None] + left_out
    wrong = [row.name for row in rows if any(row.wrong.values())]
    noise = [row.ratio for row in rows if row.ratio is not None and row.same_text]
    good = bool(ratios) and statistics.median(ratios) >= args.median and min(ratios) >= args.least
    return {"rows": len(ratios), "median": statistics.median(ratios) if ratios else None, "least": min(ratios, default=None),
            "geometric_mean": geometric_mean(ratios), "same_text": len(noise), "same_text_least": min(noise, default=None),
            "same_text_most": max(noise, default=None), "below": sum(ratio < args.least for ratio in ratios), "missing": missing,
            "wrong": wrong, "passed": good and not missing and not wrong}


def markdown(rows, left_out, args):
    """The report, rows with the lowest ratio first."""
    v = verdict(rows, left_out, args)
    lines = []
    for row in sorted(rows, key=lambda row: (row.ratio is None, row.ratio)):
        ratios = [old / new for old, new in row.rounds] if row.ratio else []
        times = [statistics.median(times) if ratios else None for times in (zip(*row.rounds) if ratios else ((), ()))]
        lines.append([row.name, *map(ms, times), number(row.ratio), number(min(ratios, default=None)), number(max(ratios, default=None)),
                      str(len(ratios)), "yes" if row.same_text else "no"])
    parts = [table(["row", "old, ms", "new, ms", "old / new", "least round", "most", "rounds", "same text"], lines),
             f"\n{v['rows']} rows: median of old / new {number(v['median'], 4)}, geometric mean {number(v['geometric_mean'], 4)}, "
             f"least {number(v['least'])}; {v['below']} below {args.least}. The {v['same_text']} of the same text lie between "
             f"{number(v['same_text_least'])} and {number(v['same_text_most'])}.\n"]
    parts += [f"- wrong elements: {name}" for name in v["wrong"]]
    parts += [f"- not timed: {row.name}: {version}: {why}" for row in rows for version, why in row.failures.items()]
    parts += [f"- only in one set: {name}" for name in left_out]
    return "\n".join([*parts, f"\n{'Passed' if v['passed'] else 'Not passed'}: median at least {args.median}, none below {args.least}."])


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--ranks", type=int, help="default: the ranks in rows.json")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", nargs="*", help="only rows whose name contains one of these texts")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3, help="timed repeats per round")
    parser.add_argument("--seconds", type=float, default=0.15, help="duration of all repeats of a round; the warm-up takes half as long")
    parser.add_argument("--together", type=int, default=4, help="rows whose programs are loaded at the same time")
    parser.add_argument("--limit", type=float, default=0.985, help="time rows below this ratio again")
    parser.add_argument("--median", type=float, default=0.99, help="minimum median of the ratios")
    parser.add_argument("--least", type=float, default=0.97, help="minimum ratio of each row")
    parser.add_argument("--no-check", action="store_true", help="run no checks")
    parser.add_argument("--budget", type=float, default=3600, help="seconds, the build included")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="concurrent builds")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="an additional CMake setting")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/versions.json"))
    parser.add_argument("--markdown", type=pathlib.Path, default=pathlib.Path("build/versions.md"))
    return parser.parse_args()


def main():
    """Builds, times, reports."""
    args, begin = parse(), time.monotonic()
    old, new = Set(args.old), Set(args.new)
    args.ranks = args.ranks or new.about.get("ranks") or sys.exit("say how many ranks: --ranks")
    names, left_out = rows_of(old, new, args.only)
    build(old, new, args)
    rows = [Row(name, (old.folders[name], new.folders[name])) for name in names]
    for row in rows:
        row.failures |= {version: folder.failure for version, folder in row.folders.items() if folder.failure}
    built = time.monotonic() - begin
    print(f"built {sum(not row.failures for row in rows)} of {len(rows)} rows twice in {built:.0f} s", flush=True)

    def save():
        result = {"command": " ".join(sys.argv), "build_seconds": built, "seconds": time.monotonic() - begin,
                  "verdict": verdict(rows, left_out, args), "rows": [row.result() for row in rows]}
        for path, text in ((args.json, json.dumps(result, indent=1) + "\n"), (args.markdown, markdown(rows, left_out, args) + "\n")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    take_all([row for row in rows if not row.failures], args, begin + args.budget, save)
    save()
    print(markdown(rows, left_out, args), f"\n{time.monotonic() - begin:.0f} s in all")
    return 0 if verdict(rows, left_out, args)["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
