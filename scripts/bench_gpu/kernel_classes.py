"""Of what a call is made on both sides: milliseconds by class of kernel, of hirgen's trace and of PyTorch's profiler.

Times of a class are sums: what runs at the same time counts twice, so they show where work is longer, not what a call waits for.
"""
import collections
import re

import tables
import traces

CLASSES = ["GEMM", "attention", "other kernels", "collectives", "copies"]

#: Names of PyTorch's kernels; the first pattern that is found says the class.
NAMES = [("collectives", r"nccl|all_?reduce|reduce_scatter|all_gather|symm_mem|barrier_kernel"), ("copies", r"^Mem(cpy|set)"),
         ("attention", r"flash|fmha|sdpa|attention|cudnn_generated"), ("GEMM", r"gemm|nvjet|cutlass|xmma|cublas|splitKreduce")]
CATEGORIES = {"gemm": "GEMM", "kernel": "other kernels", "nccl": "collectives", "copy": "copies",
              "peer_read": "collectives"}
SHOWN = 8  # of the longest ones


def class_of(kernel):
    """The class of a kernel of PyTorch, by its name."""
    return next((name for name, pattern in NAMES if re.search(pattern, kernel, re.IGNORECASE)), "other kernels")


def theirs(kernels):
    """{class: us of a call} of {kernel: us of a call}."""
    return summed((class_of(name), us) for name, us in kernels.items())


def ours(trace):
    """The same of a trace, for the rank that works longest."""
    parts = [((rank, "attention" if statement.startswith("Attention") else CATEGORIES[category]), us)
             for (rank, statement, category), us in traces.parts(trace).items()]
    by_rank = collections.defaultdict(dict)
    for (rank, name), us in summed(parts).items():
        by_rank[rank][name] = us
    return max(by_rank.values(), key=lambda found: sum(found.values()), default={})


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
    lines = [[name, tables.ms(told["ours"].get(name)), tables.ms(told["theirs"].get(name))] for name in CLASSES]
    lines.append(["a call", tables.ms(told["us"]), tables.ms(told["peer_us"])])
    top = [f"- {side}: " + "; ".join(f"{name} {us:.1f}" for name, us in told[key][:SHOWN])
           for side, key in ((told["label"], "statements"), (told["peer"], "kernels"))]
    return "\n".join([f"\n{row['operation']} {row.get('name', '')} {tables.shape(row)}, ms by class of kernel:\n",
                      tables.table(["class", f"hirgen: {told['label']}", f"PyTorch: {told['peer']}"], lines), "", *top]) + "\n"
