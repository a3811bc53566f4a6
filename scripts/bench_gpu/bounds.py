"""What bounds an overlapped call, by measurements of its pieces alone (products.py makes them).

A pipeline cuts its product, and brings what other ranks have while products run. So it takes at least the time of the
products that it cuts into beside the copies that it needs, where none waits for another. What hirgen takes above
the whole product is then the sum of three shares: the cut (partly filled waves of blocks, B read again), the sharing
of power and memory with the copies, and the tail: what waits (the last sum, the last transfer, a gather) and what it
costs to begin and to synchronise. The entry of a shape is {"m", "n", "k", "ranks", "seconds", "items": {name: {"us": times}}},
or has "skipped", with the reason, in place of items.
"""
import table_of
from cells import ELEMENT, OPERATIONS, Cell
from tables import derived, median, ms, number, shape, table

SUM = "sum of the parts"  # D slices of [M/d, N] into one, in fp32
AS_MANY_BYTES = "copy of as many bytes as the sum's"  # within the GPU
ONE_SLICE = "copy of one slice"  # [M/d, N] of another GPU


def cuts(ranks):
    """Into how many products, of some rows each, a product is cut."""
    return sorted({1, 2, 4, 8, *cuts_beside(ranks)})


def cuts_beside(ranks):
    """The cuts that are measured beside copies: a product, two and four for each slice, and two in all."""
    return sorted({2, ranks, 2 * ranks, 4 * ranks})


def product(parts):
    """The name of a measurement, as are the next ones."""
    return "whole" if parts == 1 else f"{parts} GEMMs"


def copies(operation):
    """All that an operation brings to a rank, alone; of an allreduce the parts, and then the sums."""
    return f"copies of {operation}"


def beside(operation, parts):
    """The cut product while all that is brought."""
    return product(1) if parts == 1 else f"{product(parts)} beside {copies(operation)}"


def names(ranks, operations):
    """All measurements of a shape."""
    made = [product(parts) for parts in cuts(ranks)]
    for operation in operations:
        made += [copies(operation), *(beside(operation, parts) for parts in cuts_beside(ranks))]
    return [*made, SUM, AS_MANY_BYTES, ONE_SLICE]


def turn(names, back):
    """(busy, idle): the measurements in the order of a round, forth or back.

    Products take a GPU to its power limit, and for some hundred milliseconds after copies or sums it would run at
    clocks that do not last. So those follow when all products are timed."""
    busy = [name for name in names if name.split(" beside ")[0].split()[-1] in ("whole", "GEMMs")]
    idle = [name for name in names if name not in busy]
    return (busy[::-1], idle[::-1]) if back else (busy, idle)


def parts_of(operation, label, ranks):
    """How many products a rank makes in a program of variants.py: one in each slice, or in each slice of a piece, where its
    schedule says nothing."""
    schedule = table_of.schedules(operation).get((label or "").removesuffix(", tuned"), (None, {}))[1]
    schedule = table_of.counted(schedule, ranks)
    return 1 if schedule.get("preset") == "eager" else ranks * schedule.get("all.split", 1) // schedule.get("all.block", 1)


def shares(bound, operation, row):
    """What makes the best program of a row slower than the whole product: percents of the product, None if unknown.

    The row's times are compared with the product as it was timed among them, and the others with theirs: clocks move."""
    d = derived(row) if row else {}
    parts = parts_of(operation, d.get("label"), bound["ranks"])
    whole, cut, shared = (median(bound["items"].get(name)) for name in (product(1), product(parts), beside(operation, parts)))
    own = 1 / d["against_gemm"] if d.get("against_gemm") else None
    return {"parts": parts, "whole": whole, "cut_us": cut, "beside_us": shared, "label": d.get("label"), "us": d.get("us"),
            "cut": percent(cut, whole, whole), "sharing": percent(shared, cut, whole),
            "tail": 100 * (own - shared / whole) if own and shared and whole else None}


def percent(longer, shorter, whole):
    """The difference of two times in percents of a third; None where one is not known."""
    return 100 * (longer - shorter) / whole if longer and shorter and whole else None


def least(bound, operation):
    """(microseconds, name) of the fastest cut beside copies: no pipeline with one of these cuts can be faster."""
    times = [(median(bound["items"].get(beside(operation, parts))), product(parts)) for parts in cuts_beside(bound["ranks"])]
    return min(((us, name) for us, name in times if us), default=(None, None))


def size(entry):
    """What an entry or a row is of, but for the operation."""
    return tuple(entry[name] for name in ("m", "n", "k", "ranks"))


def measured(bounds):
    """(entry, operation) of all that was measured."""
    return [(bound, operation) for bound in bounds if "items" in bound
            for operation in OPERATIONS if copies(operation) in bound["items"]]


def shares_table(bounds, rows):
    """One line for an operation at a shape: what bounds it."""
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
    """The copies of an operation alone, and every cut beside them."""
    columns = sorted({parts for bound, _ in measured(bounds) for parts in cuts_beside(bound["ranks"])})
    lines = []
    for bound, operation in measured(bounds):
        alone, *cut = (median(bound["items"].get(name)) for name in (copies(operation), *(beside(operation, parts) for parts in columns)))
        moved = Cell(operation, bound["m"], bound["n"], bound["k"], bound["ranks"]).moved_bytes
        lines.append([operation, shape(bound), ms(alone), rate(moved, alone), *map(ms, cut)])
    return table(["operation", "M, N, K", "copies alone", "GB/s", *(f"{product(parts)} beside them" for parts in columns)], lines)


def products_table(bounds):
    """Every cut alone."""
    entries = [bound for bound in bounds if "items" in bound]
    columns = sorted({parts for bound in entries for parts in cuts(bound["ranks"])})
    lines = [[shape(bound), *(ms(median(bound["items"].get(product(parts)))) for parts in columns)] for bound in entries]
    return table(["M, N, K", *map(product, columns)], lines)


def tails_table(bounds):
    """What a reduce-scatter ends with: the sum and its rate, beside a plain copy's, and the transfer of one slice."""
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
    """The report of the section; nothing where it was not asked for."""
    parts = []
    if any("items" in bound for bound in bounds):
        parts = ["\nWhat bounds it, ms, and the shares of the best program's time above the GEMM, in percents of the GEMM:\n",
                 shares_table(bounds, rows), "\nThe GEMMs alone, ms:\n", products_table(bounds),
                 "\nBeside copies, ms:\n", copies_table(bounds), "\nSums and last transfers, ms:\n", tails_table(bounds)]
    skipped = [f"- {shape(bound)}: {bound['skipped']}" for bound in bounds if "skipped" in bound]
    return "\n".join(parts + (["\nWhat bounds it, not measured:\n", *skipped] if skipped else [])) + ("\n" if parts or skipped else "")
