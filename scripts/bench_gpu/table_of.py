#!/usr/bin/env python3
"""The table behind schedule: auto, from what the benchmark measured.

    scripts/bench_gpu/table_of.py build/bench/bench.json [JSON...] > lowering/schedules/measured_schedules.tsv

One line for each operation and size: the fastest schedule whose results were right. Of schedules within a
percent of it the one with the fewest fields wins: so small a gain would not show again. A size that several
files have is taken from the last one. Only schedules that the example specs with slices of ranks (*_p2p) can
have are counted, and those that serialise everything; algorithms that --tuned searched are no schedule.
"""
import json
import pathlib
import sys

import cells
import tables
import variants

CLOSE = 1.01  # times within this factor are the same
COLUMNS = ["operation", "dtype", "ranks", "m", "n", "k", "us", "schedule"]


def schedules(operation):
    """{label: (operation, schedule)} of all that may be measured in a row of an operation."""
    lists = [variants.COMMON, variants.SMALL, variants.LARGE, variants.HUGE]
    rows = [row for rows in lists for row in rows[operation]] + variants.ALLGATHER + variants.TINY
    return {label: (spec.removesuffix("_p2p"), schedule if "preset" in schedule else {"pipeline": "p2p", **schedule}) for label, spec, extra, schedule in rows
            if spec.endswith("_p2p") or schedule.get("preset") == "eager"}


def entries(row):
    """{(operation, ranks, m, n, k): [(us, schedule)]} of the right programs of a row. An allgather has no n."""
    known, found = schedules(row["operation"]), {}
    for label, item in [*row["hirgen"].items(), *row.get("allgather", {}).items()]:
        us = tables.median(item)
        if label in known and us is not None and item.get("wrong") == 0:
            operation, schedule = known[label]
            key = operation, row["ranks"], row["m"], 1 if operation == "allgather" else row["n"], row["k"]
            found.setdefault(key, []).append((us, counted(schedule, row["ranks"])))
    return found


def counted(schedule, ranks):
    """A schedule with numbers in place of D and its parts: the table has one line for a number of ranks."""
    return {name: ranks // int(value.removeprefix("D").removeprefix("/") or 1) if str(value).startswith("D") else value
            for name, value in schedule.items()}


def best(measured):
    """The fastest (us, schedule), or the plainest of those that are as good as that."""
    limit = CLOSE * min(us for us, _ in measured)
    return min((pair for pair in measured if pair[0] <= limit), key=lambda pair: (len(pair[1]), pair[0]))


def table(results):
    """The text of the table: the machines in comments, then the lines, large problems first."""
    found = {}
    for result in results:
        for row in [*result["rows"], result.get("tiny")]:
            found |= entries(row) if row else {}
    lines = ["# The fastest schedules that were measured; scripts/bench_gpu/table_of.py writes this file.",
             *dict.fromkeys(f"# {result['machine']}" for result in results), "\t".join(COLUMNS)]
    order = ["allgather", *cells.OPERATIONS]
    for key in sorted(found, key=lambda key: (order.index(key[0]), key[1], -key[2] * key[3] * key[4], key)):
        us, schedule = best(found[key])
        operation, *sizes = key
        text = ", ".join(f"{name} {value}" for name, value in schedule.items())
        lines.append("\t".join([operation, "bf16", *map(str, sizes), f"{us:.1f}", text]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(table([json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:]]), end="")
