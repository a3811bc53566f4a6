"""Of what a call is made on both sides: milliseconds by class of kernel, of hirgen's trace and of PyTorch's profiler.

Times of a class are sums: what runs at the same time counts twice, so they show where work is longer. What a call waits for is in
the lines below: while something computes, while bytes only move, and while nothing runs. These three are the call.
"""
import collections
import math
import re

import tables
import traces

CLASSES = ["GEMM", "attention", "other kernels", "collectives", "copies"]
COMPUTING = CLASSES[:3]
WAITS = ["something computes", "bytes only move", "nothing runs"]

#: Names of PyTorch's kernels; the first pattern that is found says the class.
NAMES = [("collectives", r"nccl|all_?reduce|reduce_scatter|all_gather|symm_mem|barrier_kernel"), ("copies", r"^Mem(cpy|set)"),
         ("attention", r"flash|fmha|sdpa|attention|cudnn_generated"), ("GEMM", r"gemm|nvjet|cutlass|xmma|cublas|splitKreduce")]
CATEGORIES = {"gemm": "GEMM", "kernel": "other kernels", "nccl": "collectives", "copy": "copies",
              "peer_read": "collectives"}
SHOWN = 8  # of the longest ones


def class_of(kernel):
    """The class of a kernel of PyTorch, by its name."""
    return next((name for name, pattern in NAMES if re.search(pattern, kernel, re.IGNORECASE)), "other kernels")


def theirs(kernels, calls):
    """{class or wait: us of a call} of what ran in so many calls, [(kernel, begin, end)] in us."""
    return made_of([(class_of(name), begin, end) for name, begin, end in kernels], calls)


def sums(kernels, calls):
    """[(kernel, us of a call)], the longest ones first."""
    return sorted(summed((name, (end - begin) / calls) for name, begin, end in kernels).items(), key=lambda pair: -pair[1])


def ours(trace):
    """The same as theirs of a trace, for the rank that works longest."""
    by_rank = collections.defaultdict(list)
    for event in traces.work(trace):
        name = "attention" if event["args"]["statement"].startswith("Attention") else CATEGORIES[event["cat"]]
        by_rank[event["pid"]].append((name, event["ts"], event["ts"] + event["dur"]))
    made = [made_of(spans, trace["otherData"]["calls"]) for spans in by_rank.values()]
    return max(made, key=lambda found: sum(found.get(name, 0) for name in CLASSES), default={})


def made_of(spans, calls):
    """{class or wait: us of a call} of [(class, begin, end)]."""
    if not spans:
        return {}
    computing, busy = (covered([(begin, end) for name, begin, end in spans if name in names]) for names in (COMPUTING, CLASSES))
    whole = max(end for *_, end in spans) - min(begin for _, begin, _ in spans)
    waits = dict(zip(WAITS, (computing, busy - computing, whole - busy)))
    return {name: us / calls for name, us in (summed((name, end - begin) for name, begin, end in spans) | waits).items()}


def covered(spans):
    """How much of a line is covered by [(begin, end)]."""
    total, reached = 0, -math.inf
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def longest(trace):
    """[(statement, us of a call)] of what takes longest on any rank."""
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
    """The table of a row's "explained"; why there is none."""
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
    """Where the call that is explained is longer than the peer's, in a line; "" where it is not explained."""
    told = row.get("explained", {"refused": ""})
    if "refused" in told:
        return told["refused"]
    more = {name: told["ours"].get(name, 0) - told["theirs"].get(name, 0) for name in WAITS + CLASSES}
    return ", ".join(f"{name} {more[name] / 1e3:+.3f} ms" for name in WAITS) + " (" + ", ".join(
        f"{name} {more[name] / 1e3:+.3f}" for name in COMPUTING) + ")"
