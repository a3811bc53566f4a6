#!/usr/bin/env python3
"""Emits the programs that versions.py times: the rows of one version of hirgen, as a set of folders that run without hirgen.

    scripts/bench_gpu/emit_set.py SET --ranks 2 [--hirgen bin/hirgen] [--specs testdata/specs] [--only TEXT...] [--small]

The rows are the best program for each operation and shape of cells.py, some programs of layers.py, and the example specs of OWN with
the schedules in their files. docs/measured/bench_<ranks>_gpus.json, if it exists, gives the best program. Rows have the same names in
all versions. To emit a set of an earlier version, give its hirgen and its specs. If its schedules have another syntax, run the
script of its checkout.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys

import cells
import layers
import programs
import tables
import variants
from folders import ROWS, take_runtime

MEASURED = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "measured"
CHECK_FLOPS = 5e12  # most FLOPs of a program's check; such a reference takes about a second
BLOCK = {"B": 1, "L": 2048, "H": 32, "C": 128}
SQUARE = {"M": 8192, "N": 8192, "K": 8192}

#: Programs of the layers mlp and swiglu, by label.
FEED_FORWARD = ["collective, 4 slices", "get", "put, 2 a slice"]

#: (spec, parameters without the ranks, rough ms on 2 GPUs), with the schedules in the spec files.
OWN = [
    ("mlp_tp", {"M": 8192, "K": 4096, "N": 14336}, 1.6), ("mlp_sp", {"M": 8192, "K": 4096, "N": 14336}, 1.8),
    ("mlp_tp_backward", {"M": 8192, "K": 4096, "N": 14336}, 3.5),
    ("transformer_block", BLOCK, 3), ("transformer_block_backward", BLOCK, 7),
    ("ag_linear", SQUARE, 1.8), ("ag_matmul", SQUARE, 1.8), ("ag_matmul_p2p", SQUARE, 1.8),
    ("ag_matmul_bcast", SQUARE, 1.8), ("ag_matmul_anywhere", SQUARE, 1.6), ("gather_consume", SQUARE, 1.6),
    ("produce_exchange", SQUARE, 1), ("matmul_rs", SQUARE, 1.1), ("matmul_rs_reduce", SQUARE, 1.2),
    ("matmul_ar", SQUARE, 1.3), ("linear_ar_backward", SQUARE, 3),
    ("allgather", {"M": 8192, "N": 8192}, 0.3), ("allreduce", {"M": 8192, "N": 8192}, 0.5),
    ("reduce_scatter", {"M": 8192, "N": 8192}, 0.3),
]


def rows(ranks, small):
    """(name, variant, expected microseconds, whether to check it) of all rows. With small, extents are divided, for the CPU device."""
    for cell in cells.cells(ranks, cells.SHAPES, cells.OPERATIONS):
        variant = best(cell)
        if small:
            cell = cells.Cell(cell.operation, cell.m // 64, cell.n // 64, cell.k // 64, ranks)
            variant = variants.make(cell, variant.label, variant.spec, extra(variant), variant.schedule)
        name = f"{cell.operation} {cell.m}, {cell.n}, {cell.k}: {variant.label}"
        yield name, variant, cell.expected_seconds * 1e6, cell.check_flops <= CHECK_FLOPS
    for layer in layers.layers(ranks, ["mlp", "swiglu"])[:2]:
        if small:
            layer = dataclasses.replace(layer, m=layer.m // 64, n=layer.n // 64, k=layer.k // 64)
        for variant in (variant for variant in layers.of_layer(layer) if variant.label in FEED_FORWARD):
            yield f"{layer.operation} {layer.m}, {layer.n}, {layer.k}: {variant.label}", variant, layer.expected_seconds * 1e6, True
    for spec, params, ms in OWN:
        params = {name: less(n) if small else n for name, n in params.items()} | {"D": ranks}
        yield f"{spec}, its own schedule", programs.Variant(spec, params, {}), ms * 1000, True


def less(extent):
    """The extent of a small row."""
    return extent // 64 if extent >= 1024 else max(1, extent // 8)


def extra(variant):
    """A variant's parameters other than D, M, N and K."""
    return {name: value for name, value in variant.params.items() if name not in "DMNK"}


def best(cell):
    """The variant of a cell that was measured as the fastest on its number of GPUs; without a measurement the first one."""
    made = {variant.label: variant for variant in variants.of_cell(cell) if not variant.spec.startswith("allgather")}
    file = MEASURED / f"bench_{cell.ranks}_gpus.json"
    for row in json.loads(file.read_text())["rows"] if file.exists() else []:
        if (row["operation"], row["m"], row["n"], row["k"]) == (cell.operation, cell.m, cell.n, cell.k):
            label = tables.best({name: item for name, item in row["hirgen"].items() if name in made})[0]
            return made.get(label) or next(iter(made.values()))
    return next(iter(made.values()))


def folder_name(row):
    """A short name for a row's folder."""
    return re.sub(r"[^\w]+", "_", row).strip("_")


def emit(hirgen, specs, variant, folder):
    """Emits a folder; returns hirgen's error, or ""."""
    spec = folder.parent / f"{variant.spec}.yaml"
    spec.write_text(variant.text(specs))
    code, output = programs.quiet([hirgen, "emit", spec, "-o", folder, *variant.options])
    spec.unlink()
    return "" if code == 0 else programs.first_error(output)


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=pathlib.Path, help="a new folder")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--specs", type=pathlib.Path, default=programs.SPECS)
    parser.add_argument("--only", nargs="*", help="only rows whose name contains one of these texts")
    parser.add_argument("--small", action="store_true", help="small extents, for the CPU device")
    return parser.parse_args()


def main():
    """Emits the set."""
    args = parse()
    if args.set.exists():
        if not (args.set / ROWS).exists():
            sys.exit(f"{args.set} is there, and no set of folders")
        shutil.rmtree(args.set)
    args.set.mkdir(parents=True)
    entries, refused = [], []
    for name, variant, us, check in rows(args.ranks, args.small):
        if args.only and not any(text in name for text in args.only):
            continue
        problem = emit(args.hirgen, args.specs, variant, args.set / folder_name(name))
        if problem:
            refused.append(f"{name}: {problem}")
        else:
            entries.append({"row": name, "folder": folder_name(name), "expected_us": round(us, 1), "check": check})
    take_runtime(args.set)
    version = subprocess.run([args.hirgen, "version"], capture_output=True, text=True).stdout.strip()
    (args.set / ROWS).write_text(json.dumps({"ranks": args.ranks, "hirgen": version, "rows": entries}, indent=1) + "\n")
    print(f"{len(entries)} rows in {args.set}", *(f"refused: {line}" for line in refused), sep="\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
