#!/usr/bin/env python3
"""The benchmark of overlapped products against PyTorch, on this machine's GPUs.

    scripts/bench_gpu/bench.py --ranks 8 [--json FILE] [--markdown FILE] [--budget SECONDS]
    scripts/bench_gpu/bench.py --report FILE        the tables of an earlier run

Builds the programs of variants.py for every operation and shape of cells.py. Then, cell by cell: all
programs of the cell start, check themselves and wait; each is timed in turn with PyTorch's peers
(peers.py), in rounds over the same GPUs, so that all see the same clocks and heat. In a round a
program or peer runs warm-up calls and REPEATS x ITERS back-to-back calls; a time is that of the slowest
rank between CUDA events around ITERS calls, and the median over repeats and rounds is reported. Both sides
start a repeat with a barrier of all ranks and have their inputs in place; whatever a caller needs to go on
(joins with its stream) is inside the clock. ITERS follows from --seconds and the size of the problem, the
same for all of a cell. The two sides differ in one point: the barrier of the programs is over TCP and that of
the peers over NCCL, tens of microseconds of skew over the whole repeat. #wrong is of one checked call.

The largest shape comes first, then the tiny call, then the other shapes; the JSON is written after each
row, and no row is begun that --budget leaves no time for.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import cells
import runs
import tables
import variants
from programs import Builder


def planned(args):
    """The cells in the order of their weight; each with its variants."""
    order = cells.cells(args.ranks, args.shapes, args.operations)
    if not args.no_tiny:
        order.insert(len(args.operations), cells.tiny_cell(args.ranks))
    todo = [(cell, variants.of_cell(cell, args.tuned)) for cell in order]
    if args.only:
        todo = [(cell, [v for v in own if any(text in v.label for text in args.only)]) for cell, own in todo]
    return todo


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


def collect(args, todo, programs, result, save):
    """Measures cell after cell into the result until the budget is spent."""
    peers = None if args.no_peers or args.device == "cpu" else runs.Peers(args.ranks)
    result["machine"] = machine(args, peers and peers.about)
    longest = 0
    try:
        for cell, own in todo:
            left = args.deadline - time.monotonic()
            # Rows come in the order of their length, but for the tiny one.
            if left < (longest if not cell.is_tiny else min(longest, 15)):
                print(f"{left:.0f} s are left and the last row took {longest:.0f} s: stopping here", flush=True)
                break
            row = runs.measure(cell, [programs[id(v)] for v in own], peers, args)
            if cell.is_tiny:
                result["tiny"] = row
            else:
                result["rows"].append(row)
                longest = row["seconds"]["all"]
            save()
            print(row_text(row), flush=True)
    finally:
        if peers:
            peers.stop()


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--report", help="print the tables of this JSON file and measure nothing")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/bench", help="scratch folder")
    parser.add_argument("--json", default="build/bench/bench.json")
    parser.add_argument("--markdown", default="build/bench/bench.md")
    parser.add_argument("--budget", type=float, default=3600, help="seconds, the build included")
    parser.add_argument("--shapes", nargs="*", type=lambda t: tuple(map(int, t.split(","))), default=cells.SHAPES, metavar="M,N,K")
    parser.add_argument("--operations", nargs="*", choices=cells.OPERATIONS, default=cells.OPERATIONS)
    parser.add_argument("--only", nargs="*", help="variants whose label contains one of these texts")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats of a round")
    parser.add_argument("--iters", type=int, default=5, help="calls of a repeat, at least")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round's repeats together")
    parser.add_argument("--check-limit", type=float, default=80, metavar="TFLOP", help="check programs whose reference is no larger")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="builds at a time")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, with small --shapes")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="a further setting for CMake")
    parser.add_argument("--tuned", action="store_true", help="time some programs with searched algorithms, too")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-tiny", action="store_true")
    args = parser.parse_args()
    if not args.report and not args.ranks:
        parser.error("say how many GPUs: --ranks")
    return args


def main():
    """Builds, measures, reports; exit code 1 if a program was wrong."""
    args = parse()
    if args.report:
        print(tables.markdown(json.loads(pathlib.Path(args.report).read_text())))
        return 0
    begin = time.monotonic()
    args.deadline = begin + args.budget
    todo = planned(args)
    flat = [v for _, own in todo for v in own]
    built = Builder(args.hirgen, args.work, args.device, args.cmake).build(flat, args.jobs)
    programs = {id(v): p for v, p in zip(flat, built)}
    result = {"command": " ".join(sys.argv), "machine": "", "rows": [], "tiny": None, "build_seconds": time.monotonic() - begin}
    print(f"built {sum(not p.failure for p in built)} of {len(built)} programs in {result['build_seconds']:.0f} s", flush=True)

    def save():
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
        pathlib.Path(args.markdown).write_text(tables.markdown(result))

    collect(args, todo, programs, result, save)
    save()
    print(tables.markdown(result))
    every = [item for row in [*result["rows"], result["tiny"] or {}] for item in row.get("hirgen", {}).values()]
    return 1 if any(item.get("wrong") for item in every) else 0


if __name__ == "__main__":
    sys.exit(main())
