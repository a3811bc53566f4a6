"""hirgen's programs in the benchmark, as (label, spec, parameters, schedule) by operation.

The parameters extend the cell's parameters. To try another schedule, add a line. If hirgen refuses a schedule, the report lists
the reason. TINY is for the tiny cell. SMALL, LARGE and HUGE are for cells of different durations, and COMMON is for all of
them.
"""
import programs

EAGER = {"preset": "eager", "streams": 0}
GET = {"all.via": "ipc-get", "streams": 0, "all.signals": "batched"}
PUT = {"all.via": "ipc-put", "streams": 0, "all.signals": "batched"}
LAST = {"all.local": "last"}
TWO = {"streams": 2}
BRACKET = {"all.steps": "bracket"}  # sub-chunks of the local shard come first and last
AHEAD = {"all.lead": "all"}
FUSED = {"all.copy": "fused"}
KERNEL = {"all.copy": "sm"}
GRAPH = {"graph": "true"}
RING = {"all.steps": "ring"}
IN_GEMM = {"all.steps": "ring", "all.fuse": "gemm"}
TWO_EACH, FOUR_EACH = {"all.split": 2}, {"all.split": 4}  # GEMMs per shard

PEER_READ = {**GET, "all.fuse": "peer-read"}
ONE, HALVES = {"all.block": "D"}, {"all.block": "D/2"}  # one or two GEMMs for all shards
TWO_SUB_CHUNKS, FOUR_SUB_CHUNKS = {"all.split": 2, "all.interchange": "true"}, {"all.split": 4, "all.interchange": "true"}
SEPARATE_ADD = {"all.block": 1, "streams": 1}  # sums sub-chunks on another stream than the GEMMs

SMALL_SECONDS, HUGE_SECONDS = 0.4e-3, 5e-3

#: Each operation without and with a CUDA graph, since peers are also timed in graphs.
COMMON = {
    "ag_matmul": [("get", "ag_matmul_p2p", {}, GET), ("get, graph", "ag_matmul_p2p", {}, {**GET, **GRAPH})],
    "matmul_rs": [("put, local last", "matmul_rs_p2p", {}, {**PUT, **LAST}), ("put, local last, graph", "matmul_rs_p2p", {}, {**PUT, **LAST, **GRAPH})],
    "matmul_ar": [("put, local last", "matmul_ar_p2p", {}, {**PUT, **LAST}), ("put, local last, graph", "matmul_ar_p2p", {}, {**PUT, **LAST, **GRAPH})],
}

HUGE = {
    "ag_matmul": [
        ("get, 2 a slice", "ag_matmul_p2p", {}, {**GET, **TWO_EACH}),
        ("get, 4 a slice", "ag_matmul_p2p", {}, {**GET, **FOUR_EACH}),
    ],
    "matmul_rs": [
        ("put, local last, 2 a slice", "matmul_rs_p2p", {}, {**PUT, **LAST, **TWO_EACH}),
        ("put, local last, 4 a slice", "matmul_rs_p2p", {}, {**PUT, **LAST, **FOUR_EACH}),
        ("put, local last, 4 sub-chunks, separate add", "matmul_rs_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **FOUR_SUB_CHUNKS}),
        ("put, ring in GEMM, 2 a slice", "matmul_rs_p2p", {}, {**PUT, **IN_GEMM, **TWO_EACH}),
    ],
    "matmul_ar": [
        ("put, local last, 4 sub-chunks", "matmul_ar_p2p", {}, {**PUT, **LAST, **FOUR_SUB_CHUNKS}),
        ("put, local last, 4 sub-chunks, separate add", "matmul_ar_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **FOUR_SUB_CHUNKS}),
    ],
}

LARGE = {
    "ag_matmul": [
        ("put", "ag_matmul_p2p", {}, PUT),
        ("put, ring", "ag_matmul_p2p", {}, {**PUT, **RING}),
    ],
    "matmul_rs": [
        ("put, local last, 2 sub-chunks, separate add", "matmul_rs_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **TWO_SUB_CHUNKS}),
        ("put, ring in GEMM, 2 a slice", "matmul_rs_p2p", {}, {**PUT, **IN_GEMM, **TWO_EACH}),
        ("get, peer-read sum, 1 GEMM", "matmul_rs_p2p", {}, {**PEER_READ, **ONE}),
    ],
    "matmul_ar": [
        ("put, local last, 2 sub-chunks", "matmul_ar_p2p", {}, {**PUT, **LAST, **TWO_SUB_CHUNKS}),
        ("put, local last, 2 sub-chunks, separate add", "matmul_ar_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **TWO_SUB_CHUNKS}),
        ("put, local last, 4 sub-chunks, separate add", "matmul_ar_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **FOUR_SUB_CHUNKS}),
        ("get, peer-read sum, 1 GEMM", "matmul_ar_p2p", {}, {**PEER_READ, **ONE}),
    ],
}

SMALL = {
    "ag_matmul": [
        ("eager", "ag_matmul", {"S": 1}, EAGER),
        ("put", "ag_matmul_p2p", {}, PUT),
        ("eager, graph", "ag_matmul", {"S": 1}, {**EAGER, **GRAPH}),
        ("get, 2 streams", "ag_matmul_p2p", {}, {**GET, **TWO}),
        ("put by kernels, 2 streams, graph", "ag_matmul_p2p", {}, {**PUT, **KERNEL, **TWO, **GRAPH}),
    ],
    "matmul_rs": [
        ("eager", "matmul_rs", {"S": 1}, EAGER),
        ("eager, graph", "matmul_rs", {"S": 1}, {**EAGER, **GRAPH}),
        ("get, local last, graph", "matmul_rs_p2p", {}, {**GET, **LAST, **GRAPH}),
        ("put by kernels, local last, 2 streams, graph", "matmul_rs_p2p", {}, {**PUT, **LAST, **KERNEL, **TWO, **GRAPH}),
        ("get, peer-read sum, 1 GEMM", "matmul_rs_p2p", {}, {**PEER_READ, **ONE}),
        ("get, peer-read sum, 1 GEMM, graph", "matmul_rs_p2p", {}, {**PEER_READ, **ONE, **GRAPH}),
        ("get, peer-read sum, 2 GEMMs", "matmul_rs_p2p", {}, {**PEER_READ, **HALVES}),
    ],
    "matmul_ar": [
        ("eager", "matmul_ar", {"S": 1}, EAGER),
        ("eager, graph", "matmul_ar", {"S": 1}, {**EAGER, **GRAPH}),
        ("put, local last, 2 sub-chunks, separate add", "matmul_ar_p2p", {}, {**PUT, **LAST, **SEPARATE_ADD, **TWO_SUB_CHUNKS}),
        ("put by kernels, local last, 2 streams, graph", "matmul_ar_p2p", {}, {**PUT, **LAST, **KERNEL, **TWO, **GRAPH}),
        ("get, peer-read sum, 1 GEMM", "matmul_ar_p2p", {}, {**PEER_READ, **ONE}),
        ("get, peer-read sum, 1 GEMM, graph", "matmul_ar_p2p", {}, {**PEER_READ, **ONE, **GRAPH}),
        ("get, peer-read sum, 2 GEMMs", "matmul_ar_p2p", {}, {**PEER_READ, **HALVES}),
    ],
}

#: The allgather of an ag_matmul cell alone. Tables show the minimum of these and of NCCL's allgather.
ALLGATHER = [
    ("allgather eager", "allgather_p2p", {}, EAGER),
    ("allgather get", "allgather_p2p", {}, GET),
]

TINY = [
    ("allgather eager, graph", "allgather_p2p", {}, {**EAGER, **GRAPH}),
    ("ag_matmul eager, graph", "ag_matmul_p2p", {}, {**EAGER, **GRAPH}),
    ("allgather get, fused", "allgather_p2p", {}, {**GET, **FUSED}),
    ("allgather get, fused, graph", "allgather_p2p", {}, {**GET, **FUSED, **GRAPH}),
    ("ag_matmul get, fused", "ag_matmul_p2p", {}, {**GET, **FUSED}),
    ("ag_matmul get, fused, 1 chunk", "ag_matmul_p2p", {}, {**GET, **FUSED, **ONE}),
    ("ag_matmul get, fused, graph", "ag_matmul_p2p", {}, {**GET, **FUSED, **GRAPH}),
]

def of_cell(cell):
    """The variants of a cell; the specs of an allgather alone begin with its name."""
    if cell.is_tiny:
        return [make(cell, *row) for row in TINY]
    by_size = SMALL if cell.expected_seconds < SMALL_SECONDS else HUGE if cell.expected_seconds > HUGE_SECONDS else LARGE
    rows = COMMON[cell.operation] + by_size[cell.operation]
    return [make(cell, *row) for row in rows + (ALLGATHER if cell.operation == "ag_matmul" else [])]


def make(cell, label, spec, extra, schedule):
    """The variant of a row at the size of a cell."""
    names = {"allgather_p2p": "DMK"}.get(spec, "DMNK")
    params = {**{k: v for k, v in cell.params.items() if k in names}, **extra}
    return programs.Variant(spec, params, schedule, label=label)
