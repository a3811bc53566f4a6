"""Shapes that nobody chose: what schedule: auto makes of them, each with the source of its choice.

A seed gives so many shapes, the same on every machine: M, N and K are log-uniform in RANGES and multiples of STEP.
"""
import math
import random

import cells
import programs
import tables

STEP = 128
RANGES = {"m": (256, 16384), "n": (1024, 16384), "k": (1024, 16384)}
LABEL = "auto"


def shapes(seed, count):
    """So many shapes (M, N, K)."""
    source = random.Random(seed)
    return [tuple(multiple(math.exp(source.uniform(math.log(low), math.log(high)))) for low, high in RANGES.values())
            for _ in range(count)]


def multiple(extent):
    """The nearest multiple of STEP; the ends of RANGES are some themselves."""
    return STEP * round(extent / STEP)


def drawn(ranks, seeds, count, operations):
    """The cells of some seeds."""
    return cells.cells(ranks, [shape for seed in seeds for shape in shapes(seed, count)], operations)


def of_cell(cell):
    """The one program of a drawn cell."""
    return [programs.Variant(f"{cell.operation}_auto", cell.params, {}, label=LABEL)]


def choice(program):
    """What hirgen says of where a program's schedule is from."""
    try:
        return program.checked()["auto"]["basis"]
    except programs.Refused as refusal:
        return f"refused: {refusal}"


def table(rows):
    """One line a row."""
    titles = ["operation", "M, N, K", "GEMM", "best peer", "ms", "auto, ms", "peer / auto", "GEMM / auto", "chosen by"]
    lines = []
    for row in rows:
        d = tables.derived(row)
        lines.append([row["operation"], tables.shape(row), tables.ms(d["gemm"]), d["peer"] or "-", tables.ms(d["peer_us"]),
                      tables.item_text(row["hirgen"].get(LABEL)), tables.number(d["against_peer"], 3),
                      tables.number(d["against_gemm"], 3), row.get("choice", "-")])
    return tables.table(titles, lines)


def markdown(rows):
    """The report of the section; nothing where nothing was drawn."""
    if not rows:
        return ""
    refused = tables.refusals(rows)
    return "\n".join(["\nDrawn shapes, schedule: auto:\n", table(rows), "\nGeometric means and least rows:\n", tables.means_table(rows),
                      *(["\nNot measured:\n", *refused] if refused else [])]) + "\n"
