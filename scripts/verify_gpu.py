#!/usr/bin/env python3
"""Proves the point-to-point programs on this machine's GPUs: long runs of checked calls, and memcheck.

    scripts/verify_gpu.py --ranks 2 [--json FILE] [--budget SECONDS] [--skip-memcheck | --only-memcheck]

Every example spec whose schedule is a pipeline between pairs of ranks (p2p, ring) is built over every transport
at a round and at an odd size, and at the odd size with each of CHOICES over CUDA IPC. It makes --checks calls
in a row, each with new inputs, the host waiting for none of them: #wrong counts the elements of all of these
calls that differ from the reference. Then each spec and transport runs a few calls under compute-sanitizer's
memcheck on two ranks. Nothing is timed, so several programs run at the same time. Prints Markdown; exit
code 1 if a program failed, was wrong or has a memory error. A schedule that hirgen refuses is listed with its reason.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench_gpu"))

from paced import free_port  # noqa: E402
from programs import SPECS, Builder, Variant, quiet  # noqa: E402
from tables import table  # noqa: E402

TRANSPORTS = ["nccl", "ipc-get", "ipc-put"]
#: Fields of the schedule beside the transport: each choice alone, and what is fastest together.
FUSED = {"transfers": "ahead", "copy": "fused", "signals": "batched"}
CHOICES = [{"streams": 0}, {"chunks": 1}, {"chunks": "3*D"}, {"transfers": "ahead"}, {"order": "reverse"}, {"order": "pairwise"},
           {"own_step": "last"}, {"copy": "kernel"}, {"signals": "batched"}, {"delay": 20}, {"graph": "true"},
           {"transfers": "ahead", "streams": 0, "own_step": "last"},
           {"transfers": "ahead", "streams": 0, "own_step": "last", "pieces": 3},
           {"pipeline": "ring", "sums": "folded", "chunks": "2*D", "transfers": "ahead"},
           FUSED, {**FUSED, "streams": 0, "graph": "true"}]
PIPELINES = r"pipeline: (p2p|ring)"
MEMORY_ERROR = 99  # compute-sanitizer's exit code


def sizes(ranks):
    """Parameters by name. Rows of a slice are 21 in the odd one, and its other extents are prime."""
    return {"round": {"D": ranks, "M": 64 * ranks, "N": 128, "K": 64 * ranks},
            "odd": {"D": ranks, "M": 42 * ranks, "N": 13, "K": 7 * ranks}}


def declared(text):
    """The names of a spec's parameters."""
    params = re.search(r"^params: \{(.*)\}", text, re.MULTILINE).group(1)
    return {part.split(":")[0].strip() for part in params.split(",")}


def variants(ranks, specs):
    """(size name, variant) of every pair-wise spec over every transport, and then of every choice over CUDA IPC."""
    texts = {folder.name: (folder / "spec.yaml").read_text() for folder in sorted(SPECS.iterdir())}
    own = {spec: {name: {k: v for k, v in params.items() if k in declared(text)} for name, params in sizes(ranks).items()}
           for spec, text in texts.items() if re.search(PIPELINES, text) and (not specs or spec in specs)}
    for spec, params in own.items():
        for transport in TRANSPORTS:
            for name in params:
                yield name, Variant(spec, params[name], {"transport": transport})
    for spec, params in own.items():
        for transport in TRANSPORTS[1:]:
            for choice in CHOICES:
                yield "odd", Variant(spec, params["odd"], {"transport": transport, **choice})


def copies(schedule):
    """Whether memcheck has something of its own to see: a transport as it is, or kernels that copy."""
    return set(schedule) <= {"transport", "copy"} or FUSED.items() <= schedule.items()


def check(program, args, ranks, checks):
    """Runs checked calls; what to report."""
    options = ["--checks", checks, "--iters", 1, "--repeats", 1, "--warmup", 0, "--timeout", 120]
    report = program.measure(ranks, options, seconds=args.limit)
    return {"wrong": report["wrong"], "calls": checks} if report else {"failed": program.failure}


def memcheck(program, args, ranks):
    """Runs every rank under memcheck; what to report."""
    port = free_port()
    # Libraries probe for kernels and files that are not there: such answers of the API are no errors.
    command = ["compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", MEMORY_ERROR, program.binary,
               "--checks", 3, "--iters", 1, "--repeats", 1, "--warmup", 0, "--timeout", 120]
    env = [{"HIRGEN_RANK": str(rank), "HIRGEN_WORLD": str(ranks), "HIRGEN_LOCAL_RANK": str(rank),
            "HIRGEN_ADDR": "127.0.0.1", "HIRGEN_PORT": str(port)} for rank in range(ranks)]
    with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
        ended = list(pool.map(lambda own: quiet(command, env=own, seconds=args.limit), env))
    found = [f"rank {rank}, exit code {code}: {errors(output)}" for rank, (code, output) in enumerate(ended) if code]
    return {"failed": "; ".join(found)} if found else {"errors": 0, "calls": 3}


def errors(output):
    """The lines of a run under memcheck that say what is wrong."""
    lines = [line.strip() for line in output.splitlines() if re.search(r"Invalid|ERROR SUMMARY|[Ee]rror|hirgen:", line)]
    return " / ".join(lines[:6])[:600] or output[-300:]


def run_all(step, chosen, args, *values):
    """Runs a step on programs, several at a time, while there is time; the result of each, by its place."""
    def one(program):
        if program.failure.startswith("refused"):
            return {"refused": program.failure.removeprefix("refused: ")}
        if program.failure:
            return {"failed": program.failure}
        if time.monotonic() > args.deadline:
            return {"skipped": "no time left"}
        return step(program, args, *values)
    # Kernels of several NCCL programs on the same GPUs wait for each other's time slices: those take turns.
    with concurrent.futures.ThreadPoolExecutor(1) as nccl, concurrent.futures.ThreadPoolExecutor(args.at_once) as others:
        runs = [(nccl if p.variant.schedule["transport"] == "nccl" else others).submit(one, p) for p in chosen]
        return [run.result() for run in runs]


def verdict(result):
    """A result in words."""
    if "wrong" in result:
        return f"{result['wrong']} wrong in {result['calls']} calls"
    if "errors" in result:
        return "clean"
    return next(iter(result)) + ": " + next(iter(result.values()))[:200].replace("\n", " ").replace("|", "/")


def show(title, rows):
    """Prints a table of results and returns how many of them are bad."""
    print(f"\n{title}\n")
    lines = [[r["spec"], r["schedule"], r["size"], verdict(r["result"])] for r in rows]
    print(table(["spec", "schedule", "size", "result"], lines), flush=True)
    return sum("failed" in r["result"] or r["result"].get("wrong", 0) != 0 for r in rows)


def rows_of(named, results):
    """Results with what they are of."""
    return [{"spec": v.spec, "schedule": v.choices, "size": name, "result": result}
            for (name, v), result in zip(named, results)]


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/verify")
    parser.add_argument("--json", default="build/verify/verify.json")
    parser.add_argument("--specs", nargs="*", help="these alone")
    parser.add_argument("--checks", type=int, default=1000, help="checked calls in a row")
    parser.add_argument("--budget", type=float, default=3600, help="seconds; what is not begun by then is skipped")
    parser.add_argument("--limit", type=float, default=240, help="seconds of one run")
    parser.add_argument("--at-once", type=int, default=4, help="programs that run at the same time")
    parser.add_argument("--jobs", type=int, default=8, help="builds at a time")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="a further setting for CMake")
    parser.add_argument("--skip-memcheck", action="store_true")
    parser.add_argument("--only-memcheck", action="store_true")
    parser.add_argument("--build-only", action="store_true", help="a later call with the same --work then only runs")
    return parser.parse_args()


def main():
    """Builds, runs, reports."""
    args = parse()
    args.deadline = time.monotonic() + args.budget
    builder, result, bad = Builder(args.hirgen, args.work, args.device, args.cmake), {"ranks": args.ranks}, 0

    def step(title, name, named, ranks, action, *values):
        named = list(named)
        programs = builder.build([v for _, v in named], args.jobs)
        if args.build_only:
            return 0
        result[name] = rows_of(named, run_all(action, programs, args, ranks, *values))
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
        return show(title, result[name])

    if not args.only_memcheck:
        title = f"{args.checks} calls in a row with new inputs, {args.ranks} ranks"
        bad += step(title, "checks", variants(args.ranks, args.specs), args.ranks, check, args.checks)
    if not args.skip_memcheck and args.device == "cuda":
        odd = [(size, v) for size, v in variants(2, args.specs) if size == "odd" and copies(v.schedule)]
        bad += step("compute-sanitizer memcheck, 2 ranks", "memcheck", odd, 2, memcheck)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
