#!/usr/bin/env python3
"""The layers of a model against PyTorch, forward and backward, on this machine's GPUs.

    scripts/bench_gpu/bench_layers.py --ranks 2 [--json FILE] [--budget 480]
    scripts/bench_gpu/bench_layers.py --ranks 2 --resume          goes on with the rows that are left
    scripts/bench_gpu/bench_layers.py --report FILE...            the tables of earlier runs, as of one

Rows are the layers of layers.py at each of its sizes. A row's programs are built and check themselves while PyTorch compiles its
peers (layer_peers.py); then all wait, ready, and are timed in turns, in rounds over the same GPUs, as bench.py does it. A time is the
median over all repeats of the slowest rank. The JSON and the tables are written after each row; a row that --budget leaves no time
for, by the longest one so far, is left to a call with --resume, which keeps what is measured: a row is always of one call.

"removed" is (best peer - best hirgen) / (best peer - compute only): the share of exposed communication that is gone, above 1 where
the program's computation is faster, too.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import time

import bench
import kernel_classes
import layers
import runs
import tables
from programs import Builder

LEAST_SECONDS = 60  # of a row, before one is known


def key(layer):
    """What tells layers apart."""
    return layer.operation, layer.m, layer.n, layer.k, layer.ranks, layer.size


def wanted(layer, args):
    """The variants of a layer that are timed."""
    return [v for v in layers.of_layer(layer) if (v.label in layers.USUAL or args.all) and (not args.only or any(text in v.label for text in args.only))]


def row_of(layer, builder, peers, args):
    """Builds and times a layer."""
    built = []

    def build():
        built.extend(builder.build(wanted(layer, args), args.jobs))
        return built
    row = runs.measure(layer, build, peers, args)
    row |= {"name": layer.name, "size": layer.size and vars(layer.size)}
    return {**row, "explained": explained(row, built, peers, args)} if args.explain and peers else row


def explained(row, programs, peers, args):
    """Of what the calls of the best program that can be traced, and of the best peer, are made."""
    graphs = {p.variant.label for p in programs if p.variant.schedule.get("graph")}
    label, us = tables.best({name: item for name, item in row["hirgen"].items() if name not in graphs})
    peer, peer_us = tables.best(row["peers"], tables.COMPUTE)
    if not label or not peer:
        return {"refused": "one side was not measured"}
    program = next(p for p in programs if p.variant.label == label)
    file = program.folder / "trace.json"
    report = program.measure(row["ranks"], ["--no-check", "--warmup", 20, "--iters", 5, "--repeats", 3, "--trace", file])
    answer = peers.ask(do="profile", peer=peer, count=5)
    if not report or "refused" in answer:
        return {"refused": answer.get("refused") or program.failure}
    trace = json.loads(file.read_text())
    if args.traces:
        args.traces.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, args.traces / f"{row['operation']}_{row['name'].replace(' ', '_')}.json")
    return {"label": label, "us": us, "peer": peer, "peer_us": peer_us, "ours": kernel_classes.ours(trace), "theirs": kernel_classes.theirs(answer["kernels"]),
            "statements": kernel_classes.longest(trace), "kernels": sorted(answer["kernels"].items(), key=lambda pair: -pair[1])}


def row_text(row):
    """A line of progress."""
    d = tables.derived(row)
    return (f"{row['operation']:16s} {row['name']:8s} {tables.shape(row):20s} compute {tables.ms(d['gemm'])} | {d['peer']} {tables.ms(d['peer_us'])} "
            f"| {d['label']} {tables.ms(d['us'])} ms | peer/hirgen {tables.number(d['against_peer'], 3)} removed {tables.number(layers.removed(row), 2)} "
            f"[{row['seconds']['prepare']:.0f}+{row['seconds']['time']:.0f} s]")


def planned(args, result):
    """The layers that the result does not have, in the order of their worth."""
    made = layers.layers(args.ranks, args.operations, args.sizes)
    made = [layer.smaller(args.divide) for layer in made] if args.divide > 1 else made
    known = {key(layers.of_row(row)) for row in result["rows"]}
    return [layer for layer in made if key(layer) not in known]


def collect(args, result, save):
    """Takes row after row into the result until the time is over; how many are left."""
    begin, longest, left = time.monotonic(), LEAST_SECONDS, planned(args, result)
    builder = Builder(args.hirgen, args.work, args.device, args.cmake)
    peers = None if args.no_peers or args.device == "cpu" else runs.Peers(args.ranks)
    result["machine"] = bench.machine(args, peers and peers.about)
    try:
        while left and time.monotonic() - begin + longest < args.budget:
            start = time.monotonic()
            result["rows"].append(row_of(left.pop(0), builder, peers, args))
            longest = max(longest if len(result["rows"]) > 1 else 0, time.monotonic() - start)
            print(row_text(result["rows"][-1]), flush=True)
            save()
    finally:
        if peers:
            peers.stop()
    return len(left)


def merged(results):
    """Results as one; of two rows of one layer the later one."""
    rows = {key(layers.of_row(row)): row for result in results for row in result["rows"]}
    return {"machine": "; ".join(dict.fromkeys(result["machine"] for result in results)), "rows": list(rows.values())}


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--report", nargs="+", metavar="FILE", help="print the tables of these JSON files and measure nothing")
    parser.add_argument("--resume", action="store_true", help="go on from the JSON")
    parser.add_argument("--operations", nargs="*", choices=layers.OPERATIONS, default=layers.OPERATIONS)
    parser.add_argument("--sizes", nargs="*", choices=list(layers.SIZES), default=list(layers.SIZES))
    parser.add_argument("--explain", action="store_true", help="of each row, milliseconds by class of kernel of both sides")
    parser.add_argument("--traces", type=pathlib.Path, help="with --explain: a folder for the traces")
    parser.add_argument("--all", action="store_true", help="all programs, not only those that were the best of some row")
    parser.add_argument("--only", nargs="*", help="programs whose label contains one of these texts")
    parser.add_argument("--budget", type=float, default=480, help="seconds")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/bench", help="scratch folder")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/bench/layers.json"), help="tables stand beside it, as .md")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats of a round")
    parser.add_argument("--iters", type=int, default=5, help="calls of a repeat, at least")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round's repeats together")
    parser.add_argument("--check-limit", type=float, default=80, metavar="TFLOP", help="check programs whose reference is no larger")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="builds at a time")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, with --divide 64")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="the extents, to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="a further setting for CMake")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    if not args.report and not args.ranks:
        parser.error("say how many GPUs: --ranks")
    return args


def main():
    """Measures and reports; exit code 1 if a program was wrong."""
    args = parse()
    if args.report:
        print(layers.markdown(merged([json.loads(pathlib.Path(path).read_text()) for path in args.report])))
        return 0
    args.json.parent.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(args.json.read_text())["rows"] if args.resume and args.json.exists() else []
    result = {"command": " ".join(sys.argv), "machine": "", "rows": earlier}

    def save():
        args.json.write_text(json.dumps(result, indent=1) + "\n")
        args.json.with_suffix(".md").write_text(layers.markdown(result))

    left = collect(args, result, save)
    print(layers.markdown(result))
    if left:
        print(f"{left} rows are left: go on with --resume")
    return 1 if any(item.get("wrong") for row in result["rows"] for item in row["hirgen"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
