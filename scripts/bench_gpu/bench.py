#!/usr/bin/env python3
"""The benchmark of overlapped products against PyTorch, on this machine's GPUs.

    scripts/bench_gpu/bench.py --ranks 8 [--json FILE] [--markdown FILE] [--budget SECONDS]
    scripts/bench_gpu/bench.py --ranks 2 --draw 1 2 3 [--drawn 4]  random shapes with schedule: auto (drawn.py)
    scripts/bench_gpu/bench.py --ranks 2 --sections sums           small sums with residual and norm (sums.py)
    scripts/bench_gpu/bench.py --report FILE...     the merged tables of earlier runs

A cell is an operation at a shape (cells.py); variants.py lists the programs for each cell. For each cell `hirgen bench`
builds the programs and starts all of them. They check themselves and wait. Then programs and PyTorch peers (peers.py) are
timed in rounds on the same GPUs, one after the other, so that all see the same clocks and temperatures. A round of a program
or peer is a number of warm-up calls and REPEATS x ITERS back-to-back calls. CUDA events around ITERS calls give the time of a
repeat on each rank. The slowest rank counts, and tables show the median over repeats and rounds. Both sides start a repeat with
a barrier of all ranks, and their inputs are in place. The time includes the joins with the caller's stream. ITERS
follows from --seconds and the problem size, and is the same for the whole cell. Every peer is timed in a CUDA graph, too, and at least
one program of each cell. All graphs of a cell hold --calls-per-graph calls. The two sides differ in one point: programs
use a barrier over TCP and peers one over NCCL, which adds tens of microseconds of skew to a repeat. #wrong counts the
wrong elements of one checked call.

After the rows of a shape, PyTorch measures its bounds (bounds.py): the whole GEMM, the GEMM split along M, and the split GEMM
while copies run. The largest shape comes first, then the tiny call, then the other shapes in the order of cells.py, and
the largest allreduce last. Each step updates the JSON. A step is listed as skipped if the remaining --budget is shorter than
the expected time, which follows from the earlier steps. Bounds are also skipped beyond --bounds-limit.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import time
import typing

import bounds
import cells
import cublasmp
import drawn
import runs
import sums
import tables
import variants
from programs import Builder, Program


SECTIONS = ["rows", "tiny", "bounds", "drawn", "sums"]
LISTS = ["rows", "drawn", "sums"]  # keys of the result that hold lists of rows


class Step(typing.NamedTuple):
    """A step of the run: a row of a section with its variants, or the bounds of the cell's shape."""

    section: str
    cell: cells.Cell
    variants: list


def planned(args):
    """The steps, the most important first: shape by shape, and the tiny call after the first shape. An allreduce of
    more than HUGE_SECONDS comes last, since no performance goal covers it and its check is among the longest."""
    steps = []
    for shape in args.shapes:
        own = cells.cells(args.ranks, [shape], args.operations)
        steps += [Step("rows", cell, chosen(cell, args)) for cell in own]
        steps += [Step("bounds", cells.Cell("ag_matmul", *shape, args.ranks), [])]
        if shape == args.shapes[0]:
            tiny = cells.tiny_cell(args.ranks)
            steps += [Step("tiny", tiny, chosen(tiny, args))]
    steps += [Step("sums", cell, wanted(sums.of_cell(cell), args)) for cell in sums.sums(args.ranks, args.rows)]
    own = [smaller(cell, args.divide) for cell in drawn.drawn(args.ranks, args.draw, args.drawn, args.operations, args.odd)]
    steps += [Step("drawn", cell, drawn.of_cell(cell, args.machine)) for cell in own]
    steps = [step for step in steps if step.section in args.sections]
    return sorted(steps, key=lambda s: s.cell.operation == "matmul_ar" and s.cell.expected_seconds > variants.HUGE_SECONDS)


def smaller(cell, divisor):
    """The cell with its extents divided; its rows stay a multiple of the ranks."""
    rows = cell.ranks * max(1, cell.m // divisor // cell.ranks)
    return dataclasses.replace(cell, m=rows, n=cell.n // divisor, k=cell.k // divisor)


def chosen(cell, args):
    """The variants of a cell, filtered by the command line."""
    return wanted(variants.of_cell(cell), args)


def wanted(made, args):
    """The variants whose label --only accepts."""
    return [v for v in made if not args.only or any(text in v.label for text in args.only)]


def expected(step, done):
    """The expected seconds of a step. done has (step, seconds) of earlier steps, and only steps of the same kind count. The result is the
    shortest time of a step that was at least as large, the longest of all if every one was smaller, or 0 if there is none."""
    alike = [(one, seconds) for one, seconds in done if (one.section == "bounds") == (step.section == "bounds")]
    larger = [seconds for one, seconds in alike if one.cell.check_flops >= step.cell.check_flops]
    return min(larger) if larger else max((seconds for _, seconds in alike), default=0)


def builder(args):
    """Returns a builder of programs. main() builds the first program with it; `hirgen bench` builds the others, which share its runtime."""
    return Builder(args.hirgen, args.work, args.device, args.cmake)


def machine(args, about):
    """The ranks, GPU and PyTorch of the measurement, as one line."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit", "--format=csv,noheader"]
        gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        gpu = platform.processor() or "no GPU"
    peers = f", PyTorch {about['torch']} with NCCL {about['nccl']}" if about else ", no PyTorch"
    return f"{args.ranks} x {gpu}{peers}"


def row_text(row):
    """A progress line for a row."""
    d = tables.derived(row)
    return (f"{row['operation']:10s} {tables.shape(row):20s} product {tables.ms(d['gemm'])} collective {tables.ms(d['communication'])} "
            f"| {d['peer']} {tables.ms(d['peer_us'])} | {d['label']} {tables.ms(d['us'])} ms "
            f"| peer/hirgen {tables.number(d['against_peer'], 2)} floor/hirgen {tables.number(d['against_floor'], 2)} "
            f"[{row['seconds']['prepare']:.0f}+{row['seconds']['time']:.0f} s]")


def left_for(step, done, args):
    """Seconds left for a step: of --budget and, for bounds, of --bounds-limit."""
    left = args.deadline - time.monotonic()
    spent = sum(seconds for one, seconds in done if one.section == "bounds")
    return min(left, args.bounds_limit - spent) if step.section == "bounds" else left


def collect(args, steps, result, save):
    """Runs the steps and adds them to the result; lists the steps that do not fit into the remaining time."""
    peers = None if args.no_peers or args.device == "cpu" else runs.Peers(args.ranks)
    result["machine"] = machine(args, peers and peers.about)
    if peers and not args.no_cublasmp and any(step.section in ("rows", "drawn") for step in steps):
        peers = cublasmp.joined(peers, args)
    done, started = [], {}
    try:
        for i, step in enumerate(steps):
            left, needed, begin = left_for(step, done, args), expected(step, done), time.monotonic()
            if left <= needed:
                skip(step, f"{max(0, left):.0f} s were left, and it takes some {needed:.0f} s", result)
            else:
                if step.section == "drawn" and i not in started:
                    started |= start_ahead(steps, i, args)
                take(step, peers, args, result, started.pop(i, None))
                done.append((step, time.monotonic() - begin))
            save()
    finally:
        for ready in started.values():
            ready.stop()
        if peers:
            peers.stop()


def start_ahead(steps, first, args):
    """Starts the programs of up to --ahead drawn rows, from index first on. Returns {index of a step: its row}, ready to be timed."""
    places = [i for i in range(first, min(first + args.ahead, len(steps))) if steps[i].section == "drawn"]
    rows = {i: runs.Row(steps[i].cell, steps[i].variants, args, len(places)) for i in places}
    for row in rows.values():
        row.ready()
    return rows


def skip(step, why, result):
    """Lists a step as skipped."""
    cell = step.cell
    size = {"m": cell.m, "n": cell.n, "k": cell.k, "ranks": cell.ranks, "skipped": why}
    if step.section == "bounds":
        result["bounds"].append(size)
    else:
        result["skipped"].append({"operation": cell.operation, **size})
    print(f"skipped: {step.section} {cell.operation} {tables.shape(size)}: {why}", flush=True)


def take(step, peers, args, result, started):
    """Measures a step. started is its row if its programs were started ahead, or None."""
    if step.section != "bounds":
        row = runs.measure(step.cell, step.variants, peers, args, started)
        if step.section == "drawn":
            program = Program(builder(args), step.variants[0])
            program.emit()
            row |= drawn.choice(program)
        result.update(tiny=row) if step.section == "tiny" else result[step.section].append(row)
        print(row_text(row), flush=True)
    elif not peers:
        skip(step, "it needs PyTorch", result)
    else:
        entry = peers.bounds(args.operations, step.cell, args.bounds_seconds)
        result["bounds"].append(entry)
        print(f"bounds     {tables.shape(entry):20s} {entry.get('skipped', 'measured')} [{entry['seconds']:.0f} s]", flush=True)


def merged(results):
    """Merges the results of several runs on one machine."""
    def key(row):
        return row["operation"], bounds.size(row)

    rows = kept([row for r in results for row in r["rows"] + r.get("skipped", [])], key)
    return {"machine": "; ".join(dict.fromkeys(r["machine"] for r in results)),
            "rows": [row for row in rows if "skipped" not in row], "skipped": [row for row in rows if "skipped" in row],
            "bounds": kept([entry for r in results for entry in r.get("bounds", [])], bounds.size),
            **{name: kept([row for r in results for row in r.get(name, [])], key) for name in LISTS[1:]},
            "tiny": next((r["tiny"] for r in reversed(results) if r.get("tiny")), None)}


def kept(entries, key):
    """The last measured entry for each key, or its first skipped one."""
    found = {}
    for entry in entries:
        if "skipped" not in entry or key(entry) not in found:
            found[key(entry)] = entry
    return list(found.values())


def report(result):
    """The whole report in Markdown."""
    return (tables.markdown(result) + bounds.markdown(result.get("bounds", []), result["rows"])
            + drawn.markdown(result.get("drawn", [])) + sums.markdown(result.get("sums", [])))


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--report", nargs="+", metavar="FILE", help="print the tables of these JSON files and measure nothing")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/bench", help="scratch folder")
    parser.add_argument("--json", default="build/bench/bench.json")
    parser.add_argument("--markdown", default="build/bench/bench.md")
    parser.add_argument("--budget", type=float, default=3600, help="seconds, the build included")
    parser.add_argument("--shapes", nargs="*", type=lambda t: tuple(map(int, t.split(","))), default=cells.SHAPES, metavar="M,N,K")
    parser.add_argument("--operations", nargs="*", choices=cells.OPERATIONS, default=cells.OPERATIONS)
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS[:3], help="only these; bounds alone builds no program")
    parser.add_argument("--draw", nargs="*", type=int, default=[], metavar="SEED", help="only the section drawn, with shapes from these seeds")
    parser.add_argument("--drawn", type=int, default=12, metavar="N", help="shapes per seed")
    parser.add_argument("--odd", type=int, default=6, metavar="N", help="with --draw, shapes in addition of which no extent is a multiple of 8")
    parser.add_argument("--rows", nargs="*", type=int, default=sums.ROWS, metavar="M", help="of the section sums")
    parser.add_argument("--ahead", type=int, default=12, metavar="N", help="drawn rows whose programs start, and check themselves, at the same time")
    parser.add_argument("--machine", default="", metavar="FILE", help="a file of --calibrate: the only source of choices and predictions for drawn shapes")
    parser.add_argument("--only", nargs="*", help="only variants whose label contains one of these texts")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats per round")
    parser.add_argument("--iters", type=int, default=5, help="minimum calls per repeat")
    parser.add_argument("--calls-per-graph", type=int, default=0, metavar="N", help="calls in each CUDA graph, of both sides; 0: as many as take 1 ms, 50 at most")
    parser.add_argument("--seconds", type=float, default=0.2, help="duration of all repeats of a round")
    parser.add_argument("--warm", type=float, default=0.2, metavar="SECONDS", help="warm-up before each round: a GPU at its power limit settles within 0.1 s")
    parser.add_argument("--bounds-seconds", type=float, default=0.05, help="duration of each bounds measurement in a round")
    parser.add_argument("--bounds-limit", type=float, default=80, help="seconds for the bounds of all shapes")
    parser.add_argument("--check-limit", type=float, default=80, metavar="TFLOP", help="check programs whose reference needs at most this much")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="concurrent builds")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, with small --shapes")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="divide the extents of drawn shapes, to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="an additional CMake setting")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-cublasmp", action="store_true", help="skip the cuBLASMp peers even if cuBLASMp is installed")
    args = parser.parse_args()
    args.sections, args.near = ["drawn"] if args.draw else args.sections, math.inf
    if not args.report and not args.ranks:
        parser.error("say how many GPUs: --ranks")
    return args


def main():
    """Builds, measures, reports; exit code 1 if a program was wrong."""
    args = parse()
    if args.report:
        print(report(merged([json.loads(pathlib.Path(path).read_text()) for path in args.report])))
        return 0
    begin = time.monotonic()
    args.deadline = begin + args.budget
    steps = planned(args)
    first = builder(args).build([v for step in steps for v in step.variants][:1], 1)
    result = {"command": " ".join(sys.argv), "machine": "", "tiny": None, "bounds": [], "skipped": [], **{name: [] for name in LISTS},
              "build_seconds": time.monotonic() - begin}
    runs.stop_unless_built(first)

    def save():
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
        pathlib.Path(args.markdown).write_text(report(result))

    collect(args, steps, result, save)
    save()
    print(report(result))
    rows = [row for name in LISTS for row in result[name]]
    every = [item for row in [*rows, result["tiny"] or {}] for item in row.get("hirgen", {}).values()]
    return 1 if any(item.get("wrong") for item in every) else 0


if __name__ == "__main__":
    sys.exit(main())
