"""Rows of measurements and derived figures as Markdown tables.

A row is one operation at one shape:
    {"operation", "m", "n", "k", "ranks", "flops", "peers": {name: item}, "hirgen": {label: item}, "allgather": {label: item}}.
An item is {"us": [times of a call], "wrong": elements or None, ...} or {"refused": reason}.
"""
import math
import statistics

GRAPH = ", graph"  # ends the name of a peer or a program whose calls are in CUDA graphs
ALONE = ("gemm", "collective", "gemm" + GRAPH, "collective" + GRAPH)  # peers that run only a part of the operation
COMPUTE = ("compute", "compute, whole", "compute, graph")  # peers that run a layer without communication


def median(item):
    """Microseconds of a call, or None for an item that has no times."""
    return statistics.median(item["us"]) if item and item.get("us") else None


def best(items, leave_out=()):
    """(name, median us) of the fastest item without known wrong elements; (None, None) if there is none."""
    times = {name: median(item) for name, item in items.items() if name not in leave_out and not item.get("wrong")}
    times = {name: us for name, us in times.items() if us is not None}
    return min(times.items(), key=lambda pair: pair[1]) if times else (None, None)


def in_graphs(items):
    """The items whose calls are in CUDA graphs."""
    return {name: item for name, item in items.items() if name.endswith(GRAPH)}


def alone(row, part):
    """Microseconds of a part of the operation alone, the GEMM or the collective, in a graph or not."""
    return best({name: row["peers"][name] for name in (part, part + GRAPH) if name in row["peers"]})[1]


def geometric_mean(values):
    """The geometric mean of positive numbers; None if there are none."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def derived(row):
    """The figures of a row: times in us, and ratios; None if a time is missing."""
    gemm, collective = alone(row, "gemm"), alone(row, "collective")
    gemm = gemm or best({name: item for name, item in row["peers"].items() if name in COMPUTE})[1]
    own_gather = best(row.get("allgather", {}))[1]
    communication = min((us for us in (collective, own_gather) if us is not None), default=None)
    peer, peer_us = best(row["peers"], (*ALONE, *COMPUTE))
    label, us = best(row["hirgen"])
    graphs = best(in_graphs(row["peers"]), (*ALONE, *COMPUTE))[1], best(in_graphs(row["hirgen"]))[1]
    floor = max(gemm, communication) if gemm and communication else None
    return {"gemm": gemm, "collective": collective, "communication": communication, "peer": peer, "peer_us": peer_us,
            "label": label, "us": us, "floor": floor,
            "against_peer": peer_us / us if us and peer_us else None,
            "graphs": graphs[0] / graphs[1] if all(graphs) else None,
            "against_gemm": gemm / us if us and gemm else None,
            "against_floor": floor / us if us and floor else None,
            "tflops": row["flops"] / us / 1e6 if us else None,
            "gemm_tflops": row["flops"] / gemm / 1e6 if gemm else None}


def number(value, digits=3):
    """A number as text for a table; a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def ms(us):
    """Microseconds as text in milliseconds, with four decimals below 1 ms and three above."""
    return "-" if us is None else f"{us / 1e3:.3f}" if us >= 1e3 else f"{us / 1e3:.4f}"


def table(titles, lines):
    """A Markdown table."""
    return "\n".join(["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles),
                      *("| " + " | ".join(line) + " |" for line in lines)])


def shape(row):
    """The shape of a row as text: M, N, K."""
    return f"{row['m']}, {row['n']}, {row['k']}"


#: Two columns: the best peer's time over the best program's, both in graphs, and the calls in each graph.
GRAPH_TITLES = ["in graphs, peer / hirgen", "calls a graph"]


def graph_columns(row):
    """The text of the columns of GRAPH_TITLES for a row."""
    return [number(derived(row)["graphs"], 2), str(row.get("calls", {}).get("in_graph", "-"))]


def main_table(rows):
    """One line a row: the GEMM and the collective alone, the best peer, the best program, and their ratios."""
    titles = ["operation", "M, N, K", "GEMM", "TFLOP/s", "collective", "best peer", "ms", "best hirgen", "ms", "TFLOP/s",
              "peer / hirgen", "GEMM / hirgen", "floor / hirgen", *GRAPH_TITLES]
    lines = []
    for row in rows:
        d = derived(row)
        lines.append([row["operation"], shape(row), ms(d["gemm"]), number(d["gemm_tflops"], 0), ms(d["communication"]),
                      d["peer"] or "-", ms(d["peer_us"]), d["label"] or "-", ms(d["us"]), number(d["tflops"], 0),
                      number(d["against_peer"], 2), number(d["against_gemm"], 2), number(d["against_floor"], 2), *graph_columns(row)])
    return table(titles, lines)


def item_text(item):
    """A cell of a table of variants: ms, with the number of wrong elements or "not checked", the kind of failure, or a dash."""
    if item is None or median(item) is None:
        return "-" if item is None else item.get("refused", "failed").split(":")[0]
    wrong = item.get("wrong")
    return ms(median(item)) + (f" ({wrong} wrong)" if wrong else " (not checked)" if "wrong" in item and wrong is None else "")


def items_table(rows, group):
    """The medians of all items of a group (peers, hirgen, allgather) of rows of one operation."""
    names = list(dict.fromkeys(name for row in rows for name in row.get(group, {})))
    lines = [[shape(row), *(item_text(row.get(group, {}).get(name)) for name in names)] for row in rows]
    return table(["M, N, K", *names], lines)


def means_table(rows):
    """Geometric means over the rows of each operation, and over all rows."""
    lines = []
    for operation in [*dict.fromkeys(row["operation"] for row in rows), "all"]:
        figures = [derived(row) for row in rows if operation in ("all", row["operation"])]
        means = [geometric_mean(f[key] for f in figures if f[key]) for key in ("against_peer", "against_gemm", "against_floor", "graphs")]
        least = min((f["against_peer"] for f in figures if f["against_peer"]), default=None)
        lines.append([operation, str(len(figures)), *(number(mean, 3) for mean in means[:3]), number(least, 3), number(means[3], 3)])
    return table(["operation", "rows", "peer / hirgen", "GEMM / hirgen", "floor / hirgen", "least peer / hirgen", GRAPH_TITLES[0]], lines)


def refusals(rows):
    """Each refused item, with the reason."""
    return [f"- {row['operation']} {shape(row)}, {name}: {item['refused']}" for row in rows
            for group in ("peers", "hirgen", "allgather") for name, item in row.get(group, {}).items() if "refused" in item]


def markdown(result):
    """The whole report."""
    rows = result["rows"]
    parts = [f"{result['machine']}\n", *([main_table(rows), "\nGeometric means:\n", means_table(rows)] if rows else [])]
    for operation in dict.fromkeys(row["operation"] for row in rows):
        own = [row for row in rows if row["operation"] == operation]
        for group in ("peers", "hirgen", "allgather"):
            if any(row.get(group) for row in own):
                parts += [f"\n{operation}, {group}, ms:\n", items_table(own, group)]
    if result.get("tiny"):
        tiny = result["tiny"]
        every = {**tiny["hirgen"], **{f"PyTorch {name}": item for name, item in tiny["peers"].items()}}
        lines = [[name, number(median(item), 1), str(item.get("wrong", "-"))] for name, item in every.items()]
        parts += [f"\n1 KB a rank ({shape(tiny)}), us a call:\n", table(["program", "us", "#wrong"], lines)]
    lines = refusals(rows) + [f"- {row['operation']} {shape(row)}: {row['skipped']}" for row in result.get("skipped", [])]
    return "\n".join(parts + (["\nNot measured:\n", *lines] if lines else [])) + "\n"
