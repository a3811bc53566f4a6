#!/usr/bin/env python3
"""Tells from traces of real runs how much of each communication GEMMs hide.

    hirgen run OUT -n 2 --device cuda -- --trace trace.json --iters 3
    scripts/verify_overlap.py trace.json... [--limit 0.5] [--only TEXT...]

A communication is an NCCL call or group, or a copy between GPUs; its time includes that of waiting for other ranks. The share
of it that is hidden is that during which a GEMM ran on the same rank, on whatever stream. Both are sums over all ranks, calls
and slices, so the first gather of a pipeline, which nothing can hide, counts as well. Prints a table a trace, as Markdown; exit
code 1 where the share of a communication is below the limit or a trace has none, and 2 where a file is no trace. --only judges
those whose statement contains one of these texts.
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
    """The union of (begin, end), as disjoint ones in order."""
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((begin, end))
    return out


def inside(span, spans):
    """How long disjoint spans cover of one."""
    return sum(max(0.0, min(span[1], end) - max(span[0], begin)) for begin, end in spans)


def communications(events):
    """By statement, in the order of the trace: how often it ran, microseconds of it, and of these beside a GEMM of its rank."""
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
    """The table of a trace; calls are those of all ranks, of which a row has the mean."""
    lines = [[statement, f"{count / calls:g}", f"{us / calls:.1f}", f"{hidden / calls:.1f}", f"{share(us, hidden):.2f}"]
             for statement, (count, us, hidden) in found.items()]
    return table(["communication", "times a call", "us a call", "beside GEMMs", "share"], lines)


def share(us, hidden):
    """What is hidden; nothing takes no time, and needs no hiding."""
    return hidden / us if us else 1.0


def exposed(found, limit, only):
    """The statements whose share is below the limit, of those that contain one of some texts."""
    return [statement for statement, (_, us, hidden) in found.items()
            if share(us, hidden) < limit and (not only or any(text in statement for text in only))]


def judge(path, limit, only):
    """Prints the table of a file; whether all is hidden that should be."""
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
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="FILE")
    parser.add_argument("--limit", type=float, default=0.5, help="the least share (0.5)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="judge communications whose statement contains one of these")
    return parser.parse_args(arguments)


def main(arguments=None):
    """The exit code."""
    args = parse(arguments)
    try:
        return 0 if all([judge(path, args.limit, args.only) for path in args.traces]) else 1
    except (OSError, ValueError, KeyError) as error:
        print(f"verify_overlap.py: not a file of --trace: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
