#!/usr/bin/env python3
"""Shows why repeats of a layer differ: repeats of hirgen and PyTorch with clocks, power and temperature.

    scripts/bench_gpu/spread.py --ranks 2 [--layers mlp swiglu] [--repeats 40] [--traces 8] [--json FILE]

The sides for each layer (layers.py) are hirgen's program, PyTorch's eager operations, and PyTorch's computation alone. Each side has
two phases: after a rest of the GPUs, --repeats repeats of --iters calls without warm-up ("rested"), and as many after a
second of calls ("warm"). In the third phase, called `in turns`, the sides alternate after each repeat. watch.py samples the GPUs
meanwhile. The table shows the spread of the repeats, their correlation with clock and power (Pearson's r), the clocks of the
fastest and the slowest quarter, and the time of each rank. Finally hirgen's program runs --traces times with --trace, and the
fastest and the slowest trace are compared statement by statement.
"""
import argparse
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import time

import layers
import tables
import traces
from programs import Builder, quiet
from runs import Peers, Ready

REST_SECONDS, WARM_SECONDS = 3, 1
HIRGEN, EAGER, COMPUTE = "hirgen", "eager", "compute"


class Side:
    """A program or peer that is timed. again() runs a repeat."""

    def __init__(self, name, again):
        self.name, self.again = name, again


def program_side(ready):
    """The side of hirgen's program, which runs one repeat a round."""
    return Side(HIRGEN, ready.round)


def peer_side(peers, name, item, iters):
    """The side of a PyTorch peer."""
    def again():
        answer = peers.ask(do="time", peer=name, warmup=0, iters=iters, repeats=1)
        item["us"] += answer.get("us", [])
        item["by_rank"] += answer.get("by_rank", [])
    return Side(name, again)


def repeat(side, phase, log):
    """Runs a repeat and logs its begin and end."""
    begin = time.monotonic()
    side.again()
    log.append({"side": side.name, "phase": phase, "begin": begin, "end": time.monotonic()})


def phases(sides, count, log, deadline):
    """Runs all repeats, in the order of the module's doc string. After the deadline, no phase begins for another side."""
    for side in sides:
        time.sleep(REST_SECONDS)
        for _ in range(count):
            repeat(side, "rested", log)
        begin = time.monotonic()
        while time.monotonic() < begin + WARM_SECONDS:
            repeat(side, "warming", log)
        for _ in range(count):
            repeat(side, "warm", log)
        if time.monotonic() > deadline:
            return
    for _ in range(count):
        for side in sides:
            repeat(side, "in turns", log)


def measure_layer(layer, program, peers, args):
    """Measures a layer and returns it with the log of its repeats and their times."""
    options = ["--warmup", 0, "--iters", args.iters, "--repeats", 1, "--no-check"]
    names, ready, log = peers.load(layer) if peers else {}, Ready(program, layer.ranks, options), []
    ready.start()
    items = {name: {"us": [], "by_rank": []} for name in (EAGER, COMPUTE) if name in names}
    sides = [program_side(ready), *(peer_side(peers, name, item, args.iters) for name, item in items.items())]
    phases(sides, args.repeats, log, args.deadline)
    ready.finish()
    if "refused" in ready.item:
        sys.exit(f"{layer.operation}: {ready.item['refused']}")
    own = json.loads(ready.report.read_text())["time_us"]
    items[HIRGEN] = {"us": own["repeats"], "by_rank": list(zip(*own["by_rank"]))}
    taken = {name: iter(zip(item["us"], item["by_rank"])) for name, item in items.items()}
    for entry in log:
        entry["us"], entry["by_rank"] = next(taken[entry["side"]])
    return {"layer": layer.operation, "m": layer.m, "n": layer.n, "k": layer.k, "program": program.variant.label, "repeats": log}


def beside(entry, samples):
    """The samples during a repeat, or the nearest one if there is none."""
    own = [s for s in samples if entry["begin"] <= s["t"] <= entry["end"]]
    middle = (entry["begin"] + entry["end"]) / 2
    return own or [min(samples, key=lambda s: abs(s["t"] - middle))]


def of_gpus(samples, key):
    """The mean of a figure over samples, for each GPU."""
    return [statistics.mean(values) for values in zip(*([gpu[key] for gpu in s["gpus"]] for s in samples))]


def join(entries, samples):
    """Adds the figures of the GPUs to the repeats."""
    for entry in entries if samples else []:
        own = beside(entry, samples)
        entry |= {key: of_gpus(own, key) for key in ("sm", "mem", "watts", "celsius")}
        entry["reasons"] = [sorted({s["gpus"][i]["reasons"] for s in own}) for i in range(len(own[0]["gpus"]))]


def correlation(xs, ys):
    """Pearson's r; None if one of the series is constant, or for fewer than three values."""
    if len(xs) < 3 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return statistics.correlation(xs, ys)


def line(name, side, phase, entries):
    """A line of the table."""
    us = [e["us"] for e in entries]
    order = sorted(entries, key=lambda e: e["us"])
    quarter = max(1, len(order) // 4)
    known = "sm" in entries[0]

    def clocks(part):
        return "/".join(f"{statistics.mean(e['sm'][g] for e in part):.0f}" for g in range(len(part[0]["sm"]))) if known else "-"

    ranks = list(zip(*(e["by_rank"] for e in entries)))
    slower = "/".join(f"{statistics.median(times):.0f}" for times in ranks)
    return [name, side, phase, str(len(us)), tables.ms(statistics.median(us)), tables.ms(min(us)), tables.ms(max(us)),
            tables.number(100 * (max(us) / min(us) - 1), 1), tables.number(100 * (us_at(us, 0.9) / us_at(us, 0.1) - 1), 1),
            tables.number(correlation(us, [min(e["sm"]) for e in entries]) if known else None, 2),
            tables.number(correlation(us, [sum(e["watts"]) for e in entries]) if known else None, 2),
            clocks(order[:quarter]), clocks(order[-quarter:]),
            "/".join(f"{statistics.mean(e['watts'][g] for e in entries):.0f}" for g in range(len(entries[0]["watts"]))) if known else "-",
            slower]


def us_at(us, share):
    """The time below which a share of the times lie: a quantile."""
    return sorted(us)[min(len(us) - 1, int(share * len(us)))]


def markdown(result):
    """The table of all layers, and the comparison of traces."""
    titles = ["layer", "side", "phase", "repeats", "median, ms", "min", "max", "spread, %", "10 to 90 %", "r with clock", "r with power",
              "MHz of the fastest quarter", "of the slowest", "watts", "us of each rank"]
    lines = []
    for found in result["layers"]:
        name = f"{found['layer']} {found['m']}, {found['n']}, {found['k']}"
        groups = dict.fromkeys((e["phase"], e["side"]) for e in found["repeats"] if e["phase"] != "warming")
        for phase, side in groups:
            lines.append(line(name, side, phase, [e for e in found["repeats"] if (e["phase"], e["side"]) == (phase, side)]))
    parts = [tables.table(titles, lines)]
    for found in result["layers"]:
        parts += [f"\nTraces of {found['layer']}, {found['program']}:\n", traces.compared(found.get("traces", []))]
    return "\n".join(parts) + "\n"


def traced(program, layer, args, folder):
    """Runs the program --traces times with --trace; returns [{us of a call, file}]."""
    found = []
    for i in range(args.traces):
        if time.monotonic() > args.deadline:
            break
        file = folder / f"{layer.operation}_{layer.m}_{i}.json"
        options = ["--no-check", "--warmup", 100, "--iters", 5, "--repeats", 3, "--trace", file, "--timeout", 30]
        code, output = quiet(program.command(layer.ranks, options), seconds=60)
        if code == 0 and file.exists():
            found.append({"us": traces.call_us(json.loads(file.read_text())), "file": str(file)})
        else:
            print(f"no trace: exit code {code}: {output[-500:]}", file=sys.stderr)
    return found


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--layers", nargs="*", choices=["mlp", "swiglu"], default=["mlp", "swiglu"])
    parser.add_argument("--shapes", nargs="*", type=lambda t: tuple(map(int, t.split(","))), default=layers.SHAPES[:2], metavar="M,N,K")
    parser.add_argument("--label", default="get, local last", help="label of hirgen's program in layers.py; not one with a CUDA graph, because of --trace")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--iters", type=int, default=10, help="calls per repeat")
    parser.add_argument("--traces", type=int, default=8)
    parser.add_argument("--budget", type=float, default=3600, help="seconds, the build included")
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/spread")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/spread/spread.json"))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script, without peers, with small --shapes")
    return parser.parse_args()


def main():
    """Builds, measures, reports."""
    args = parse()
    args.deadline = time.monotonic() + args.budget
    own = [layers.Layer(name, *shape, args.ranks) for shape in args.shapes for name in args.layers]
    wanted = [next(v for v in layers.of_layer(layer) if v.label == args.label) for layer in own]
    programs = Builder(args.hirgen, args.work, args.device).build(wanted, args.jobs)
    result, folder = {"command": " ".join(sys.argv), "layers": []}, pathlib.Path(args.work).resolve() / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    save = functools.partial(write, args.json, result)
    peers = Peers(args.ranks) if args.device == "cuda" else None
    for layer, program in zip(own, programs):
        if program.failure or time.monotonic() > args.deadline:
            print(f"{layer.operation} {layer.m}: {program.failure or 'no time left'}", flush=True)
            continue
        samples = args.json.with_suffix(".samples")
        watcher = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("watch.py"), samples], stdin=subprocess.PIPE)
        found = measure_layer(layer, program, peers, args)
        watcher.stdin.close()
        watcher.wait(10)
        taken = [json.loads(text) for text in samples.read_text().splitlines()] if samples.exists() else []
        join(found["repeats"], taken)
        found["samples"] = taken
        result["layers"].append(found)
        save()
        found["traces"] = traced(program, layer, args, folder)
        save()
        print(markdown({"layers": [found]}), flush=True)
    if peers:
        peers.stop()


def write(path, result):
    """Writes the result so far, and its tables into the .md file with the same name."""
    path.write_text(json.dumps(result) + "\n")
    path.with_suffix(".md").write_text(markdown(result))


if __name__ == "__main__":
    main()
