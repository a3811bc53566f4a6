"""Reads traces of --trace for spread.py: the time of a call, and its statements on each rank."""
import collections
import json
import pathlib
import statistics

import tables

WORK = ("gemm", "kernel", "copy", "nccl", "peer_read")


def slices(trace):
    """The events with a duration."""
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def call_us(trace):
    """Microseconds of a call: the time from the first begin to the last end, divided by the number of calls."""
    events = slices(trace)
    begin, end = min(e["ts"] for e in events), max(e["ts"] + e["dur"] for e in events)
    return (end - begin) / trace["otherData"]["calls"]


def work(trace):
    """The events of kernels, copies and collectives, without waits."""
    return [event for event in slices(trace) if event["cat"] in WORK]


def parts(trace):
    """{(rank, statement, category): microseconds of a call} of the events of work."""
    found, calls = collections.Counter(), trace["otherData"]["calls"]
    for event in work(trace):
        found[event["pid"], event["args"]["statement"], event["cat"]] += event["dur"] / calls
    return found


def compared(taken):
    """Compares the fastest trace with the slowest one, statement by statement and rank by rank."""
    if len(taken) < 2:
        return "There are not two traces."
    order = sorted(taken, key=lambda one: one["us"])
    fast, slow = (json.loads(pathlib.Path(order[i]["file"]).read_text()) for i in (0, -1))
    quick, late = parts(fast), parts(slow)
    lines = [[str(rank), statement, category, f"{quick[rank, statement, category]:.1f}", f"{late[rank, statement, category]:.1f}",
              tables.number(late[rank, statement, category] / quick[rank, statement, category] if quick[rank, statement, category] else None, 3)]
             for rank, statement, category in sorted(quick | late)]
    times = [one["us"] for one in order]
    return "\n".join([f"{len(times)} starts: a call took {times[0]:.0f} to {times[-1]:.0f} us, {statistics.median(times):.0f} in the median.\n",
                      tables.table(["rank", "statement", "category", "us, fastest", "us, slowest", "slowest / fastest"], lines)])
