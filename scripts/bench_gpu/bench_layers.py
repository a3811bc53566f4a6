#!/usr/bin/env python3
"""The layers of a model against PyTorch, forward and backward, on this machine's GPUs.

    scripts/bench_gpu/bench_layers.py --ranks 2 [--json FILE] [--budget 480]
    scripts/bench_gpu/bench_layers.py --ranks 2 --resume          continue with the rows that are left
    scripts/bench_gpu/bench_layers.py --report FILE...            the merged tables of earlier runs

A row is a layer of layers.py at one of its sizes. Several rows are prepared together: hirgen builds their programs, which check
themselves, while PyTorch compiles their peers (layer_peers.py), in separate processes for each row. Then each row is timed
alone, programs and peers one after the other in rounds on the same GPUs, as in bench.py. A time is the median over all
repeats of the slowest rank. The JSON and the tables are written after each row. Rows that do not fit into --budget, judging by
the rows so far, are left to a call with --resume. That call keeps the measured rows and never splits a row over two calls.

"removed" is (best peer - best hirgen) / (best peer - compute only): the share of exposed communication that hirgen removes. It is
above 1 if the program also computes faster. "memory" is the peak memory of a call without inputs, weights and results.
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

FIRST_SECONDS = 60, 10  # estimates for the preparation and for a row, before any is measured
MEMORY_SHARE = 0.9  # share of a GPU's memory for all rows of a group and their checks


def key(layer):
    """The identity of a layer."""
    return layer.operation, layer.m, layer.n, layer.k, layer.ranks, layer.size


def wanted(layer, args):
    """The variants of a layer to time."""
    return [v for v in layers.of_layer(layer) if (v.label in layers.USUAL or args.all) and (not args.only or any(text in v.label for text in args.only))]


def held(group, args):
    """Bytes of GPU memory that a group of prepared rows holds."""
    return sum(layer.held_bytes(len(wanted(layer, args))) for layer in group)


def memory_of(teams):
    """Bytes of a GPU's memory that rows may use; infinite without peers, which report the size."""
    return MEMORY_SHARE * (teams[0].about.get("memory_bytes", math.inf) if teams[0] else math.inf)


def ready(group, runtime, teams, args):
    """Prepares a group and returns [(row, peers, their items)]. Programs are built and started while each row's team loads its peers.
    runtime is the future of the first program's build, which the other builds wait for."""
    begin, for_checks = time.monotonic(), min(runs.CHECK_MEMORY, memory_of(teams) - held(group, args))
    for layer, peers in zip(group, teams):
        if peers and layer.size:
            print(f"{layer.operation} {layer.name}: PyTorch takes {peers.attention(layer)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(group)) as beside:
        loads = [beside.submit(peers.tried, layer, args.without, layer.in_graph(args.calls_per_graph)) if peers else None
                 for layer, peers in zip(group, teams)]
        runs.stop_unless_built(runtime.result(), teams)
        rows = [runs.Row(layer, wanted(layer, args), args, len(group), for_checks) for layer in group]
        for row in rows:
            row.ready()
        print(f"{sum(len(row.variants) for row in rows)} programs are ready after {time.monotonic() - begin:.0f} s", flush=True)
        items = [load.result() if load else {} for load in loads]
    print(f"{len(group)} rows are ready after {time.monotonic() - begin:.0f} s", flush=True)
    return list(zip(rows, teams, items))


def row_of(prepared, args):
    """Times a prepared layer and returns its row."""
    one, peers, items = prepared
    layer = one.cell
    row = one.timed(peers, items) | {"name": layer.name, "size": layer.size and vars(layer.size)}
    is_missed = (tables.derived(row)["against_peer"] or 1) < 1
    if peers and (args.explain == "all" or args.explain == "missed" and is_missed):
        row["explained"] = explained(row, one.folders, peers, args)
    return row


def explained(row, folders, peers, args):
    """The breakdown of a call into classes of kernels, for a program and for the best peer. The program is auto if it can be traced,
    otherwise the fastest one that can."""
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
            "theirs": kernel_classes.theirs(answer["kernels"], answer["calls"]), "statements": kernel_classes.longest(trace),
            "kernels": kernel_classes.sums(answer["kernels"], answer["calls"])}


def row_text(row):
    """A progress line for a row."""
    d = tables.derived(row)
    return (f"{row['operation']:16s} {row['name']:8s} {tables.shape(row):20s} compute {tables.ms(d['gemm'])} | {d['peer']} {tables.ms(d['peer_us'])} "
            f"| {d['label']} {tables.ms(d['us'])} ms | peer/hirgen {tables.number(d['against_peer'], 3)} removed {tables.number(layers.removed(row), 2)} "
            f"[{row['seconds']['prepare']:.0f}+{row['seconds']['time']:.0f} s]")


def planned(args, result):
    """The layers that the result lacks, in the order of layers.py."""
    made = layers.layers(args.ranks, args.operations, args.sizes)
    made = [layer.smaller(args.divide) for layer in made] if args.divide > 1 else made
    known = {key(layers.of_row(row)) for row in result["rows"]}
    return [layer for layer in made if key(layer) not in known and (not args.rows or f"{layer.operation}:{layer.name}" in args.rows)]


def teams_of(args, count):
    """count teams of peers, each with one process per rank; None for each team on a run without peers."""
    if args.no_peers or args.device == "cpu":
        return [None] * count
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: runs.Peers(args.ranks), range(count)))


def group_of(left, seconds, rates, teams, args):
    """The next rows to prepare together. rates has the seconds of the last preparation and of its slowest row, which limit the group
    to the time left. Several rows must also fit into GPU memory while each of them checks a program."""
    count = min(len(left), len(teams), int((seconds - rates[0]) / rates[1]))

    def takes(group):
        return held(group, args) + len(group) * max(layer.check_bytes for layer in group)
    while count > 1 and takes(left[:count]) > memory_of(teams):
        count -= 1
    return left[:max(0, count)]


def collect(args, result, save):
    """Measures rows into the result until the time is over; returns how many are left."""
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
    """Merges results. A later row of a layer replaces an earlier one."""
    rows = {key(layers.of_row(row)): row for result in results for row in result["rows"]}
    return {"machine": "; ".join(dict.fromkeys(result["machine"] for result in results)), "rows": list(rows.values())}


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--report", nargs="+", metavar="FILE", help="print the tables of these JSON files and measure nothing")
    parser.add_argument("--resume", action="store_true", help="continue from the JSON")
    parser.add_argument("--operations", nargs="*", choices=layers.OPERATIONS, default=layers.USUALLY)
    parser.add_argument("--sizes", nargs="*", choices=list(layers.SIZES), default=list(layers.SIZES))
    parser.add_argument("--draw", type=int, metavar="SEED", help="two random sizes of at least 1024 rows, in place of --sizes")
    parser.add_argument("--few", nargs="+", type=int, metavar="M", help="sizes with so many rows of one sequence, in place of --sizes")
    parser.add_argument("--model", default="8b", choices=["8b", "70b"], help="whose layers --few takes")
    parser.add_argument("--explain", nargs="?", const="all", choices=["all", "missed"],
                        help="milliseconds by class of kernel of both sides, for all rows or for those below 1")
    parser.add_argument("--traces", type=pathlib.Path, help="with --explain: a folder for the traces")
    parser.add_argument("--all", action="store_true", help="all programs instead of only those that were the fastest of some row")
    parser.add_argument("--rows", nargs="*", metavar="OPERATION:SIZE", help="only these")
    parser.add_argument("--without", nargs="*", default=[], help="leave out peers whose name contains one of these texts")
    parser.add_argument("--only", nargs="*", help="only programs whose label contains one of these texts")
    parser.add_argument("--budget", type=float, default=480, help="seconds")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/bench", help="scratch folder")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/bench/layers.json"), help="the tables go into the .md file with the same name")
    parser.add_argument("--together", type=int, default=4, metavar="N", help="rows prepared at the same time")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats per round")
    parser.add_argument("--iters", type=int, default=5, help="minimum calls per repeat")
    parser.add_argument("--calls-per-graph", type=int, default=0, metavar="N", help="calls in each CUDA graph, of both sides; 0: as many as take 1 ms, 50 at most")
    parser.add_argument("--near", type=float, default=1.15, help="time programs and peers again only if within this factor of the best of their side")
    parser.add_argument("--seconds", type=float, default=0.2, help="duration of all repeats of a round")
    parser.add_argument("--warm", type=float, default=0.2, metavar="SECONDS", help="warm-up before each round: a GPU at its power limit settles within 0.1 s")
    parser.add_argument("--check-limit", type=float, default=80, metavar="TFLOP", help="check programs whose reference needs at most this much")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="concurrent builds")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, with --divide 64")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="divide the extents, to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="an additional CMake setting")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    if not args.report and not args.ranks:
        parser.error("say how many GPUs: --ranks")
    if args.draw is not None:
        args.sizes = layers.add_drawn(args.draw, 2)
    if args.few:
        args.sizes = layers.add_few(args.few, args.model)
    return args


def main():
    """Measures and reports; exit code 1 if a program was wrong. With --report, only prints the tables of earlier results."""
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
