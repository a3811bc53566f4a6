#!/usr/bin/env python3
"""Writes HTML pages for the results of bench.py, bench_layers.py and `hirgen bench --json`, with `hirgen bench --from`.

    scripts/bench_gpu/pages.py RESULT.json PAGE.html [--hirgen bin/hirgen]
    scripts/bench_gpu/pages.py RESULT.json              prints the rows in the format of hirgen bench --json

Each row of a result is a problem, with a row for each program and peer. Within a side the fastest comes first, and items without a
time come last. The GEMM and the collective alone have no rows: "GEMMs" refers to the GEMM, and "bound" to the longer of
the two. For the tiny call, programs that only gather are left out, since no peer corresponds to them.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import tables

LAYERS = "The GEMMs are all that a layer computes, without communication, as PyTorch does it."
TINY = "allgather "  # the prefix of the labels of programs without a GEMM


def status(item):
    """(status, reason) of an item: failed if its process ended or hung, waived if it was refused or not timed, otherwise wrong or ok."""
    if "refused" in item:
        kind, _, why = item["refused"].partition(": ")
        if kind not in ("failed", "refused"):
            kind, why = "refused", item["refused"]
        return "failed" if kind == "failed" else "waived", why.strip()
    if not item.get("us"):
        return "waived", "not timed"
    return ("wrong" if item.get("wrong") else "ok"), ""


def figures(us):
    """Fields for a row: the times with their median, 10th and 90th percentile."""
    tenths = statistics.quantiles(us, n=10, method="inclusive") if len(us) > 1 else us * 9
    return {"us": us, "median_us": statistics.median(us), "p10_us": tenths[0], "p90_us": tenths[-1]}


def row_of(label, item, is_peer, common, best_peer_us):
    """A program or a peer as a row of hirgen bench."""
    kind, reason = status(item)
    is_unchecked = kind == "ok" and "wrong" in item and item["wrong"] is None
    row = {**common, "case": label + (" (not checked)" if is_unchecked else ""), "status": kind, "wrong": item.get("wrong") or 0}
    if is_peer:
        row["peer"] = True
    if reason:
        return {**row, "reason": reason}
    row |= figures(item["us"])
    if item.get("memory_bytes"):
        row["memory_bytes"] = item["memory_bytes"]
    if best_peer_us:
        row["best_peer_by_this"] = best_peer_us / row["median_us"]
    return row


def name(row):
    """The name of a problem."""
    shape = " x ".join(str(row[extent]) for extent in "mnk")
    return " ".join(filter(None, [row["operation"], row.get("name"), shape]))


def rows_of(row, machine):
    """The rows of a problem, from a row of bench.py."""
    d = tables.derived(row)
    common = {"spec": "", "name": row["operation"], "group": name(row), "params": {extent.upper(): row[extent] for extent in "mnk"},
              "ranks": row["ranks"], "device": "cuda", "machine": machine, "flops": row["flops"]}
    common |= {key: value for key, value in (("products_us", d["gemm"]), ("moves_us", d["communication"])) if value}
    left_out = (*tables.ALONE, *tables.COMPUTE)
    sides = [[row_of(label, item, is_peer, common, d["peer_us"]) for label, item in items.items() if label not in left_out]
             for is_peer, items in ((False, row["hirgen"]), (True, row["peers"]))]
    for program in sides[0]:
        if "predicted_us" in row and program["status"] == "ok" and tables.GRAPH not in program["case"]:
            program["predicted_us"] = row["predicted_us"]
    return [one for side in sides for one in sorted(side, key=lambda one: one.get("median_us", float("inf")))]


def rows(result):
    """Converts a result of bench.py or bench_layers.py to the format of hirgen bench; returns a result of hirgen bench unchanged."""
    if any("case" in row for row in result.get("rows", [])):
        return result
    measured = [*result.get("rows", []), *result.get("drawn", []), *result.get("sums", [])]
    if tiny := result.get("tiny"):
        measured.append({**tiny, "hirgen": {label: item for label, item in tiny["hirgen"].items() if not label.startswith(TINY)}})
    about = LAYERS if any("size" in row for row in measured) else ""
    return {"about": about, "rows": [one for row in measured for one in rows_of(row, result["machine"])]}


def draw(result, page, hirgen):
    """Writes a page, unless the result has no rows."""
    if not (drawn := rows(result))["rows"]:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(drawn, file)
        file.flush()
        subprocess.run([hirgen, "bench", "--from", file.name, "--page", page], stdout=subprocess.DEVNULL, check=True)


def main():
    """Writes the page of a result or prints its rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path, nargs="?")
    parser.add_argument("--hirgen", default="bin/hirgen")
    args = parser.parse_args()
    result = json.loads(args.result.read_text())
    if args.page:
        draw(result, args.page, args.hirgen)
    else:
        json.dump(rows(result), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
