#!/usr/bin/env python3
"""The layers of a model against PyTorch, forward and backward, on this machine's GPUs.

    scripts/bench_gpu/bench_layers.py --ranks 2 [--json FILE] [--budget 480]
    scripts/bench_gpu/bench_layers.py --ranks 2 --resume          goes on with the rows that are left
    scripts/bench_gpu/bench_layers.py --report FILE...            the tables of earlier runs, as of one

Rows are the layers of layers.py at each of its sizes. Some rows at a time get ready together: their programs are built and check
themselves while PyTorch compiles their peers (layer_peers.py), in processes of its own for each row. Then row after row is timed
alone: programs and peers in turns, in rounds over the same GPUs, as bench.py does it. A time is the median over all repeats of the
slowest rank. The JSON and the tables are written after each row; rows that --budget leaves no time for, by those so far, are left to
a call with --resume, which keeps what is measured: a row is always of one call.

"removed" is (best peer - best hirgen) / (best peer - compute only): the share of exposed communication that is gone, above 1 where
the program's computation is faster, too. "memory" is what a call takes beyond inputs, weights and results at its height.
"""
import argparse
import concurrent.futures
import json
import math
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
from paced import Silence
from programs import quiet, runtimes

FIRST_SECONDS = 60, 10  # of getting ready, and of a row, before they are known
MEMORY_SHARE = 0.9  # of a GPU, which rows that are ready at the same time may take, their checks included


def key(layer):
    """What tells layers apart."""
    return layer.operation, layer.m, layer.n, layer.k, layer.ranks, layer.size


def wanted(layer, args):
    """The variants of a layer that are timed."""
    return [v for v in layers.of_layer(layer) if (v.label in layers.USUAL or args.all) and (not args.only or any(text in v.label for text in args.only))]


def held(group, args):
    """Memory of a GPU that rows hold while they are ready."""
    return sum(layer.held_bytes(len(wanted(layer, args))) for layer in group)


def memory_of(teams):
    """What rows may take of a GPU's memory."""
    return MEMORY_SHARE * (teams[0].about.get("memory_bytes", math.inf) if teams[0] else math.inf)


def ready(group, runtime, teams, args):
    """[(row, peers, their items)] that are to be timed: programs are built and started while the peers are loaded, each row's by a team.
    runtime is the first program's build, which the others wait for."""
    begin, for_checks = time.monotonic(), min(runs.CHECK_MEMORY, memory_of(teams) - held(group, args))
    for layer, peers in zip(group, teams):
        if peers and layer.size:
            print(f"{layer.operation} {layer.name}: PyTorch takes {peers.attention(layer)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(group)) as beside:
        loads = [beside.submit(peers.tried, layer, args.without) if peers else None for layer, peers in zip(group, teams)]
        runs.stop_unless_built(runtime.result(), teams)
        rows = [runs.Row(layer, wanted(layer, args), args, len(group), for_checks) for layer in group]
        for row in rows:
            row.ready()
        print(f"{sum(len(row.variants) for row in rows)} programs are ready after {time.monotonic() - begin:.0f} s", flush=True)
        items = [load.result() if load else {} for load in loads]
    print(f"{len(group)} rows are ready after {time.monotonic() - begin:.0f} s", flush=True)
    return list(zip(rows, teams, items))


def row_of(prepared, args):
    """Times a layer."""
    one, peers, items = prepared
    layer = one.cell
    row = one.timed(peers, items) | {"name": layer.name, "size": layer.size and vars(layer.size)}
    is_missed = (tables.derived(row)["against_peer"] or 1) < 1
    if peers and (args.explain == "all" or args.explain == "missed" and is_missed):
        row["explained"] = explained(row, one.folders, peers, args)
    return row


def explained(row, folders, peers, args):
    """Of what the calls of a program are made, and those of the best peer. The program is that of auto, or the fastest one, where
    that cannot be traced."""
    peer, peer_us = tables.best(row["peers"], tables.COMPUTE)
    times = {name: us for name, item in row["hirgen"].items() if (us := tables.median(item)) and not item.get("wrong")}
    order = sorted(times, key=lambda name: (name != "auto", times[name]))
    if not order or not peer:
        return {"refused": "one side was not measured"}
    for label in order:
        file = pathlib.Path(folders[label]) / "trace.json"
        file.unlink(missing_ok=True)
        command = [args.hirgen, "run", folders[label], "-n", row["ranks"], "--device", args.device, "--", "--no-check", "--warmup", 20, "--iters", 5,
                   "--repeats", 3, "--trace", file]
        output = quiet(command, env={"HIRGEN_CACHE": str(runtimes(args.work))}, seconds=600)[1]
        if file.exists():
            break
    else:
        return {"refused": output[-2000:]}
    try:
        answer = peers.ask(do="profile", peer=peer, count=5)
    except Silence as silence:
        answer = {"refused": f"failed: {silence}"}
    if "refused" in answer:
        return answer
    trace = json.loads(file.read_text())
    if args.traces:
        args.traces.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, args.traces / f"{row['operation']}_{row['name'].replace(' ', '_')}.json")
    return {"label": label, "us": times[label], "peer": peer, "peer_us": peer_us, "ours": kernel_classes.ours(trace),
            "theirs": kernel_classes.theirs(answer["kernels"], 5), "statements": kernel_classes.longest(trace),
            "kernels": kernel_classes.sums(answer["kernels"], 5)}


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
    return [layer for layer in made if key(layer) not in known and (not args.rows or f"{layer.operation}:{layer.name}" in args.rows)]


def teams_of(args, count):
    """So many teams of peers, each a process a rank; nothing in place of each where there are none."""
    if args.no_peers or args.device == "cpu":
        return [None] * count
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: runs.Peers(args.ranks), range(count)))


def group_of(left, seconds, rates, teams, args):
    """The next rows that get ready together: no more than there is time for, by the seconds of getting ready and of a row so far,
    and no more than a GPU has memory for while each of them checks a program."""
    count = min(len(left), len(teams), int((seconds - rates[0]) / rates[1]))

    def takes(group):
        return held(group, args) + len(group) * max(layer.check_bytes for layer in group)
    while count > 1 and takes(left[:count]) > memory_of(teams):
        count -= 1
    return left[:max(0, count)]


def collect(args, result, save):
    """Takes row after row into the result until the time is over; how many are left."""
    begin, rates, left = time.monotonic(), FIRST_SECONDS, planned(args, result)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        runtime = beside.submit(bench.builder(args).build, [v for layer in left[:1] for v in wanted(layer, args)[:1]], 1)
        teams = teams_of(args, max(1, min(args.together, len(left))))
        result["machine"] = bench.machine(args, teams[0] and teams[0].about)
        try:
            while group := group_of(left, args.budget - (time.monotonic() - begin), rates, teams, args):
                start, each = time.monotonic(), []
                prepared = ready(group, runtime, teams, args)
                needed = time.monotonic() - start
                for one in prepared:
                    start = time.monotonic()
                    result["rows"].append(row_of(one, args))
                    each.append(time.monotonic() - start)
                    print(row_text(result["rows"][-1]), flush=True)
                    save()
                left, rates = left[len(group):], (needed, max(each))
        finally:
            for peers in filter(None, teams):
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
    parser.add_argument("--explain", nargs="?", const="all", choices=["all", "missed"],
                        help="of all rows, or of those below 1, milliseconds by class of kernel of both sides")
    parser.add_argument("--traces", type=pathlib.Path, help="with --explain: a folder for the traces")
    parser.add_argument("--all", action="store_true", help="all programs, not only those that were the best of some row")
    parser.add_argument("--rows", nargs="*", metavar="OPERATION:SIZE", help="these alone")
    parser.add_argument("--without", nargs="*", default=[], help="peers whose name contains one of these texts are left out")
    parser.add_argument("--only", nargs="*", help="programs whose label contains one of these texts")
    parser.add_argument("--budget", type=float, default=480, help="seconds")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/bench", help="scratch folder")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/bench/layers.json"), help="tables stand beside it, as .md")
    parser.add_argument("--together", type=int, default=4, metavar="N", help="rows that get ready at the same time")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats of a round")
    parser.add_argument("--iters", type=int, default=5, help="calls of a repeat, at least")
    parser.add_argument("--near", type=float, default=1.15, help="what takes so many times as long as the best of its side is timed in one round only")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round's repeats together")
    parser.add_argument("--warm", type=float, default=0.2, metavar="SECONDS", help="of calls before each round: a GPU at its power limit settles within 0.1 s")
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
