#!/usr/bin/env python3
"""Runs the conformance suite, which has the same expectations for the CPU device and for real GPUs.

    scripts/conformance.py [--device cpu|cuda] [--shared] [--build-only] [--json FILE] [--cmake -DNAME=VALUE ...]

It builds runtime_cpp/tests/device and the attention of runtime_cpp/tests/math for a device, runs each case in a separate
process, and stores the outcomes in the JSON (docs/conformance.json). Then it prints the table of
docs/experiments/cpu-device.md, with all stored outcomes. On GPUs each rank of a case is a process with a GPU: 2 GPUs run
most cases, and cases with more ranks are skipped. With --shared the ranks share the available GPUs (HIRGEN_SHARE_GPU=1);
one GPU is enough for all cases without NCCL. The CUDA toolchain is the installed one, or otherwise the pinned one of
scripts/cuda-toolchain.sh. The exit code is 1 if an expectation does not hold.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = {"cpu": "CPU device", "cuda": "GPUs", "shared": "one GPU for all ranks"}
GROUPS = {"device": "*.*", "math": "attention.*"}  # math: only the attention, for which the CPU device has no library


def build(device, cmake):
    """Builds the suite and returns the folder with its programs."""
    folder = ROOT / "build" / ("runtime" if device == "cpu" else "conformance-cuda")
    settings = [] if device == "cpu" else ["-DHIRGEN_DEVICE=cuda", *toolchain(), *cmake]
    command = ["cmake", "-S", ROOT / "runtime_cpp", "-B", folder, "-G", "Ninja", *settings]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    targets = [name for name, _ in programs()]
    subprocess.run(["cmake", "--build", folder, "--target", *targets], check=True, stdout=sys.stderr)
    return folder


def toolchain():
    """CMake's settings for CUDA and NCCL."""
    if not (shutil.which("nvcc") or os.environ.get("CUDACXX")):
        pinned = subprocess.run([ROOT / "scripts/cuda-toolchain.sh"], check=True, capture_output=True, text=True)
        return pinned.stdout.split()
    # Without a system package, NCCL may come with PyTorch.
    find = "import importlib.util as u; s = u.find_spec('nvidia.nccl'); print(list(s.submodule_search_locations)[0] if s else '')"
    nccl = subprocess.run([shutil.which("python3"), "-c", find], capture_output=True, text=True).stdout.strip()
    return [f"-DNCCL_ROOT={nccl}"] if nccl else []


def programs():
    """(program, subject) of each file of the suite."""
    for group, pattern in GROUPS.items():
        for source in sorted((ROOT / "runtime_cpp/tests" / group).glob(pattern)):
            if source.suffix in (".cpp", ".cu") and source.stem != "test":
                yield f"{group}_{source.stem}", source.stem


def run(folder, program, limit):
    """Runs a program and returns the outcome of each case; prints its output if an expectation does not hold."""
    try:
        done = subprocess.run([folder / program], capture_output=True, text=True, timeout=limit)
        output, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, code = (expired.stdout or b"").decode(errors="replace"), -1
    cases = {name: verdict for verdict, name in re.findall(r"^(ok|skipped|FAILED|HANGS) +(\w+) +[\d.]+ s$", output, re.M)}
    if not cases and code != 77:  # a program with a single case
        cases = {"all": "ok" if code == 0 else "FAILED"}
    if code not in (0, 77) and not bad(cases):
        cases["(the program)"] = f"FAILED with {code}"
    if bad(cases):
        print(output, file=sys.stderr)
    return cases


def bad(cases):
    """The cases whose expectations do not hold."""
    return [name for name, verdict in cases.items() if verdict not in ("ok", "skipped")]


def verdict(cases):
    """The outcomes of a program's cases in words."""
    if cases is None:
        return "not run"
    counts = {word: list(cases.values()).count(word) for word in ("ok", "skipped")}
    words = [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(words + [f"{name} {cases[name]}" for name in bad(cases)]) or "none apply"


def table(results):
    """The table of all columns, in Markdown."""
    lines = ["| subject | " + " | ".join(COLUMNS.values()) + " |", "|---" * (1 + len(COLUMNS)) + "|"]
    for program, subject in programs():
        cells = [verdict(results.get(device, {}).get(program)) for device in COLUMNS]
        lines.append(f"| {subject} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    """Builds, runs, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--shared", action="store_true", help="ranks share GPUs; the outcomes have a separate column")
    parser.add_argument("--only", nargs="*", default=[], metavar="SUBJECT", help="only these; the JSON keeps the outcomes of the others")
    parser.add_argument("--build-only", action="store_true", help="compile and link; needs no GPU")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "docs/conformance.json")
    parser.add_argument("--limit", type=float, default=300, help="seconds of one program")
    parser.add_argument("--cmake", nargs="*", default=[], help="additional CMake settings")
    args = parser.parse_args()
    folder = build(args.device, args.cmake)
    if args.build_only:
        return 0
    results = json.loads(args.json.read_text()) if args.json.exists() else {}
    if args.shared:
        os.environ["HIRGEN_SHARE_GPU"] = "1"
    outcomes = results.setdefault("shared" if args.shared else args.device, {})
    if not args.only:
        outcomes.clear()
    for program, subject in programs():
        if args.only and subject not in args.only:
            continue
        outcomes[program] = run(folder, program, args.limit)
        print(f"{program}: {verdict(outcomes[program])}", file=sys.stderr, flush=True)
        args.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(table(results))
    return 1 if any(bad(cases) for cases in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
