"""Lower bounds on the time of an overlapped call, from measurements of its parts (products.py has the calls).

A pipeline splits its GEMM along M and copies data of the other ranks while the GEMMs run. So it takes at least as long as these
GEMMs take while the copies run, with no dependencies between GEMMs and copies. The time of a program beyond the whole
GEMM is the sum of three shares. The cut is the cost of smaller GEMMs: partly filled waves of blocks, and repeated reads of B. The
sharing is the cost of sharing power and memory with the copies. The tail is the rest: exposed work (the last sum, the last
transfer, a gather), launches and synchronisation. The entry of a shape is
{"m", "n", "k", "ranks", "seconds", "items": {name: {"us": times}}}, or has "skipped", with the reason, instead of items.
"""
import table_of
from cells import ELEMENT, OPERATIONS, Cell
from tables import derived, median, ms, number, shape, table

SUM = "sum of the parts"  # d partial sums of [M/d, N], accumulated in fp32
AS_MANY_BYTES = "copy of as many bytes as the sum's"  # within the GPU
ONE_SLICE = "copy of one slice"  # [M/d, N] from another GPU


def cuts(ranks):
    """The numbers of GEMMs that the GEMM is split into along M."""
    return sorted({1, 2, 4, 8, *cuts_beside(ranks)})


def cuts_beside(ranks):
    """The cuts that are measured while copies run: one, two and four GEMMs a shard, and two in all."""
    return sorted({2, ranks, 2 * ranks, 4 * ranks})


def product(parts):
    """The name of the measurement of a GEMM split into parts."""
    return "whole" if parts == 1 else f"{parts} GEMMs"


def copies(operation):
    """The name of the measurement of all copies to a rank, alone. An allreduce copies the partial sums and then the sums."""
    return f"copies of {operation}"


def beside(operation, parts):
    """The name of the measurement of the split GEMM while the operation's copies run. One part means the whole GEMM, without copies."""
    return product(1) if parts == 1 else f"{product(parts)} beside {copies(operation)}"


def names(ranks, operations):
    """The names of all measurements of a shape."""
    made = [product(parts) for parts in cuts(ranks)]
    for operation in operations:
        made += [copies(operation), *(beside(operation, parts) for parts in cuts_beside(ranks))]
    return [*made, SUM, AS_MANY_BYTES, ONE_SLICE]


def turn(names, back):
    """(busy, idle): the measurements in the order of a round, forwards or backwards.

    GEMMs bring a GPU to its power limit. After copies or sums a GPU runs for some hundred milliseconds at higher clocks than it
    can sustain, so they are timed after all GEMMs."""
    busy = [name for name in names if name.split(" beside ")[0].split()[-1] in ("whole", "GEMMs")]
    idle = [name for name in names if name not in busy]
    return (busy[::-1], idle[::-1]) if back else (busy, idle)


def parts_of(operation, label, ranks):
    """How many GEMMs a rank runs in a program of variants.py: 1 with the preset eager, otherwise all.split GEMMs for every
    all.block shards, both 1 by default."""
    schedule = table_of.schedules(operation).get((label or "").removesuffix(", tuned"), (None, {}))[1]
    schedule = table_of.counted(schedule, ranks)
    return 1 if schedule.get("preset") == "eager" else ranks * schedule.get("all.split", 1) // schedule.get("all.block", 1)


def shares(bound, operation, row):
    """The shares of the best program's time beyond the whole GEMM, as percentages of the GEMM; None if unknown.

    Times of the row are compared with the GEMM of the row, and bounds with the GEMM of the bounds, since clocks vary."""
    d = derived(row) if row else {}
    parts = parts_of(operation, d.get("label"), bound["ranks"])
    whole, cut, shared = (median(bound["items"].get(name)) for name in (product(1), product(parts), beside(operation, parts)))
    own = 1 / d["against_gemm"] if d.get("against_gemm") else None
    return {"parts": parts, "whole": whole, "cut_us": cut, "beside_us": shared, "label": d.get("label"), "us": d.get("us"),
            "cut": percent(cut, whole, whole), "sharing": percent(shared, cut, whole),
            "tail": 100 * (own - shared / whole) if own and shared and whole else None}


def percent(longer, shorter, whole):
    """The difference of two times as a percentage of a third; None if one is unknown."""
    return 100 * (longer - shorter) / whole if longer and shorter and whole else None


def least(bound, operation):
    """(microseconds, name) of the fastest cut while copies run: no pipeline with one of these cuts can be faster."""
    times = [(median(bound["items"].get(beside(operation, parts))), product(parts)) for parts in cuts_beside(bound["ranks"])]
    return min(((us, name) for us, name in times if us), default=(None, None))


def size(entry):
    """The shape and ranks of an entry or a row."""
    return tuple(entry[name] for name in ("m", "n", "k", "ranks"))


def measured(bounds):
    """(entry, operation) for each measured operation."""
    return [(bound, operation) for bound in bounds if "items" in bound
            for operation in OPERATIONS if copies(operation) in bound["items"]]


def shares_table(bounds, rows):
    """The table of bounds, one line for each operation at a shape."""
    by_cell = {(row["operation"], size(row)): row for row in rows}
    titles = ["operation", "M, N, K", "GEMM", "cut into", "cut", "beside copies", "best hirgen", "ms", "cut, %", "sharing, %", "tail, %",
              "least beside copies", "with"]
    lines = []
    for bound, operation in measured(bounds):
        s, (us, name) = shares(bound, operation, by_cell.get((operation, size(bound)))), least(bound, operation)
        lines.append([operation, shape(bound), ms(s["whole"]), str(s["parts"]), ms(s["cut_us"]), ms(s["beside_us"]), s["label"] or "-",
                      ms(s["us"]), *(number(s[key], 1) for key in ("cut", "sharing", "tail")), ms(us), name or "-"])
    return table(titles, lines)


def copies_table(bounds):
    """The table of an operation's copies alone, and of each cut while they run."""
    columns = sorted({parts for bound, _ in measured(bounds) for parts in cuts_beside(bound["ranks"])})
    lines = []
    for bound, operation in measured(bounds):
        alone, *cut = (median(bound["items"].get(name)) for name in (copies(operation), *(beside(operation, parts) for parts in columns)))
        moved = Cell(operation, bound["m"], bound["n"], bound["k"], bound["ranks"]).moved_bytes
        lines.append([operation, shape(bound), ms(alone), rate(moved, alone), *map(ms, cut)])
    return table(["operation", "M, N, K", "copies alone", "GB/s", *(f"{product(parts)} beside them" for parts in columns)], lines)


def products_table(bounds):
    """The table of each cut alone."""
    entries = [bound for bound in bounds if "items" in bound]
    columns = sorted({parts for bound in entries for parts in cuts(bound["ranks"])})
    lines = [[shape(bound), *(ms(median(bound["items"].get(product(parts)))) for parts in columns)] for bound in entries]
    return table(["M, N, K", *map(product, columns)], lines)


def tails_table(bounds):
    """The table of the end of a reduce-scatter: the sum, a copy of as many bytes, both with their rates, and the transfer of one shard."""
    lines = []
    for bound in (bound for bound in bounds if "items" in bound):
        add, plain, one = (median(bound["items"].get(name)) for name in (SUM, AS_MANY_BYTES, ONE_SLICE))
        one_slice = bound["m"] // bound["ranks"] * bound["n"] * ELEMENT
        moved = one_slice * (bound["ranks"] + 1)
        lines.append([shape(bound), ms(add), rate(moved, add), ms(plain), rate(moved, plain), ms(one), rate(one_slice, one)])
    return table(["M, N, K", SUM, "GB/s", AS_MANY_BYTES, "GB/s", ONE_SLICE, "GB/s"], lines)


def rate(count, us):
    """GB/s of bytes in microseconds, as text."""
    return number(count / us / 1e3 if us else None, 0)


def markdown(bounds, rows):
    """The report of the section; empty if there are no bounds."""
    parts = []
    if any("items" in bound for bound in bounds):
        parts = ["\nWhat bounds it, ms, and the shares of the best program's time above the GEMM, in percents of the GEMM:\n",
                 shares_table(bounds, rows), "\nThe GEMMs alone, ms:\n", products_table(bounds),
                 "\nBeside copies, ms:\n", copies_table(bounds), "\nSums and last transfers, ms:\n", tails_table(bounds)]
    skipped = [f"- {shape(bound)}: {bound['skipped']}" for bound in bounds if "skipped" in bound]
    return "\n".join(parts + (["\nWhat bounds it, not measured:\n", *skipped] if skipped else [])) + ("\n" if parts or skipped else "")
