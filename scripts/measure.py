#!/usr/bin/env python3
"""Emits, builds, checks and times variants of the example specs on this machine's GPUs.

    scripts/measure.py SUITE --ranks 8 [--hirgen bin/hirgen] [--work build/measure] [--json FILE] [-- OPTIONS]

A suite is a list of variants (spec, parameters, schedule), which run with the given OPTIONS. The script first builds all of them
concurrently and then runs them one after the other, so that a table compares programs of one machine in one session.
It prints a Markdown table with the time of a call, TFLOP/s of a rank's GEMMs, and #wrong, the elements that differ from the
reference. The time is from the slowest rank, the median of 7 repeats of 10 back-to-back calls. The exit code is 1 if any
program failed or was wrong. The --json file is rewritten after every program, and programs beyond --budget are not run. For a
comparison with PyTorch use bench_gpu/bench.py.
"""
import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench_gpu"))

from programs import SPECS, Builder, Variant, checked  # noqa: E402


def ag_matmul(ranks, _hirgen):
    """Numbers of slices, both forms of initial waits, and some schedules, at M = N = K = 8192 in bf16."""
    for slices in (1, 4, 8):
        for waits in ("split", "fused"):
            yield Variant("ag_matmul", {"D": ranks, "S": slices}, {"preset": "reference", "initial_waits": waits})
    for schedule in ({}, {"streams": 1}, {"graph": "true"}):
        yield Variant("ag_matmul", {"D": ranks, "S": 4}, schedule)
    yield Variant("ag_linear", {"D": ranks, "S": 4}, {})


def specs(ranks, hirgen):
    """Every example spec with its schedule: in bf16, and at half the extents in fp32, whose GEMMs are 13 times slower."""
    for dtype in ("bf16", "fp32"):
        for folder in sorted(SPECS.iterdir()):
            smaller = halved(checked(hirgen, folder / "spec.yaml")["params"]) if dtype == "fp32" else {}
            yield Variant(folder.name, {"D": ranks, **smaller}, {}, dtype)


def halved(params):
    """Half of the extents M, N, K and of the heads H among a spec's parameters, by name."""
    return {name: value // 2 for name, value in params.items() if name in {"M", "N", "K", "H"}}


SUITES = {"ag_matmul": ag_matmul, "specs": specs}


def row(variant, report):
    """A variant's line of the table."""
    p, t = report["parameters"], report["time_us"]
    sizes = ", ".join(str(v) for k, v in p.items() if k not in "DS")
    return (f"| {variant.spec} | {variant.dtype} | {sizes} | {p.get('S', '')} | {variant.choices} | {t['median'] / 1e3:.3f} "
            f"| {t['min'] / 1e3:.3f} | {t['max'] / 1e3:.3f} | {report['tflops']:.0f} | {report['wrong']} |")


def result(program, args, options):
    """Runs a program, prints its line and returns its report; on failure the report has the reason."""
    variant, report = program.variant, None
    left = args.deadline - time.monotonic()
    if not program.failure and left < 5:
        program.failure = "no time left"
    if not program.failure:
        report = program.measure(args.ranks, options, seconds=min(args.limit, left))
    if report is None:
        print(f"{variant.folder_name}: {program.failure}", file=sys.stderr)
        print(f"| {variant.spec} | {variant.dtype} | no result |", flush=True)
        report = {"failed": program.failure}
    else:
        print(row(variant, report), flush=True)
    return {"name": variant.spec, "dtype": variant.dtype, "schedule": variant.schedule, **report}


def parse(own):
    """Parses the arguments before "--"."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/measure")
    parser.add_argument("--json", help="write all reports there")
    parser.add_argument("--jobs", type=int, default=4, help="concurrent builds")
    parser.add_argument("--budget", type=float, default=24 * 3600, help="seconds")
    parser.add_argument("--limit", type=float, default=600, help="seconds of one program")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script")
    parser.add_argument("--build-only", action="store_true", help="a later call with the same --work then only runs")
    return parser.parse_args(own)


def main():
    """Builds and runs a suite."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parse(sys.argv[1:split])
    args.deadline = time.monotonic() + args.budget

    programs = Builder(args.hirgen, args.work, args.device).build(SUITES[args.suite](args.ranks, args.hirgen), args.jobs)
    if args.build_only:
        return
    print("| spec | type | sizes | S | schedule | ms | min | max | TFLOP/s | #wrong |", "|" + "---|" * 10, sep="\n")
    reports = []
    for program in programs:
        reports.append(result(program, args, sys.argv[split + 1:]))
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(reports, indent=1) + "\n")
    for first in [r for r in reports if "failed" not in r][:1]:
        print(f"\n{args.ranks} x {first['ranks'][0]['device_name']}, CUDA {first['cuda']}, NCCL {first['nccl']}")
    sys.exit(1 if any("failed" in r or r["wrong"] for r in reports) else 0)


if __name__ == "__main__":
    main()
