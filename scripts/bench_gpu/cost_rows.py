#!/usr/bin/env python3
"""Converts benchmark results to the rows that the cost model is fitted to and tested against.

    scripts/bench_gpu/cost_rows.py docs/measured/*.json > cost/testdata/measured.json

There is one object for each program with correct results: spec, parameters, schedule and microseconds, the median of the
repeats. The schedule follows from the words of the label, so labels of older files work as well. PyTorch's GEMMs and
collectives alone are {"gemm": [m, n, k]} and {"collective": type, "bytes": of the larger side}.
Programs of drawn shapes have the schedule that hirgen chose for them.
"""
import json
import pathlib
import re
import sys

import cells
import drawn
import layers
import tables
import variants

REFERENCE = {"preset": "reference"}  # the default at the time of these measurements
WORDS = {
    "get": variants.GET, "put": variants.PUT, "eager": variants.EAGER, "whole": variants.EAGER, "local last": variants.LAST,
    "graph": variants.GRAPH, "ring": variants.RING, "ring in GEMM": variants.IN_GEMM, "separate add": variants.SEPARATE_ADD,
    "put by kernels": {**variants.PUT, **variants.KERNEL}, "peer-read sum": {"all.fuse": "peer-read"}, "fused": variants.FUSED,
    "single": {"all.signals": "single"}, "p2p by NCCL": {**REFERENCE, "all.via": "nccl"}, "collective": REFERENCE,
}
COUNTED = [(r"(\d+) a slice", {"all.split": "{}"}), (r"(\d+) (?:GEMMs?|chunk)", {"all.block": "D/{}"}),
           (r"(\d+) sub-chunks", {"all.split": "{}", "all.interchange": "true"}), (r"(\d+) streams", {"streams": "{}"}),
           (r"(\d+) slices", {"S": "{}"})]


def schedule_of(label):
    """The schedule of a label, with the number of slices as "S" if the label has it; None if a word is unknown."""
    schedule = {}
    for word in label.split(", "):
        counted = [(name, form.format(found[1])) for pattern, forms in COUNTED if (found := re.fullmatch(pattern, word))
                   for name, form in forms.items()]
        if word not in WORDS and not counted:
            return None
        schedule |= WORDS.get(word, {}) | dict(counted)
    return schedule


def program(cell, operation, label):
    """A program as spec, parameters and schedule; None if its label has an unknown word."""
    schedule = schedule_of(label)
    if schedule is None:
        return None
    whole = schedule.get("preset") == "eager" or "S" in schedule
    params = {**cell.params, **({"S": int(schedule.pop("S", 1))} if whole else {})}
    spec = operation_spec(operation, whole and not getattr(cell, "is_tiny", False))
    if spec == "allgather_p2p":
        params.pop("N")
    if spec.endswith("_p2p"):
        params.pop("S", None)
    return {"spec": spec, "params": params, "schedule": {name: str(value) for name, value in schedule.items()}}


def operation_spec(operation, whole):
    """The example spec of an operation: with one slice per rank (*_p2p), or with S slices."""
    return operation if whole and operation != "allgather" else operation + "_p2p"


def layer_program(layer, label):
    """The program of a layer with a label of layers.py; None if there is none, or if its schedule is auto."""
    made = next((variant for variant in layers.of_layer(layer) if variant.label == label), None)
    if made is None or made.schedule.get("preset") == "auto":
        return None
    return {"spec": made.spec, "params": made.params, "schedule": {name: str(value) for name, value in made.schedule.items()}}


# What hirgen's report calls the schedule with the default of each field. The last two are from earlier versions.
DEFAULTS = ("the default of each field", "schedule: {}", "the default schedule")
CHOSEN = re.compile(r".*: (?:measured|predicted) \S+ \w+ (?:on \S+ )?with (.+?)(?:, \S+ \w+ with (?:" + "|".join(map(re.escape, DEFAULTS)) + "))?")


def drawn_program(cell, choice):
    """The program of a drawn shape. choice is hirgen's report, from which the schedule is parsed; None if hirgen chose none."""
    found = CHOSEN.fullmatch(choice)
    if not found:
        return None
    fields = dict(field.split(" ") for field in found[1].split(", ") if field not in DEFAULTS)
    return {"spec": cell.operation + "_auto", "params": cell.params, "schedule": fields}


def rows_of_drawn(source, row):
    """The objects of a drawn row."""
    cell = cells.Cell(row["operation"], row["m"], row["n"], row["k"], row["ranks"])
    found = list(alone(cell, row["peers"]))
    item = row["hirgen"].get(drawn.LABEL, {})
    made, us = drawn_program(cell, row.get("choice", "")), tables.median(item)
    if made and us is not None and item.get("wrong") == 0 and is_one_call(made["schedule"], row):
        found.append({**made, "ranks": row["ranks"], "us": us})
    return [{"source": source, **one, "us": round(one["us"], 1)} for one in found]


def is_one_call(schedule, row):
    """Whether each call has its own launch, as predictions assume. The calls of a CUDA graph share a launch."""
    return str(schedule.get("graph")).lower() != "true" or row.get("calls", {}).get("in_graph", 1) == 1


def undisturbed(item):
    """The lower quartile of an item's times, as the time of repeats that the host did not delay. PyTorch's host code takes as long as small
    collectives, and is late in some repeats."""
    times = sorted(item.get("us", []))
    return times[len(times) // 4] if times else None


def alone(cell, peers):
    """The GEMM and the collective of a row, each alone."""
    if (us := tables.median(peers.get("gemm", {}))) is not None:
        yield {"gemm": [cell.m, cell.n, cell.k], "ranks": cell.ranks, "us": us}
    kind = {"ag_matmul": "Allgather", "matmul_rs": "ReduceScatter", "matmul_ar": "Allreduce"}.get(cell.operation)
    if kind and (us := undisturbed(peers.get("collective", {}))) is not None:
        columns = cell.k if kind == "Allgather" else cell.n
        yield {"collective": kind, "bytes": cell.m * columns * cells.ELEMENT, "ranks": cell.ranks, "us": us}


def rows_of(source, row, is_layer, is_tiny=False):
    """The objects of a row of a file."""
    cell = layers.of_row(row) if is_layer else cells.Cell(row["operation"], row["m"], row["n"], row["k"], row["ranks"], is_tiny=is_tiny)
    found = [] if is_tiny or is_layer else list(alone(cell, row["peers"]))
    for label, item in [*row["hirgen"].items(), *row.get("allgather", {}).items()]:
        operation, words = row["operation"], label
        if not is_layer and (named := re.match(r"(allgather|ag_matmul) (.*)", label)):
            operation, words = named[1], named[2]
        made = layer_program(cell, label) if is_layer else program(cell, operation, words)
        us = tables.median(item)
        if made and us is not None and item.get("wrong") == 0 and is_one_call(made["schedule"], row):
            found.append({**made, "ranks": row["ranks"], "us": us})
    return [{"source": source, **one, "us": round(one["us"], 1)} for one in found]


def parts_of(source, bound):
    """The GEMMs of a bounds section: whole, and split along M."""
    for label, item in bound.get("items", {}).items():
        count = 1 if label == "whole" else int(found[1]) if (found := re.fullmatch(r"(\d+) GEMMs", label)) else 0
        if count and (us := tables.median(item)) is not None:
            yield {"source": source, "gemm": [bound["m"] // count, bound["n"], bound["k"]], "ranks": bound["ranks"], "us": round(us / count, 1)}


def main():
    """Prints the rows of all files, one a line."""
    found = []
    for path in map(pathlib.Path, sys.argv[1:]):
        result = json.loads(path.read_text())
        source = path.stem
        for row in result["rows"] + (result.get("layers") or []):
            found += rows_of(source, row, is_layer=row["operation"] in layers.OPERATIONS)
        for row in result.get("drawn") or []:
            found += rows_of_drawn(source, row)
        for bound in result.get("bounds") or []:
            found += parts_of(source, bound)
        if result.get("tiny"):
            found += rows_of(source, result["tiny"], is_layer=False, is_tiny=True)
    print("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]")


if __name__ == "__main__":
    main()
