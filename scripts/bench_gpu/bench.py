#!/usr/bin/env python3
"""The benchmark of overlapped products against PyTorch, on this machine's GPUs.

    scripts/bench_gpu/bench.py --ranks 8 [--json FILE] [--markdown FILE] [--budget SECONDS]
    scripts/bench_gpu/bench.py --ranks 2 --draw 1 2 3 [--drawn 4]  shapes from seeds with schedule: auto, drawn.py
    scripts/bench_gpu/bench.py --report FILE...     the tables of earlier runs, as of one

The programs are those of variants.py for every operation and shape of cells.py. Cell by cell, `hirgen bench` builds
them; all start, check themselves and wait; each is timed in turn with PyTorch's peers (peers.py), in rounds over the
same GPUs, so that all see the same clocks and heat. In a round a
program or peer runs warm-up calls and REPEATS x ITERS back-to-back calls; a time is that of the slowest
rank between CUDA events around ITERS calls, and the median over repeats and rounds is reported. Both sides
start a repeat with a barrier of all ranks and have their inputs in place; whatever a caller needs to go on
(joins with its stream) is inside the clock. ITERS follows from --seconds and the size of the problem, the
same for all of a cell. The two sides differ in one point: the barrier of the programs is over TCP and that of
the peers over NCCL, tens of microseconds of skew over the whole repeat. #wrong is of one checked call.

After the rows of a shape comes what bounds them: its product whole, cut, and cut beside copies, by PyTorch
(bounds.py). The largest shape comes first, then the tiny call, then the other shapes as cells.py has them, and the
largest allreduce at the end. The JSON is written after each step. A step that --budget leaves no time for, by
those that were taken before it, is listed as skipped; so are bounds beyond --bounds-limit.
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
import tables
import variants
from programs import Builder, Program


SECTIONS = ["rows", "tiny", "bounds", "drawn"]
LISTS = ["rows", "drawn"]  # sections that are rows of the result


class Step(typing.NamedTuple):
    """A piece of the run: a row of a section with its variants, or what bounds the cell's shape."""

    section: str
    cell: cells.Cell
    variants: list


def planned(args):
    """The steps in the order of their worth: shape by shape, the tiny call after the first one. The longest allreduce
    comes last, since no goal is about it, and its check is of the longest ones."""
    steps = []
    for shape in args.shapes:
        own = cells.cells(args.ranks, [shape], args.operations)
        steps += [Step("rows", cell, chosen(cell, args)) for cell in own]
        steps += [Step("bounds", cells.Cell("ag_matmul", *shape, args.ranks), [])]
        if shape == args.shapes[0]:
            tiny = cells.tiny_cell(args.ranks)
            steps += [Step("tiny", tiny, chosen(tiny, args))]
    own = [smaller(cell, args.divide) for cell in drawn.drawn(args.ranks, args.draw, args.drawn, args.operations)]
    steps += [Step("drawn", cell, drawn.of_cell(cell, args.machine)) for cell in own]
    steps = [step for step in steps if step.section in args.sections]
    return sorted(steps, key=lambda s: s.cell.operation == "matmul_ar" and s.cell.expected_seconds > variants.HUGE_SECONDS)


def smaller(cell, divisor):
    """A cell of other extents."""
    return dataclasses.replace(cell, m=cell.m // divisor, n=cell.n // divisor, k=cell.k // divisor)


def chosen(cell, args):
    """The variants of a cell that the command line asks for."""
    return wanted(variants.of_cell(cell), args)


def wanted(made, args):
    """Those of some variants that --only leaves."""
    return [v for v in made if not args.only or any(text in v.label for text in args.only)]


def expected(step, done):
    """Seconds that a step should take, by those of its kind that are done, as (step, seconds): the shortest of the
    larger ones, or the longest of all if none was larger."""
    alike = [(one, seconds) for one, seconds in done if (one.section == "bounds") == (step.section == "bounds")]
    larger = [seconds for one, seconds in alike if one.cell.check_flops >= step.cell.check_flops]
    return min(larger) if larger else max((seconds for _, seconds in alike), default=0)


def builder(args):
    """Builds what `hirgen bench` does not: the first program, whose runtime the others share."""
    return Builder(args.hirgen, args.work, args.device, args.cmake)


def machine(args, about):
    """What it was measured on, in a line."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit", "--format=csv,noheader"]
        gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        gpu = platform.processor() or "no GPU"
    peers = f", PyTorch {about['torch']} with NCCL {about['nccl']}" if about else ", no PyTorch"
    return f"{args.ranks} x {gpu}{peers}"


def row_text(row):
    """A line of progress."""
    d = tables.derived(row)
    return (f"{row['operation']:10s} {tables.shape(row):20s} product {tables.ms(d['gemm'])} collective {tables.ms(d['communication'])} "
            f"| {d['peer']} {tables.ms(d['peer_us'])} | {d['label']} {tables.ms(d['us'])} ms "
            f"| peer/hirgen {tables.number(d['against_peer'], 2)} floor/hirgen {tables.number(d['against_floor'], 2)} "
            f"[{row['seconds']['prepare']:.0f}+{row['seconds']['time']:.0f} s]")


def left_for(step, done, args):
    """Seconds left for a step: of the budget, and of what all bounds may take."""
    left = args.deadline - time.monotonic()
    spent = sum(seconds for one, seconds in done if one.section == "bounds")
    return min(left, args.bounds_limit - spent) if step.section == "bounds" else left


def collect(args, steps, result, save):
    """Takes step after step into the result; those that the time does not suffice for are listed."""
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
    """The programs of drawn rows from the first one on, --ahead of them, ready to be timed, by their place in the steps."""
    places = [i for i in range(first, min(first + args.ahead, len(steps))) if steps[i].section == "drawn"]
    rows = {i: runs.Row(steps[i].cell, steps[i].variants, args, len(places)) for i in places}
    for row in rows.values():
        row.ready()
    return rows


def skip(step, why, result):
    """Lists a step that is not taken."""
    cell = step.cell
    size = {"m": cell.m, "n": cell.n, "k": cell.k, "ranks": cell.ranks, "skipped": why}
    if step.section == "bounds":
        result["bounds"].append(size)
    else:
        result["skipped"].append({"operation": cell.operation, **size})
    print(f"skipped: {step.section} {cell.operation} {tables.shape(size)}: {why}", flush=True)


def take(step, peers, args, result, started):
    """Measures a step, whose programs may have started."""
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
    """Runs of one machine as one result."""
    def key(row):
        return row["operation"], bounds.size(row)

    rows = kept([row for r in results for row in r["rows"] + r.get("skipped", [])], key)
    return {"machine": "; ".join(dict.fromkeys(r["machine"] for r in results)),
            "rows": [row for row in rows if "skipped" not in row], "skipped": [row for row in rows if "skipped" in row],
            "bounds": kept([entry for r in results for entry in r.get("bounds", [])], bounds.size),
            **{name: kept([row for r in results for row in r.get(name, [])], key) for name in LISTS[1:]},
            "tiny": next((r["tiny"] for r in reversed(results) if r.get("tiny")), None)}


def kept(entries, key):
    """One entry of each key: the last one, but none that was skipped in place of one that was measured."""
    found = {}
    for entry in entries:
        if "skipped" not in entry or key(entry) not in found:
            found[key(entry)] = entry
    return list(found.values())


def report(result):
    """The whole report in Markdown."""
    return (tables.markdown(result) + bounds.markdown(result.get("bounds", []), result["rows"])
            + drawn.markdown(result.get("drawn", [])))


def parse():
    """The command line."""
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
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS[:3], help="these alone; bounds alone builds nothing")
    parser.add_argument("--draw", nargs="*", type=int, default=[], metavar="SEED", help="the section drawn alone, of these seeds")
    parser.add_argument("--drawn", type=int, default=12, metavar="N", help="shapes that each seed draws")
    parser.add_argument("--ahead", type=int, default=12, metavar="N", help="drawn rows whose programs start, and check themselves, at the same time")
    parser.add_argument("--machine", default="", metavar="FILE", help="of --calibrate: drawn shapes are chosen and predicted by it alone")
    parser.add_argument("--only", nargs="*", help="variants whose label contains one of these texts")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats of a round")
    parser.add_argument("--iters", type=int, default=5, help="calls of a repeat, at least")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round's repeats together")
    parser.add_argument("--warm", type=float, default=0.2, metavar="SECONDS", help="of calls before each round: a GPU at its power limit settles within 0.1 s")
    parser.add_argument("--bounds-seconds", type=float, default=0.05, help="of a round of each measurement of what bounds a shape")
    parser.add_argument("--bounds-limit", type=float, default=80, help="seconds of what bounds all shapes together")
    parser.add_argument("--check-limit", type=float, default=80, metavar="TFLOP", help="check programs whose reference is no larger")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="builds at a time")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, with small --shapes")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="the extents of drawn shapes, to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="a further setting for CMake")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-cublasmp", action="store_true", help="no peer by cuBLASMp, even if it is there")
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
