"""The programs of hirgen that are compared, as (label, spec, parameters, schedule) by operation.

The parameters come on top of the cell's. A schedule that hirgen refuses is a row that says so.
"""
import programs

IPC_1 = {"pipeline": "p2p", "streams": 1}

TABLE = {
    "ag_matmul": [
        ("collective S=1", "ag_matmul", {"S": 1}, {"streams": 1}),
        ("collective S=4", "ag_matmul", {"S": 4}, {}),
        ("p2p get", "ag_matmul_p2p", {}, {**IPC_1, "transport": "ipc-get"}),
        ("p2p get, 2 streams", "ag_matmul_p2p", {}, {**IPC_1, "transport": "ipc-get", "streams": 2}),
        ("p2p put", "ag_matmul_p2p", {}, {**IPC_1, "transport": "ipc-put"}),
        ("p2p nccl", "ag_matmul_p2p", {}, {**IPC_1, "transport": "nccl"}),
    ],
    "matmul_rs": [
        ("collective S=1", "matmul_rs", {"S": 1}, {"streams": 1}),
        ("collective S=4", "matmul_rs", {"S": 4}, {}),
        ("p2p put", "matmul_rs_p2p", {}, {**IPC_1, "transport": "ipc-put"}),
        ("p2p put, 2 streams", "matmul_rs_p2p", {}, {**IPC_1, "transport": "ipc-put", "streams": 2}),
        ("p2p get", "matmul_rs_p2p", {}, {**IPC_1, "transport": "ipc-get"}),
        ("p2p nccl", "matmul_rs_p2p", {}, {**IPC_1, "transport": "nccl"}),
    ],
    "matmul_ar": [
        ("collective S=1", "matmul_ar", {"S": 1}, {"streams": 1}),
        ("collective S=4", "matmul_ar", {"S": 4}, {}),
        ("p2p put", "matmul_ar_p2p", {}, {**IPC_1, "transport": "ipc-put"}),
        ("p2p put, 2 streams", "matmul_ar_p2p", {}, {**IPC_1, "transport": "ipc-put", "streams": 2}),
        ("p2p get", "matmul_ar_p2p", {}, {**IPC_1, "transport": "ipc-get"}),
    ],
}

#: The allgather of an ag_matmul cell alone: with NCCL's it makes T_comm.
ALLGATHER = [
    ("allgather get", "allgather_p2p", {}, {"streams": 1, "transport": "ipc-get"}),
    ("allgather put", "allgather_p2p", {}, {"streams": 1, "transport": "ipc-put"}),
]

TINY = [
    ("allgather get", "allgather_p2p", {}, {"streams": 1, "transport": "ipc-get"}),
    ("allgather put", "allgather_p2p", {}, {"streams": 1, "transport": "ipc-put"}),
    ("ag_matmul get", "ag_matmul_p2p", {}, {**IPC_1, "transport": "ipc-get"}),
    ("ag_matmul put", "ag_matmul_p2p", {}, {**IPC_1, "transport": "ipc-put"}),
]


def of_cell(cell):
    """The variants of a cell; those of the allgather alone carry its name in their spec."""
    rows = TABLE[cell.operation] + (ALLGATHER if cell.operation == "ag_matmul" else [])
    return [make(cell, *row) for row in rows]


def of_tiny(cell):
    """The variants of the tiny cell."""
    return [make(cell, *row) for row in TINY]


def make(cell, label, spec, extra, schedule):
    """A row of the table as a variant of the cell's size."""
    names = {"allgather_p2p": "DMK"}.get(spec, "DMNK")
    return programs.Variant(spec, {**{k: v for k, v in cell.params.items() if k in names}, **extra}, schedule, label=label)
