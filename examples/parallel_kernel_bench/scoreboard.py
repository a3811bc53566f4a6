#!/usr/bin/env python3
"""Solves problems of ParallelKernelBench with hirgen, and compares with the references of the benchmark.

    examples/parallel_kernel_bench/scoreboard.py BENCH [--ranks 2] [--problems 1 2 9] [--out build/scoreboard] [--page PAGE]

BENCH is a checkout of https://github.com/togethercomputer/ParallelKernelBench. The programs of all problems are built first, several at
once. Then one process a rank checks and times the problems, one after the other. Inputs, the comparison in five trials, and the timer (100
calls after 500 to warm up) are functions of the benchmark. The reference and hirgen are timed in CUDA graphs, too, and with --compile also
the reference compiled by torch.compile. Without a GPU problems are checked on the CPU device, and not timed.

OUT/rows.jsonl has a line for each problem. Problems that have a line from an earlier run are not run again, so that several runs of --minutes
each can take parts of the problems. Problems that --problems names run in any case. --page writes all rows as a table.
--harness FOLDER writes the files that the benchmark's own run_local.py loads: --solution cuda --solutions-dir FOLDER.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOBS = os.cpu_count() or 2
PATIENCE = 120  # seconds for a problem

HARNESS = '''"""Written by hirgen's scoreboard.py."""
import sys

sys.path[:0] = [{here!r}]
from solutions import SOLUTIONS

solution = SOLUTIONS[{number}]
'''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--problems", type=int, nargs="*", help="numbers; by default all that have no row yet")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60, help="no problem begins later than this after the programs are built")
    parser.add_argument("--compile", action="store_true", help="also time the compiled reference")
    parser.add_argument("--out", type=Path, default=Path("build/scoreboard"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--harness", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from solutions import SOLUTIONS

    args.out.mkdir(parents=True, exist_ok=True)
    rows = args.out / "rows.jsonl"
    wanted = args.problems if args.problems is not None else sorted(SOLUTIONS.keys() - latest(rows).keys())
    if args.harness:
        write_harness([SOLUTIONS[number] for number in wanted], args.harness)
    elif wanted:
        failures = build([SOLUTIONS[number] for number in wanted], args.ranks)
        with open(rows, "a") as file:
            for number, why in failures.items():
                print(json.dumps({"problem": number, "name": SOLUTIONS[number].name, "failed": why}), file=file)
        run([number for number in wanted if number not in failures], rows, args)
    if args.page:
        args.page.write_text(page(latest(rows)))
    return 0 if all(row.get("solved") for row in latest(rows).values()) else 1


def write_harness(solutions: list, folder: Path) -> None:
    """Writes the files that the benchmark loads."""
    folder.mkdir(parents=True, exist_ok=True)
    for solution in solutions:
        (folder / f"{solution.name}_cuda.py").write_text(HARNESS.format(here=str(HERE), number=solution.number))


def build(solutions: list, ranks: int) -> dict[int, str]:
    """Builds the programs, and returns the failures by number of the problem."""
    begin, failures = time.monotonic(), {}
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        building = {pool.submit(solution.program, ranks): solution for solution in solutions}
        for future in concurrent.futures.as_completed(building):
            if error := future.exception():
                failures[building[future].number] = str(error)[:300]
    print(f"{len(solutions)} programs in {time.monotonic() - begin:.0f} s, {len(failures)} failures", flush=True)
    return failures


def run(numbers: list[int], rows: Path, args) -> None:
    """Runs the ranks. If they crash or hang in a problem, records the failure and starts them again for the next problem. If they end after a
    row that says what failed, they start again after it."""
    deadline = time.time() + 60 * args.minutes
    while numbers:
        before = lines(rows)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={args.ranks}", HERE / "worker.py",
                   args.bench.resolve(), *map(str, numbers), "--out", rows, "--trials", str(args.trials), "--until", str(deadline),
                   *["--compile"] * args.compile]
        why = ended(subprocess.Popen(command), rows)
        begun = numbers[:lines(rows) - before]
        numbers = numbers[len(begun):]
        if not why:
            return
        again = begun and any(key.endswith("failed") for key in latest(rows)[begun[-1]])
        if numbers and not again:
            with open(rows, "a") as file:
                print(json.dumps({"problem": numbers[0], "failed": why}), file=file)
            numbers = numbers[1:]


def ended(ranks: subprocess.Popen, rows: Path) -> str:
    """Waits for the ranks. Returns why they failed; "" if they did not. Ends them if they write no row for PATIENCE seconds."""
    count, since = lines(rows), time.monotonic()
    while ranks.poll() is None:
        time.sleep(0.2)
        if lines(rows) > count:
            count, since = lines(rows), time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            ranks.terminate()
            ranks.wait()
            return f"no result within {PATIENCE} seconds"
    return f"the ranks ended with {ranks.returncode}" if ranks.returncode else ""


def lines(rows: Path) -> int:
    """The number of rows so far."""
    return len(rows.read_text().splitlines()) if rows.exists() else 0


def latest(rows: Path) -> dict[int, dict]:
    """The last row of each problem."""
    return {row["problem"]: row for row in map(json.loads, rows.read_text().splitlines())} if rows.exists() else {}


def page(rows: dict[int, dict]) -> str:
    """A Markdown table of all problems of problems.tsv. Times of the reference are multiples of hirgen's."""
    lines = [
        "| problem | solved | hirgen, ms | reference | in a graph: hirgen, ms | reference | compiled | spec |",
        "|---|---|---|---|---|---|---|---|",
    ]
    where = {"cuda": "yes", "cpu": "on the CPU device"}
    for line in (HERE / "problems.tsv").read_text().splitlines()[1:]:
        name, how, remark = line.split("\t")
        row = rows.get(int(name.split("_")[0]), {})
        times = multiples(row, "hirgen_ms", "reference_ms") + multiples(row, "hirgen_graph_ms", "graph_ms", "compiled_graph_ms")
        solved = where[row["device"]] if row.get("solved") else "no" if row or how == "none" else ""
        lines.append(f"| {name} | {solved} | {' | '.join(times)} | {how}{': ' + remark if remark else ''} |")
    return "\n".join(lines) + "\n"


def multiples(row: dict, own: str, *others: str) -> list[str]:
    """A time in milliseconds, and other times as multiples of it."""
    if own not in row:
        return ["" for _ in (own, *others)]
    return [f"{row[own]:.3f}", *(f"{row[other] / row[own]:.2f}" if other in row else "" for other in others)]


if __name__ == "__main__":
    sys.exit(main())
