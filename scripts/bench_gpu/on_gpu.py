"""Helpers of the PyTorch peers: tensors on this rank's GPU, CUDA graphs, and timing."""
import contextlib
import math

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem


def normal(*shape):
    """Random normal bf16 on this rank's GPU."""
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def empty(*shape):
    """Uninitialized bf16 on this rank's GPU."""
    return torch.empty(*shape, device="cuda", dtype=torch.bfloat16)


def symmetric(group, *shape):
    """(tensor, handle): random normal bf16 in symmetric memory; the handle gives access to the tensors of other ranks."""
    tensor = symm_mem.empty(*shape, device="cuda", dtype=torch.bfloat16).copy_(normal(*shape))
    return tensor, symm_mem.rendezvous(tensor, group)


class Captured:
    """Calls in one CUDA graph, captured by the first launch. Before the capture, the call runs on the capture stream, to compile and
    allocate everything. Autograd requires the forward pass on that stream."""

    def __init__(self, call, calls=1):
        self.call, self.calls, self.graph, self.made = call, calls, None, None

    def __call__(self):
        if self.graph is None:
            self.capture()
        self.graph.replay()
        return self.made

    def capture(self):
        """Captures the calls, one after the other. A failed capture leaves its stream current and the random generator in capture; both are
        restored."""
        caller, stream = torch.cuda.current_stream(), torch.cuda.Stream()
        stream.wait_stream(caller)
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                for _ in range(self.calls):
                    self.made = self.call()
        except Exception:
            torch.cuda.set_stream(caller)
            with contextlib.suppress(Exception):
                numbers = torch.cuda.default_generators[torch.cuda.current_device()]
                numbers.graphsafe_set_state(numbers.clone_state())
            raise
        self.graph = graph


def launches(call, calls):
    """The number of launches for at least this number of calls."""
    return math.ceil(calls / call.calls) if isinstance(call, Captured) else calls


def calls_in(call, count):
    """The number of calls in count launches."""
    return count * call.calls if isinstance(call, Captured) else count


def timed(call, warmup, iters, repeats):
    """Microseconds of a call in each repeat, on the slowest rank."""
    return [max(times) for times in timed_by_rank(call, warmup, iters, repeats)]


def timed_by_rank(call, warmup, iters, repeats):
    """[[microseconds of a call on each rank] of each repeat]. A CUDA graph of several calls is launched less often."""
    count = launches(call, iters)
    for _ in range(launches(call, warmup)):
        call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        mine = torch.tensor([begin.elapsed_time(end) * 1e3 / calls_in(call, count)], device="cuda", dtype=torch.float64)
        every = torch.empty(dist.get_world_size(), device="cuda", dtype=torch.float64)
        dist.all_gather_into_tensor(every, mine)
        times.append(every.tolist())
    return times
