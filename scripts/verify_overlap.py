#!/usr/bin/env python3
"""Computes from traces of real runs how much of each communication overlaps GEMMs.

    hirgen run OUT -n 2 --device cuda -- --trace trace.json --iters 3
    scripts/verify_overlap.py trace.json... [--limit 0.5] [--only TEXT...]

A communication is an NCCL call or group, or a copy. Its time includes waits for other ranks. The hidden time is the
time during which a GEMM runs on the same rank, on any stream. Both are sums over all ranks, calls and slices, so the first gather of
a pipeline counts as well, although it cannot be hidden. The script prints a Markdown table for each trace. The exit code is 1 if
the hidden share of a communication is below the limit or a trace has no communication, and 2 if a file is not a trace. With --only,
only communications whose statement contains one of the texts count.
"""
import argparse
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench_gpu"))

from tables import table  # noqa: E402

COMMUNICATIONS = ("nccl", "copy")


def merged(spans):
    """The union of spans (begin, end), as disjoint spans in order."""
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((begin, end))
    return out


def inside(span, spans):
    """The length of the part of a span that disjoint spans cover."""
    return sum(max(0.0, min(span[1], end) - max(span[0], begin)) for begin, end in spans)


def communications(events):
    """{statement: (number of runs, microseconds, microseconds that overlap a GEMM of its rank)}, in the order of the trace."""
    slices = [event for event in events if event["ph"] == "X"]
    gemms = collections.defaultdict(list)
    for event in slices:
        if event["cat"] == "gemm":
            gemms[event["pid"]].append((event["ts"], event["ts"] + event["dur"]))
    gemms = {rank: merged(spans) for rank, spans in gemms.items()}
    found = {}
    for event in slices:
        if event["cat"] in COMMUNICATIONS:
            count, us, hidden = found.get(event["args"]["statement"], (0, 0.0, 0.0))
            beside = inside((event["ts"], event["ts"] + event["dur"]), gemms.get(event["pid"], []))
            found[event["args"]["statement"]] = (count + 1, us + event["dur"], hidden + beside)
    return found


def report(found, calls):
    """The table of a trace, with means over calls. calls is the number of calls of all ranks together."""
    lines = [[statement, f"{count / calls:g}", f"{us / calls:.1f}", f"{hidden / calls:.1f}", f"{share(us, hidden):.2f}"]
             for statement, (count, us, hidden) in found.items()]
    return table(["communication", "times a call", "us a call", "beside GEMMs", "share"], lines)


def share(us, hidden):
    """The hidden share of a time; 1 if the time is 0."""
    return hidden / us if us else 1.0


def exposed(found, limit, only):
    """The statements with a hidden share below the limit, among those that contain one of the texts of only."""
    return [statement for statement, (_, us, hidden) in found.items()
            if share(us, hidden) < limit and (not only or any(text in statement for text in only))]


def judge(path, limit, only):
    """Prints the table of a file; returns whether every judged communication reaches the limit."""
    trace = json.loads(pathlib.Path(path).read_text())
    found = communications(trace["traceEvents"])
    ranks = {event["pid"] for event in trace["traceEvents"] if event["ph"] == "X"}
    print(f"\n{trace['otherData']['program']}, {path}:\n")
    judged = [statement for statement in found if not only or any(text in statement for text in only)]
    if not judged:
        print("There is no such communication.")
        return False
    print(report(found, len(ranks) * trace["otherData"]["calls"]))
    late = exposed(found, limit, only)
    print(*(f"\nLess than {limit:g} of {statement} runs beside GEMMs." for statement in late), sep="")
    return not late


def parse(arguments):
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="FILE")
    parser.add_argument("--limit", type=float, default=0.5, help="the least share (0.5)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="judge communications whose statement contains one of these")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Judges all files and returns the exit code."""
    args = parse(arguments)
    try:
        return 0 if all([judge(path, args.limit, args.only) for path in args.traces]) else 1
    except (OSError, ValueError, KeyError) as error:
        print(f"verify_overlap.py: not a file of --trace: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
