"""Random shapes with schedule: auto, each with the source of hirgen's choice.

A seed gives the same shapes on every machine: M, N and K are log-uniform in RANGES, rounded to multiples of STEP.
"""
import math
import random

import cells
import programs
import tables

STEP = 128
RANGES = {"m": (256, 16384), "n": (1024, 16384), "k": (1024, 16384)}
LABEL = "auto"
NEAR = 0.15  # relative error of a prediction that counts as near


def shapes(seed, count):
    """count shapes (M, N, K)."""
    source = random.Random(seed)
    return [tuple(multiple(math.exp(source.uniform(math.log(low), math.log(high)))) for low, high in RANGES.values())
            for _ in range(count)]


def multiple(extent):
    """The nearest multiple of STEP. The ends of RANGES are multiples, so that the result is within RANGES."""
    return STEP * round(extent / STEP)


def drawn(ranks, seeds, count, operations):
    """The cells of some seeds."""
    return cells.cells(ranks, [shape for seed in seeds for shape in shapes(seed, count)], operations)


def of_cell(cell, machine=""):
    """The only program of a drawn cell. With a machine file, hirgen chooses its schedule by predictions for that machine alone."""
    return [programs.Variant(f"{cell.operation}_auto", cell.params, {}, label=LABEL, machine=str(machine))]


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


def verdict(rows):
    """A line with the number of predictions within NEAR."""
    errors = [abs(error(row)) for row in rows if error(row) is not None]
    return f"Predicted within {NEAR:.0%} of measured: {sum(e <= NEAR for e in errors)} of {len(errors)} rows."


def table(rows):
    """One line a row."""
    titles = ["operation", "M, N, K", "GEMM", "best peer", "ms", "auto, ms", "predicted, ms", "error, %", "peer / auto", "GEMM / auto", "chosen by"]
    lines = []
    for row in rows:
        d = tables.derived(row)
        wrong_by = error(row)
        lines.append([row["operation"], tables.shape(row), tables.ms(d["gemm"]), d["peer"] or "-", tables.ms(d["peer_us"]),
                      tables.item_text(row["hirgen"].get(LABEL)), tables.ms(row.get("predicted_us")),
                      tables.number(wrong_by and 100 * wrong_by, 1), tables.number(d["against_peer"], 3),
                      tables.number(d["against_gemm"], 3), row.get("choice", "-")])
    return tables.table(titles, lines)


def markdown(rows):
    """The report of the section; empty without drawn rows."""
    if not rows:
        return ""
    refused = tables.refusals(rows)
    return "\n".join(["\nDrawn shapes, schedule: auto:\n", table(rows), f"\n{verdict(rows)}", "\nGeometric means and least rows:\n", tables.means_table(rows),
                      *(["\nNot measured:\n", *refused] if refused else [])]) + "\n"
