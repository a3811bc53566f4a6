#!/usr/bin/env python3
"""Writes the table of measured schedules for schedule: auto, from results of the benchmark.

    scripts/bench_gpu/table_of.py build/bench/bench.json [JSON...] > lowering/schedules/measured_schedules.tsv

The table has one line for each operation and size, with the fastest schedule that computed correct results. Among schedules within
one percent of it, the schedule with the fewest fields wins, since so small a gain is not reproducible. If several files have
a size, the last file counts. Only schedules for the example specs with slices of ranks (*_p2p) and the preset eager are included.
Other labels are ignored.
"""
import json
import pathlib
import sys

import cells
import tables
import variants

CLOSE = 1.01  # times within this factor count as equal
COLUMNS = ["operation", "dtype", "ranks", "m", "n", "k", "us", "schedule"]


def schedules(operation):
    """{label: (operation, schedule)} of the programs in a row of an operation that the table can use."""
    lists = [variants.COMMON, variants.SMALL, variants.LARGE, variants.HUGE]
    rows = [row for rows in lists for row in rows[operation]] + variants.ALLGATHER + variants.TINY
    return {label: (spec.removesuffix("_p2p"), schedule if "preset" in schedule else {"pipeline": "p2p", **schedule}) for label, spec, extra, schedule in rows
            if spec.endswith("_p2p") or schedule.get("preset") == "eager"}


def entries(row):
    """{(operation, ranks, m, n, k): [(us, schedule)]} of the correct programs of a row. n of an allgather is 1."""
    known, found = schedules(row["operation"]), {}
    for label, item in [*row["hirgen"].items(), *row.get("allgather", {}).items()]:
        us = tables.median(item)
        if label in known and us is not None and item.get("wrong") == 0:
            operation, schedule = known[label]
            key = operation, row["ranks"], row["m"], 1 if operation == "allgather" else row["n"], row["k"]
            found.setdefault(key, []).append((us, counted(schedule, row["ranks"])))
    return found


def counted(schedule, ranks):
    """A schedule with the number of ranks substituted for D, as in D/2, since each line of the table is for one number of ranks."""
    return {name: ranks // int(value.removeprefix("D").removeprefix("/") or 1) if str(value).startswith("D") else value
            for name, value in schedule.items()}


def best(measured):
    """The (us, schedule) with the fewest fields among those within CLOSE of the fastest; on a tie, the fastest."""
    limit = CLOSE * min(us for us, _ in measured)
    return min((pair for pair in measured if pair[0] <= limit), key=lambda pair: (len(pair[1]), pair[0]))


def table(results):
    """The text of the table: the machines as comments, then the lines, by operation and ranks and with large problems first."""
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
