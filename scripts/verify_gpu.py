#!/usr/bin/env python3
"""Tests the point-to-point programs on this machine's GPUs with long runs of checked calls and with memcheck.

    scripts/verify_gpu.py --ranks 2 [--json FILE] [--resume] [--budget SECONDS] [--skip-memcheck | --only-memcheck]

The script covers every example spec with the pipeline p2p. It builds each spec for every transport at a round and at an odd
size. At the odd size it also builds each of CHOICES over CUDA IPC. A program runs --checks consecutive calls with new
inputs each, without waits of the host between them. The reported number of wrong elements is over all calls. Then the odd size runs a
few calls under compute-sanitizer's memcheck on two ranks, for each transport and each kernel that copies or reads peers. Times do
not matter, so several programs run concurrently. The specs of testdata/views, with unaligned operands, are checked and run under
memcheck in bf16, fp16 and fp32. The script prints Markdown. The exit code is 1 if a program failed, was wrong or has a memory error.
Schedules that hirgen refuses are listed with the reason.

Programs run while others are built, spec by spec. The JSON is written after each result, so that a long run can be split. With
--resume the script continues from the JSON and runs programs that were skipped, failed, were refused, had fewer calls or are missing.
Wrong results are kept.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench_gpu"))

from paced import reserved_port  # noqa: E402
from programs import NOT_BUILT, SPECS, VIEWS, Builder, Program, Variant, checked, quiet  # noqa: E402
from tables import table  # noqa: E402

TRANSPORTS = ["nccl", "ipc-get", "ipc-put"]
#: Schedule fields in addition to the transport: single choices, and combinations.
FUSED = {"all.copy": "fused", "all.signals": "batched"}
THREE = {"all.split": 3, "all.interchange": "true"}
CHOICES = [{"streams": 0}, {"all.block": "D"}, {"all.split": 3}, {"all.lead": "none"}, {"all.steps": "pairwise"},
           {"all.local": "last"}, {"all.copy": "sm"}, {"all.signals": "batched"}, {"graph": "true"},
           {"streams": 0, "all.local": "last"},
           {"streams": 0, "all.local": "last", **THREE},
           {"streams": 2, **THREE, "all.block": "D"}, {"all.local": "last", **THREE, "all.block": 1},
           {"all.steps": "ring", "all.fuse": "gemm", "all.split": 2},
           FUSED, {**FUSED, "streams": 0, "graph": "true"},
           {"all.fuse": "peer-read"}, {"all.fuse": "peer-read", "all.block": "D", "streams": 0, "graph": "true"}]
PIPELINES = ["p2p"]
pool = concurrent.futures.ThreadPoolExecutor
MEMORY_ERROR = 99  # compute-sanitizer's exit code


def sizes(ranks):
    """Parameters by name of a size. In the odd size a rank has 42 rows, N is 13 and K is 7 per rank; blocks have few small heads."""
    return {"round": {"D": ranks, "M": 64 * ranks, "N": 128, "K": 64 * ranks, "L": 64 * ranks, "H": 4 * ranks, "G": ranks, "C": 64},
            "odd": {"D": ranks, "M": 42 * ranks, "N": 13, "K": 7 * ranks, "L": 42 * ranks, "H": 2 * ranks, "G": ranks, "C": 8}}


def variants(hirgen, ranks, specs):
    """(size name, variant): for each spec all transports, and then all choices over CUDA IPC."""
    found = {folder.name: checked(hirgen, folder / "spec.yaml") for folder in sorted(SPECS.iterdir()) if not specs or folder.name in specs}
    own = {spec: {name: {k: v for k, v in params.items() if k in says["params"]} for name, params in sizes(ranks).items()}
           for spec, says in found.items() if says["schedule"]["pipeline"] in PIPELINES and not says["auto"]}
    for spec, params in own.items():
        for transport in TRANSPORTS:
            for name in params:
                yield name, Variant(spec, params[name], {"all.via": transport})
        for transport in TRANSPORTS[1:]:
            for choice in CHOICES:
                yield "odd", Variant(spec, params["odd"], {"all.via": transport, **choice})


def views(hirgen, specs):
    """(element type, variant) of each spec of views. P, an offset in elements, is 2 in fp32 instead of 4, to keep the bytes."""
    for folder in sorted(VIEWS.iterdir()):
        if not specs or folder.name in specs:
            params = checked(hirgen, folder / "spec.yaml")["params"]
            for dtype in ["bf16", "fp16", "fp32"]:
                own = {k: 2 for k in ("D", "P") if k in params and (k == "D" or dtype == "fp32")}
                yield dtype, Variant(folder.name, own, {}, dtype=dtype)


def on_its_ranks(action):
    """A step that runs the action on D ranks, where D is the program's parameter, or on one rank if the program has no D."""
    return lambda program, args, _, checks: action(program, args, program.variant.params.get("D", 1), checks)


def copies(schedule):
    """Whether a schedule runs under memcheck: with a transport alone, with kernels that copy or read peers, or with fused copies."""
    return set(schedule) <= {"all.via", "all.copy", "all.fuse"} or FUSED.items() <= schedule.items()


def check(program, args, ranks, checks):
    """Runs checked calls and returns the result."""
    options = ["--checks", checks, "--iters", 1, "--repeats", 1, "--warmup", 0, "--timeout", 120]
    report = program.measure(ranks, options, seconds=args.limit)
    return {"wrong": report["wrong"], "calls": checks} if report else {"failed": program.failure}


def memcheck(program, args, ranks, checks):
    """Runs every rank under memcheck and returns the result."""
    # Libraries probe for missing kernels and files, so errors returned by the API do not count.
    command = ["compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", MEMORY_ERROR, program.binary,
               "--checks", checks, "--iters", 1, "--repeats", 1, "--warmup", 0, "--timeout", 120]
    with reserved_port() as port, pool(ranks) as threads:
        env = [{"HIRGEN_RANK": str(rank), "HIRGEN_WORLD": str(ranks), "HIRGEN_LOCAL_RANK": str(rank),
                "HIRGEN_ADDR": "127.0.0.1", "HIRGEN_PORT": str(port)} for rank in range(ranks)]
        ended = list(threads.map(lambda own: quiet(command, env=own, seconds=args.limit), env))
    found = [f"rank {rank}, exit code {code}: {errors(output)}" for rank, (code, output) in enumerate(ended) if code]
    return {"failed": "; ".join(found)} if found else {"errors": 0, "calls": checks}


def errors(output):
    """The lines with errors in the output of memcheck."""
    lines = [line.strip() for line in output.splitlines() if re.search(r"Invalid|ERROR SUMMARY|[Ee]rror|hirgen:", line)]
    return " / ".join(lines[:6])[:600] or output[-300:]


class Results:
    """The JSON of a run: the number of ranks, the digest of hirgen's binary, and the rows of each section."""

    def __init__(self, path, ranks, hirgen, resume):
        self.path, self.lock = pathlib.Path(path), threading.Lock()
        digest = hashlib.sha256(pathlib.Path(hirgen).read_bytes()).hexdigest()[:16]
        self.content = {"ranks": ranks, "hirgen": digest}
        if resume and self.path.exists():
            earlier = json.loads(self.path.read_text())
            if {**earlier, **self.content} != earlier:
                sys.exit(f"{path} is of other ranks or another hirgen: name another --json, or leave out --resume")
            self.content = earlier

    def rows(self, section, named, calls=0):
        """The rows for [(size name, variant)], with final results of an earlier run. The section keeps all other rows, before these."""
        earlier = {identity(row): row for row in self.content.get(section, [])}
        rows = [{"spec": v.spec, "schedule": v.choices, "size": name, "result": {"skipped": "no time left"}} for name, v in named]
        for row in rows:
            known = earlier.pop(identity(row), row)["result"]
            row["result"] = known if is_final(known, calls) else row["result"]
        self.content[section] = [*earlier.values(), *rows]
        return rows

    def put(self, row, result):
        """Sets a row's result and writes the JSON."""
        with self.lock:
            row["result"] = result
            self.save()

    def save(self):
        """Replaces the JSON atomically, so that it stays complete if the process is stopped."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.content, indent=1) + "\n")
        part.replace(self.path)


def identity(row):
    """The identity of a row."""
    return row["spec"], row["schedule"], row["size"]


def is_final(result, calls):
    """Whether a result needs no other run: it has enough calls, or wrong elements."""
    return bool(result.get("wrong")) or result.get("calls", 0) >= max(calls, 1)


def run_all(step, todo, args, results, *values):
    """Builds the programs of todo, [(row, program)], and runs a step on each, several concurrently, until the deadline."""
    # One NCCL program at once: kernels of several on the same GPUs would wait for each other's time slices.
    with pool(1) as nccl, pool(args.at_once) as others, pool(args.jobs) as builds:
        def build(row, program):
            if program.failure == NOT_BUILT and time.monotonic() <= args.deadline:
                program.build()
            over_nccl = program.variant.schedule.get("all.via") == "nccl"
            return (nccl if over_nccl else others).submit(run, row, program)

        def run(row, program):
            if args.build_only or program.failure == NOT_BUILT or time.monotonic() > args.deadline:
                return
            if program.failure.startswith("refused"):
                results.put(row, {"refused": program.failure.removeprefix("refused: ")})
            else:
                results.put(row, {"failed": program.failure} if program.failure else step(program, args, *values))

        if time.monotonic() <= args.deadline:
            Builder.first([program for _, program in todo])
        for future in [builds.submit(build, *one) for one in todo]:
            future.result().result()


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


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/verify")
    parser.add_argument("--json", default="build/verify/verify.json")
    parser.add_argument("--resume", action="store_true", help="continue from the JSON")
    parser.add_argument("--specs", nargs="*", help="only these")
    parser.add_argument("--checks", type=int, default=1000, help="consecutive checked calls")
    parser.add_argument("--budget", type=float, default=3600, help="seconds; programs that have not started by then are skipped")
    parser.add_argument("--limit", type=float, default=240, help="seconds of one run")
    parser.add_argument("--at-once", type=int, default=4, help="programs that run at the same time")
    parser.add_argument("--jobs", type=int, default=8, help="concurrent builds")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="an additional CMake setting")
    parser.add_argument("--skip-memcheck", action="store_true")
    parser.add_argument("--only-memcheck", action="store_true")
    parser.add_argument("--build-only", action="store_true", help="a later call with the same --work then only runs")
    return parser.parse_args()


def main():
    """Builds, runs, reports."""
    args = parse()
    args.deadline = time.monotonic() + args.budget
    builder, bad = Builder(args.hirgen, args.work, args.device, args.cmake), 0
    results = Results(args.json, args.ranks, builder.hirgen, args.resume)

    def step(title, section, named, ranks, action, calls):
        named = list(named)
        rows = results.rows(section, named, calls)
        todo = [(row, Program(builder, v)) for row, (_, v) in zip(rows, named) if not is_final(row["result"], calls)]
        run_all(action, todo, args, results, ranks, calls)
        if args.build_only:
            return 0
        results.save()
        return show(title, results.content[section])

    if not args.only_memcheck:
        title = f"{args.checks} calls in a row with new inputs, {args.ranks} ranks"
        bad += step(title, "checks", variants(builder.hirgen, args.ranks, args.specs), args.ranks, check, args.checks)
        bad += step("Views", "views", views(builder.hirgen, args.specs), 2, on_its_ranks(check), args.checks)
    if not args.skip_memcheck and args.device == "cuda":
        odd = [(size, v) for size, v in variants(builder.hirgen, 2, args.specs) if size == "odd" and copies(v.schedule)]
        bad += step("compute-sanitizer memcheck, 2 ranks", "memcheck", odd, 2, memcheck, 3)
        bad += step("compute-sanitizer memcheck of views", "views_memcheck", views(builder.hirgen, args.specs), 2, on_its_ranks(memcheck), 3)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
