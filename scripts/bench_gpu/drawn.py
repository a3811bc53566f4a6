"""Random shapes with schedule: auto, each with the source of hirgen's choice.

A seed gives the same shapes on every machine: M, N and K are log-uniform in RANGES, rounded to multiples of STEPS, or as odd_shapes
does. Each shape has a program with the schedule that hirgen chooses, and one with graph: true in addition, as peers have graphs.
"""
import math
import random

import cells
import programs
import tables
from variants import GRAPH

STEPS = {"m": 16, "n": 128, "k": 128}
RANGES = {"m": (16, 16384), "n": (1024, 16384), "k": (1024, 16384)}
LABEL = "auto"
NEAR = 0.15  # relative error of a prediction that counts as near


def extent(source, name):
    """A log-uniform extent, not rounded."""
    low, high = RANGES[name]
    return math.exp(source.uniform(math.log(low), math.log(high)))


def shapes(seed, count):
    """count shapes (M, N, K). The ends of RANGES are multiples of STEPS, so that the extents are within RANGES."""
    source = random.Random(seed)
    return [tuple(STEPS[name] * round(extent(source, name) / STEPS[name]) for name in RANGES) for _ in range(count)]


def odd_shapes(seed, count, ranks):
    """count shapes of which no extent is a multiple of 8, except M with 8 ranks. M is a multiple of the ranks."""
    source = random.Random(f"odd {seed}")

    def odd(name):
        step = ranks if name == "m" else 1
        while True:
            value = step * round(extent(source, name) / step)
            if value % 8 or step % 8 == 0:
                return value
    return [tuple(map(odd, RANGES)) for _ in range(count)]


def drawn(ranks, seeds, count, operations, odd=0):
    """The cells of some seeds, with odd shapes from the first of them."""
    made = [shape for seed in seeds for shape in shapes(seed, count)]
    return cells.cells(ranks, made + [shape for seed in seeds[:1] for shape in odd_shapes(seed, odd, ranks)], operations)


def of_cell(cell, machine=""):
    """The programs of a drawn cell. With a machine file, hirgen chooses their schedules by predictions for that machine alone."""
    return [programs.Variant(f"{cell.operation}_auto", cell.params, schedule, label=label, machine=str(machine))
            for label, schedule in ((LABEL, {}), (LABEL + tables.GRAPH, {"preset": "auto", **GRAPH}))]


def choice(program):
    """Fields for a row: hirgen's source for the program's schedule, and its prediction of the time of a call."""
    try:
        found = program.checked()
        return {"choice": found["auto"]["basis"], "predicted_us": found["prediction"]["us"]}
    except programs.Refused as refusal:
        return {"choice": f"refused: {refusal}"}


def error(row):
    """The relative error of the predicted time; None if one of the times is missing."""
    us = tables.median(row["hirgen"].get(LABEL))
    return row["predicted_us"] / us - 1 if us and "predicted_us" in row else None


def in_graphs(rows):
    """A line about the best of both sides whose calls are in graphs."""
    ratios = [ratio for row in rows if (ratio := tables.derived(row)["graphs"])]
    return (f"In graphs on both sides, peer / hirgen: geometric mean {tables.number(tables.geometric_mean(ratios))}, "
            f"least {tables.number(min(ratios, default=None))}, {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} rows at 1 or more.")


def verdict(rows):
    """A line with the number of predictions within NEAR."""
    errors = [abs(error(row)) for row in rows if error(row) is not None]
    return f"Predicted within {NEAR:.0%} of measured: {sum(e <= NEAR for e in errors)} of {len(errors)} rows."


def of_auto(row):
    """The row without the program that is always in a graph."""
    return {**row, "hirgen": {name: item for name, item in row["hirgen"].items() if name == LABEL}}


def table(rows):
    """One line a row."""
    titles = ["operation", "M, N, K", "GEMM", "best peer", "ms", "auto, ms", "predicted, ms", "error, %", "peer / auto", "GEMM / auto",
              *tables.GRAPH_TITLES, "chosen by"]
    lines = []
    for row in rows:
        d = tables.derived(of_auto(row))
        wrong_by = error(row)
        lines.append([row["operation"], tables.shape(row), tables.ms(d["gemm"]), d["peer"] or "-", tables.ms(d["peer_us"]),
                      tables.item_text(row["hirgen"].get(LABEL)), tables.ms(row.get("predicted_us")),
                      tables.number(wrong_by and 100 * wrong_by, 1), tables.number(d["against_peer"], 3),
                      tables.number(d["against_gemm"], 3), *tables.graph_columns(row), row.get("choice", "-")])
    return tables.table(titles, lines)


def markdown(rows):
    """The report of the section; empty without drawn rows."""
    if not rows:
        return ""
    refused = tables.refusals(rows)
    return "\n".join(["\nDrawn shapes, schedule: auto:\n", table(rows), f"\n{verdict(rows)}", f"\n{in_graphs(rows)}",
                      "\nGeometric means and least rows:\n", tables.means_table([of_auto(row) for row in rows]),
                      *(["\nNot measured:\n", *refused] if refused else [])]) + "\n"
