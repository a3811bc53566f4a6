"""The breakdown of a call on both sides: milliseconds by class of kernel, from hirgen's trace and from PyTorch's profiler.

The time of a class is a sum over its kernels, with overlapping kernels counted separately, so it shows which work takes longer. The
lines below the classes divide the duration of the call: time in which some kernel computes, time with communication or copies only,
and idle time. These three add up to the call.
"""
import collections
import math
import re

import tables
import traces

CLASSES = ["GEMM", "attention", "other kernels", "collectives", "copies"]
COMPUTING = CLASSES[:3]
WAITS = ["something computes", "bytes only move", "nothing runs"]

#: Patterns for the names of PyTorch's kernels; the first match gives the class.
NAMES = [("collectives", r"nccl|all_?reduce|reduce_scatter|all_gather|symm_mem|barrier_kernel"), ("copies", r"^Mem(cpy|set)"),
         ("attention", r"flash|fmha|sdpa|attention|cudnn_generated"), ("GEMM", r"gemm|nvjet|cutlass|xmma|cublas|splitKreduce")]
CATEGORIES = {"gemm": "GEMM", "kernel": "other kernels", "nccl": "collectives", "copy": "copies",
              "peer_read": "collectives"}
SHOWN = 8  # the longest statements or kernels


def class_of(kernel):
    """The class of a PyTorch kernel with this name."""
    return next((name for name, pattern in NAMES if re.search(pattern, kernel, re.IGNORECASE)), "other kernels")


def theirs(kernels, calls):
    """{class or wait: us of a call}, from [(kernel, begin, end)] in us of a number of calls."""
    return made_of([(class_of(name), begin, end) for name, begin, end in kernels], calls)


def sums(kernels, calls):
    """[(kernel, us of a call)], the longest first."""
    return sorted(summed((name, (end - begin) / calls) for name, begin, end in kernels).items(), key=lambda pair: -pair[1])


def ours(trace):
    """The same as theirs for a trace of hirgen, on the rank that works longest."""
    by_rank = collections.defaultdict(list)
    for event in traces.work(trace):
        name = "attention" if event["args"]["statement"].startswith("attention") else CATEGORIES[event["cat"]]
        by_rank[event["pid"]].append((name, event["ts"], event["ts"] + event["dur"]))
    made = [made_of(spans, trace["otherData"]["calls"]) for spans in by_rank.values()]
    return max(made, key=lambda found: sum(found.get(name, 0) for name in CLASSES), default={})


def made_of(spans, calls):
    """{class or wait: us of a call}, from [(class, begin, end)]."""
    if not spans:
        return {}
    computing, busy = (covered([(begin, end) for name, begin, end in spans if name in names]) for names in (COMPUTING, CLASSES))
    whole = max(end for *_, end in spans) - min(begin for _, begin, _ in spans)
    waits = dict(zip(WAITS, (computing, busy - computing, whole - busy)))
    return {name: us / calls for name, us in (summed((name, end - begin) for name, begin, end in spans) | waits).items()}


def covered(spans):
    """The length of the union of [(begin, end)]."""
    total, reached = 0, -math.inf
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def longest(trace):
    """[(statement, us of a call)] of the longest statements: for each the most of any rank and category of events."""
    found = collections.Counter()
    for (rank, statement, _), us in traces.parts(trace).items():
        found[statement] = max(found[statement], us)
    return found.most_common(SHOWN)


def summed(pairs):
    """{key: sum of its numbers}."""
    found = collections.Counter()
    for name, number in pairs:
        found[name] += number
    return dict(found)


def markdown(row):
    """The table of a row's "explained", or the reason that there is none."""
    told = row.get("explained")
    if not told or "refused" in told:
        return f"\n{row['operation']} {row.get('name', '')}: no kernels: {told['refused']}\n" if told else ""
    lines = [[name, tables.ms(told["ours"].get(name)), tables.ms(told["theirs"].get(name))] for name in CLASSES + WAITS]
    lines.append(["a call", tables.ms(told["us"]), tables.ms(told["peer_us"])])
    top = [f"- {side}: " + "; ".join(f"{name} {us:.1f}" for name, us in told[key][:SHOWN])
           for side, key in ((told["label"], "statements"), (told["peer"], "kernels"))]
    return "\n".join([f"\n{row['operation']} {row.get('name', '')} {tables.shape(row)}, ms by class of kernel:\n",
                      tables.table(["class", f"hirgen: {told['label']}", f"PyTorch: {told['peer']}"], lines), "", *top]) + "\n"


def lost_by(row):
    """A line with the differences between the program's call and the peer's, or the reason that there is none; "" without "explained"."""
    told = row.get("explained", {"refused": ""})
    if "refused" in told:
        return told["refused"]
    more = {name: told["ours"].get(name, 0) - told["theirs"].get(name, 0) for name in WAITS + CLASSES}
    return ", ".join(f"{name} {more[name] / 1e3:+.3f} ms" for name in WAITS) + " (" + ", ".join(
        f"{name} {more[name] / 1e3:+.3f}" for name in COMPUTING) + ")"
