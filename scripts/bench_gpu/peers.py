#!/usr/bin/env python3
"""PyTorch's implementations of the operations of cells.py, timed as an emitted program times itself.

Each rank is a process with torchrun's environment. All ranks read the same commands from standard input, one JSON object a line,
and rank 0 answers with lines that begin with "PEER". runs.py is the other end.

operation_peers.py has the peers of the operations, and layer_peers.py the peers of layers. products.py adds the GEMMs alone, whole and
split, and while copies run.

Data are random normal bf16 and in place before the clock starts. After warm-up calls, CUDA events measure back-to-back calls, as
in the driver of an emitted program. CUDA graphs hold as many calls as the program's. A time is the mean of a call on the slowest
rank. The host waits for the device only between repeats, and all ranks start a repeat together.
"""
import json
import math
import os
import sys
import time

# NVLink multicast stays off unless the user asks for it, as in emitted programs.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._symmetric_memory as symm_mem  # noqa: E402

import bounds  # noqa: E402
import layer_peers  # noqa: E402
import operation_peers  # noqa: E402
import products  # noqa: E402
import tables  # noqa: E402
from on_gpu import calls_in, launches, normal, timed, timed_by_rank  # noqa: E402


WARM_SECONDS = 0.4


class Server:
    """Holds the tensors of one cell and times its peers."""

    def __init__(self, group):
        self.group, self.calls, self.exact, self.farthest = group, {}, None, 0

    def load(self, operation, calls_per_graph=1, **sizes):
        """Replaces the cell and returns the names of its peers. The peers of a layer still need a trial each."""
        self.calls, self.exact = {}, None
        torch.compiler.reset()  # after eight sizes of a function, torch.compile would run it eagerly
        torch.cuda.empty_cache()
        torch.manual_seed(self.group.rank())
        if operation in layer_peers.LAYERS:
            self.calls, reference, self.farthest = layer_peers.load(operation, self.group, calls_per_graph, **sizes)
            self.exact = reference()
        else:
            self.calls = operation_peers.load(operation, self.group, calls_per_graph, **sizes)
        return {"peers": list(self.calls)}

    def attention(self, operation, **sizes):
        """Times the attention kernels and chooses one for the layer that is loaded next. Nothing else may run on the GPUs meanwhile."""
        return {"attention": layer_peers.choose_attention(*layer_peers.make(operation, self.group, sizes))}

    def trial(self, peer):
        """Makes the first calls of a layer's peer, which compile it if it is to be compiled. Returns the distance of its results from
        the fp32 results and its memory, or the reason why it is refused."""
        call, begin = self.calls[peer], time.monotonic()
        try:
            call()
            torch.cuda.synchronize()
            seconds = time.monotonic() - begin
            error = None if peer in tables.COMPUTE else layer_peers.distance(call(), self.exact)
            if error is not None and not error < self.farthest:
                return {"refused": f"its results are {error:.3g} of their norm away from those in fp32"}
            return {"error": error, "memory_bytes": self.memory(call), "first_seconds": seconds}
        except Exception as error:  # noqa: BLE001
            return {"refused": reason(error), "broken": not is_sound()}

    @staticmethod
    def memory(call):
        """The memory of a call, or None if PyTorch's undocumented functions fail."""
        try:
            return layer_peers.memory(call)
        except Exception as error:  # noqa: BLE001
            print(reason(error), file=sys.stderr, flush=True)
            return None

    def bounds(self, operations, m, n, k, seconds, rounds):
        """Measures the bounds of a shape: each measurement takes about seconds in each round, and rounds alternate between two orders. A
        round begins with the whole GEMM for about WARM_SECONDS, to bring the GPUs to a steady temperature."""
        self.calls = {}
        torch.cuda.empty_cache()
        try:
            calls = products.calls(self.group, m, n, k, operations)
            iters = {name: max(3, math.ceil(seconds * 1e6 / timed(call, 1, 2, 1)[0])) for name, call in calls.items()}
            times = {name: [] for name in calls}
            for i in range(rounds):
                busy, idle = bounds.turn(list(calls), back=i % 2 == 1)
                timed(calls[bounds.product(1)], 0, math.ceil(WARM_SECONDS / seconds) * iters[bounds.product(1)], 1)
                for name in busy + idle:
                    times[name] += timed(calls[name], iters[name] // 2, iters[name], 1)
            return {"items": {name: {"us": us, "iters": iters[name]} for name, us in times.items()}}
        except Exception as error:  # noqa: BLE001
            return {"skipped": reason(error)}

    def time(self, peer, warmup, iters, repeats):
        """Times a peer. If it refuses the shape, which it does on all ranks alike, the answer has the reason, and whether it broke the process."""
        self.exact = None
        try:
            by_rank = timed_by_rank(self.calls[peer], warmup, iters, repeats)
            return {"us": [max(times) for times in by_rank], "by_rank": by_rank}
        except Exception as error:  # noqa: BLE001
            return {"refused": reason(error), "broken": not is_sound()}

    def profile(self, peer, count):
        """The kernels on this rank's GPU in at least count calls of a peer, [(kernel, begin, end)] in us, and how many calls these are."""
        try:
            call = self.calls[peer]
            times = launches(call, count)
            for _ in range(2):
                call()
            torch.cuda.synchronize()
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as run:
                for _ in range(times):
                    call()
                torch.cuda.synchronize()
            events = [event for event in run.events() if event.device_type == torch.autograd.DeviceType.CUDA]
            return {"kernels": [(event.name, event.time_range.start, event.time_range.end) for event in events],
                    "calls": calls_in(call, times)}
        except Exception as error:  # noqa: BLE001
            return {"refused": reason(error)}

    def serve(self):
        """Answers commands until the input ends."""
        answer({"torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                "memory_bytes": torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory})
        for line in sys.stdin:
            command = json.loads(line)
            answer(getattr(self, command.pop("do"))(**command))


def is_sound():
    """Whether the process can go on after an error: after a fault all its later work on the GPU fails."""
    try:
        return normal(1).isfinite().all().item()
    except Exception as error:  # noqa: BLE001
        print(reason(error), file=sys.stderr, flush=True)
        return False


def reason(error):
    """An exception as one line, with its cause: the end of a failed capture is an error, too."""
    text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
    return text if error.__context__ is None else f"{text}, after {reason(error.__context__)}"


def answer(message):
    """Prints an answer, on rank 0 only."""
    if dist.get_rank() == 0:
        print("PEER " + json.dumps(message), flush=True)


def main():
    """Joins the group, then serves."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    symm_mem.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    Server(dist.group.WORLD).serve()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
