#!/usr/bin/env python3
"""Emits, builds, checks and times variants of the example specs on this machine's GPUs.

    scripts/measure.py SUITE --ranks 8 [--hirgen bin/hirgen] [--work build/measure] [--json FILE] [-- OPTIONS]

A suite is a list of variants (spec, parameters, schedule), which run with the given OPTIONS; all are built first, several at a time,
and then run one after the other, so that a table compares programs of one machine in one session.
Prints a Markdown table: time of a call (slowest rank, median of 7 repeats of 10 back-to-back calls),
TFLOP/s of a rank's products, and #wrong, the elements that differ from the reference. Exit code 1
if any program failed or was wrong. The comparison with PyTorch is bench_gpu/bench.py.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench_gpu"))

from programs import SPECS, Builder, Variant  # noqa: E402


def ag_matmul(ranks):
    """Slices and both forms of synchronisation, at M = N = K = 8192 in bf16."""
    for slices in (1, 4, 8):
        for sync in ("split", "fused"):
            yield Variant("ag_matmul", {"D": ranks, "S": slices}, {"sync": sync})
    for schedule in ({"joins": "after"}, {"streams": 1}, {"graph": "true"}):
        yield Variant("ag_matmul", {"D": ranks, "S": 4}, schedule)
    yield Variant("ag_linear", {"D": ranks, "S": 4}, {})


def specs(ranks):
    """Every example spec with its own schedule, in bf16 and in fp32."""
    for dtype in ("bf16", "fp32"):
        for folder in sorted(SPECS.iterdir()):
            yield Variant(folder.name, {"D": ranks}, {}, dtype)


SUITES = {"ag_matmul": ag_matmul, "specs": specs}


def row(variant, report):
    """A variant's line of the table."""
    p, t = report["parameters"], report["time_us"]
    sizes = ", ".join(str(v) for k, v in p.items() if k not in "DS")
    return (f"| {variant.spec} | {variant.dtype} | {sizes} | {p.get('S', '')} | {variant.choices} | {t['median'] / 1e3:.3f} "
            f"| {t['min'] / 1e3:.3f} | {t['max'] / 1e3:.3f} | {report['tflops']:.0f} | {report['wrong']} |")


def main():
    """Builds and runs a suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/measure")
    parser.add_argument("--json", help="write all reports there")
    parser.add_argument("--jobs", type=int, default=4, help="builds at a time")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:split])

    programs = Builder(args.hirgen, args.work).build(SUITES[args.suite](args.ranks), args.jobs)
    print("| spec | type | sizes | S | schedule | ms | min | max | TFLOP/s | #wrong |", "|" + "---|" * 10, sep="\n")
    reports, failed = [], 0
    for program in programs:
        variant, report = program.variant, None
        if not program.failure:
            report = program.measure(args.ranks, sys.argv[split + 1:])
        if report is None:
            print(f"{variant.folder_name}: {program.failure}", file=sys.stderr)
            print(f"| {variant.spec} | {variant.dtype} | no result |", flush=True)
            failed += 1
            continue
        failed += report["wrong"] != 0
        reports.append({"schedule": variant.schedule, **report})
        print(row(variant, report), flush=True)
    for first in reports[:1]:
        print(f"\n{args.ranks} x {first['ranks'][0]['device_name']}, CUDA {first['cuda']}, NCCL {first['nccl']}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(reports, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
