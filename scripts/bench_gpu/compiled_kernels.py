#!/usr/bin/env python3
"""Times the kernels that torch.compile generates for the cases of fused_kernels.cu, on one GPU.

    scripts/bench_gpu/compiled_kernels.py [WORD]    kernels with WORD in their names

As in fused_kernels.cu, the unit is a device-to-device copy that reads and writes the same number of bytes: 64 MB and 512 MB, over
buffers that rotate over about 2 GB. A row is the median of seven rounds, each with the copy and then the kernel. A CUDA graph
holds the calls, to exclude host time, and each of its calls has a separate result.
"""
import math
import statistics
import sys

import torch
import torch.nn.functional as F

MB = 1 << 20
TURNS, ROTATED, TIMED = 7, 2048 * MB, 8192 * MB
STEP = 16384 * 16  # slices are multiples of this, so that they have whole rows in every case
HEADS, CHANNELS = 32, 128  # heads of a token, channels of a head
TOKEN = HEADS * CHANNELS


def silu_mul(zg, zu):
    """The activation of a SwiGLU."""
    return F.silu(zg) * zu


def rope(x, cos, sin):
    """Rotary embeddings of the two halves of channels. All heads of a token share the tables of cosines and sines."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def add_rms_norm(x, r, gamma):
    """A residual add, and the norm of its result: two results."""
    y = x + r
    return y, F.rms_norm(y, gamma.shape, gamma, 1e-5)


def norm_weight_grad(dy, x, rstd):
    """The gradient of a norm's weight: a sum over rows."""
    return (dy.float() * (x.float() * rstd)).sum(0)


def of_tokens():
    """(name, number of large operands, results among them, function of the large inputs, columns) of a kernel on rows of heads."""
    cos, sin = (torch.ones(256 * MB // TOKEN, 1, CHANNELS // 2, device="cuda") for _ in range(2))
    return ("rope of 32 heads", 2, 1, lambda x: rope(x.view(-1, HEADS, CHANNELS), cos[:len(x)], sin[:len(x)]), TOKEN)


def of_rows(columns):
    """Such tuples (see of_tokens) for kernels on rows with the given number of columns."""
    gamma, beta = (torch.ones(columns, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    rstd = torch.ones(256 * MB // columns, 1, device="cuda")
    return [
        (f"rms_norm of {columns}", 2, 1, lambda x: F.rms_norm(x, (columns,), gamma, 1e-5), columns),
        (f"add_rms_norm of {columns}", 4, 2, lambda x, r: add_rms_norm(x, r, gamma), columns),
        (f"layer_norm of {columns}", 2, 1, lambda x: F.layer_norm(x, (columns,), gamma, beta, 1e-5), columns),
        (f"norm_weight_grad of {columns}", 2, 0, lambda dy, x: norm_weight_grad(dy, x, rstd[:len(dy)]), columns),
        (f"softmax of {columns}", 2, 1, lambda s: F.softmax(s * 0.125, -1), columns),
    ]


def cases():
    """All cases."""
    elementwise = [("silu_mul", 3, 1, silu_mul, 4096), ("add", 3, 1, torch.add, 4096), ("gelu", 2, 1, F.gelu, 4096)]
    return [*elementwise, of_tokens(), *(case for columns in (1024, 4096, 16384) for case in of_rows(columns))]


def slices_of(megabytes, operands):
    """(elements of an operand, slices of memory, replays of the graph). The graph has one call for each slice."""
    elements = megabytes * MB // (2 * operands) // STEP * STEP
    slices = max(2, ROTATED // (2 * elements * operands))
    return elements, slices, math.ceil(max(20, TIMED // (megabytes * MB)) / slices)


def graph_of(calls):
    """Captures a CUDA graph of calls, after running each once. Results stay alive during the capture, so that no two share memory."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = [call() for call in calls]
    del made
    return graph


def time_of(graph, replays, count):
    """Milliseconds of one of the count calls of a graph, the mean over its replays."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / (replays * count)


def measure(case, megabytes):
    """Measures a case and prints its row of the table."""
    name, operands, results, function, columns = case
    elements, slices, replays = slices_of(megabytes, operands)
    half = elements * operands // 2
    memory = torch.full((slices, operands, elements // columns, columns), 0.5, device="cuda", dtype=torch.bfloat16)
    torch.compiler.reset()  # after eight sizes of a function, torch.compile would run it eagerly
    compiled = torch.compile(function, dynamic=False)
    flat = memory.view(slices, -1)
    kernel = graph_of([lambda i=i: compiled(*memory[i, :operands - results]) for i in range(slices)])
    copy = graph_of([lambda i=i: flat[i, :half].copy_(flat[i, half:2 * half]) for i in range(slices)])
    times = [(time_of(copy, replays, slices), time_of(kernel, replays, slices)) for _ in range(TURNS)]
    copied, own = (statistics.median(column) for column in zip(*times))
    print(f"{name:20s} {4 * half / MB:7.0f} {copied:10.4f} {own:10.4f} {4e-6 * half / own:10.0f} {copied / own:8.3f}", flush=True)


def main():
    """Prints the table."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'bf16':20s} {'MB':>7s} {'copy ms':>10s} {'kernel ms':>10s} {'GB/s':>10s} {'of copy':>8s}")
    for megabytes in (64, 512):
        for case in cases():
            if word in case[0]:
                measure(case, megabytes)


if __name__ == "__main__":
    main()
