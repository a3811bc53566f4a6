#!/usr/bin/env python3
"""Emits, builds, checks and times variants of the example specs on this machine's GPUs.

    scripts/measure.py SUITE --ranks 8 [--hirgen bin/hirgen] [--work build/measure] [--json FILE]

A suite is a list of variants (spec, parameters, schedule); all are built first, several at a time,
and then run one after the other, so that a table compares programs of one machine in one session.
Prints a Markdown table: time of a call (slowest rank, median of 7 repeats of 10 back-to-back calls),
TFLOP/s of a rank's products, and #wrong, the elements that differ from the reference.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

SPECS = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "specs"


def ag_matmul():
    """Slices and both forms of synchronisation, at M = N = K = 8192 in bf16."""
    for slices in (1, 4, 8):
        for sync in ("split", "fused"):
            yield "ag_matmul", {"S": slices}, {"sync": sync}
    yield "ag_matmul", {"S": 4}, {"joins": "after"}
    yield "ag_matmul", {"S": 4}, {"streams": 1}
    yield "ag_matmul", {"S": 4}, {"graph": "true"}
    yield "ag_linear", {"S": 4}, {}


SUITES = {"ag_matmul": ag_matmul}


class Variant:
    """One program: a folder, its emitted source, its build and its result."""

    def __init__(self, args, spec, params, schedule):
        self.args, self.spec, self.schedule = args, spec, schedule
        self.params = {"D": args.ranks, **params}
        choices = [f"{k}-{v}" for k, v in (*self.params.items(), *schedule.items())]
        self.folder = pathlib.Path(args.work) / "_".join([spec, *choices])

    def build(self):
        """Emits and builds; returns the seconds that the build took."""
        command = [self.args.hirgen, "emit", str(SPECS / self.spec / "spec.yaml"), "-o", str(self.folder)]
        command += [x for k, v in self.params.items() for x in ("-p", f"{k}={v}")]
        command += [x for k, v in self.schedule.items() for x in ("--schedule", f"{k}={v}")]
        run(command)
        start = time.monotonic()
        run(["cmake", "--preset", "cuda"], cwd=self.folder)
        run(["cmake", "--build", "--preset", "cuda"], cwd=self.folder)
        return time.monotonic() - start

    def measure(self):
        """Runs the built program on all ranks; returns its report."""
        report = self.folder / "report.json"
        run([self.args.hirgen, "run", str(self.folder), "-n", str(self.args.ranks), "--device", "cuda",
             "--", "--json", str(report.resolve())])
        return json.loads(report.read_text())

    def row(self, report):
        """The variant's line of the table."""
        choices = ", ".join(f"{k} {v}" for k, v in self.schedule.items()) or "default"
        p, t = report["parameters"], report["time_us"]
        return (f"| {self.spec} | {p['M']}, {p['N']}, {p['K']} | {p['S']} | {choices} | {t['median'] / 1e3:.3f} "
                f"| {t['min'] / 1e3:.3f} | {t['max'] / 1e3:.3f} | {report['tflops']:.0f} | {report['wrong']} |")


def run(command, cwd=None):
    """Runs a command quietly; on failure shows all that it printed and stops."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nexit code {done.returncode}")


def main():
    """Builds and runs a suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    parser.add_argument("--work", default="build/measure")
    parser.add_argument("--json", help="write all reports there")
    parser.add_argument("--jobs", type=int, default=4, help="builds at a time")
    args = parser.parse_args()
    args.hirgen = str(pathlib.Path(args.hirgen).resolve())

    variants = [Variant(args, *choice) for choice in SUITES[args.suite]()]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(Variant.build, variants))
    print("| spec | M, N, K | S | schedule | ms | min | max | TFLOP/s | #wrong |", "|" + "---|" * 9, sep="\n")
    reports = []
    for variant in variants:
        report = variant.measure()
        reports.append({"schedule": variant.schedule, **report})
        print(variant.row(report), flush=True)
    first = reports[0]
    print(f"\n{args.ranks} x {first['ranks'][0]['device_name']}, CUDA {first['cuda']}, NCCL {first['nccl']}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(reports, indent=1) + "\n")


if __name__ == "__main__":
    main()
