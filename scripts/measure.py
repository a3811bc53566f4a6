#!/usr/bin/env python3
"""Emits, builds, checks and times variants of the example specs on this machine's GPUs.

    scripts/measure.py SUITE --ranks 8 [--hirgen bin/hirgen] [--work build/measure] [--json FILE] [-- OPTIONS]

A suite is a list of variants (spec, parameters, schedule), which run with the given OPTIONS; all are built first, several at a time,
and then run one after the other, so that a table compares programs of one machine in one session.
Prints a Markdown table: time of a call (slowest rank, median of 7 repeats of 10 back-to-back calls),
TFLOP/s of a rank's products, and #wrong, the elements that differ from the reference. Exit code 1
if any program failed or was wrong.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

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


def specs():
    """Every example spec with its own schedule, in bf16 and in fp32."""
    for dtype in ("bf16", "fp32"):
        for folder in sorted(SPECS.iterdir()):
            yield folder.name, {}, {}, dtype


SUITES = {"ag_matmul": ag_matmul, "specs": specs}


class Variant:
    """One program: a folder, its emitted source, its build and its result."""

    def __init__(self, args, spec, params, schedule, dtype="bf16"):
        self.args, self.spec, self.schedule, self.dtype = args, spec, schedule, dtype
        self.params = {"D": args.ranks, **params}
        choices = [f"{k}-{v}" for k, v in (*self.params.items(), *schedule.items(), ("dtype", dtype))]
        self.folder = pathlib.Path(args.work) / "_".join([spec, *choices])

    def build(self):
        """Emits and builds."""
        text = (SPECS / self.spec / "spec.yaml").read_text()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        spec = self.folder.with_suffix(".yaml")
        spec.write_text(re.sub(r"^dtype: \w+", f"dtype: {self.dtype}", text, flags=re.MULTILINE))
        command = [self.args.hirgen, "emit", str(spec), "-o", str(self.folder)]
        command += [x for k, v in self.params.items() for x in ("-p", f"{k}={v}")]
        command += [x for k, v in self.schedule.items() for x in ("--schedule", f"{k}={v}")]
        self.built = (run(command) and run(["cmake", "--preset", "cuda"], cwd=self.folder)
                      and run(["cmake", "--build", "--preset", "cuda"], cwd=self.folder))

    def measure(self):
        """Runs the built program on all ranks; returns its report, or None."""
        if not self.built:
            return None
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        run([self.args.hirgen, "run", str(self.folder), "-n", str(self.args.ranks), "--device", "cuda",
             "--", "--json", str(report.resolve()), *self.args.program])
        return json.loads(report.read_text()) if report.exists() else None

    def row(self, report):
        """The variant's line of the table."""
        choices = ", ".join(f"{k} {v}" for k, v in self.schedule.items()) or "default"
        p, t = report["parameters"], report["time_us"]
        sizes = ", ".join(str(v) for k, v in p.items() if k not in "DS")
        return (f"| {self.spec} | {self.dtype} | {sizes} | {p.get('S', '')} | {choices} | {t['median'] / 1e3:.3f} "
                f"| {t['min'] / 1e3:.3f} | {t['max'] / 1e3:.3f} | {report['tflops']:.0f} | {report['wrong']} |")


def run(command, cwd=None):
    """Runs a command quietly and says whether it succeeded; on failure shows all that it printed."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout}\nexit code {done.returncode}", file=sys.stderr)
    return done.returncode == 0


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
    args.program = sys.argv[split + 1:]
    args.hirgen = str(pathlib.Path(args.hirgen).resolve())

    variants = [Variant(args, *choice) for choice in SUITES[args.suite]()]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(Variant.build, variants))
    print("| spec | type | sizes | S | schedule | ms | min | max | TFLOP/s | #wrong |", "|" + "---|" * 10, sep="\n")
    reports, failed = [], 0
    for variant in variants:
        report = variant.measure()
        if report is None:
            print(f"| {variant.spec} | {variant.dtype} | no result |", flush=True)
            failed += 1
            continue
        failed += report["wrong"] != 0
        reports.append({"schedule": variant.schedule, **report})
        print(variant.row(report), flush=True)
    for first in reports[:1]:
        print(f"\n{args.ranks} x {first['ranks'][0]['device_name']}, CUDA {first['cuda']}, NCCL {first['nccl']}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(reports, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
