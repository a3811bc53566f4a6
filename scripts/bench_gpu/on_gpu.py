"""Helpers of peers.py and products.py: tensors on this rank's GPU, and timing."""
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


def timed(call, warmup, iters, repeats):
    """Microseconds of a call in each repeat, on the slowest rank."""
    return [max(times) for times in timed_by_rank(call, warmup, iters, repeats)]


def timed_by_rank(call, warmup, iters, repeats):
    """The same for each rank: a list of all ranks' times for each repeat."""
    for _ in range(warmup):
        call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(iters):
            call()
        end.record()
        torch.cuda.synchronize()
        mine = torch.tensor([begin.elapsed_time(end) * 1e3 / iters], device="cuda", dtype=torch.float64)
        every = torch.empty(dist.get_world_size(), device="cuda", dtype=torch.float64)
        dist.all_gather_into_tensor(every, mine)
        times.append(every.tolist())
    return times
