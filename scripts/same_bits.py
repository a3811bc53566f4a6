#!/usr/bin/env python3
"""Calls programs many times with the same inputs, and compares the bits of the outputs that `hirgen check` lists as the same on every run.

    torchrun --nproc-per-node 2 scripts/same_bits.py SPEC... [-p M=4096] [--schedule deterministic=true] [--calls 100]

Each call begins after random delays of the ranks, while other work runs on half of the calls. The exit code is 1 if a listed output has
other bits in some call. Without a GPU the programs run on the CPU device.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import zlib

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runtime_cpp/python"))
import hirgen  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("-p", dest="params", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--schedule", action="append", default=[])
    parser.add_argument("--calls", type=int, default=100)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
    wrong = 0
    for spec in args.specs:
        given = {name: int(value) for name, value in (text.split("=") for text in args.params)}
        listed = same_bits(spec, args)
        package = hirgen.load(spec, given, schedule=args.schedule)
        program = package._FORWARD
        others = compare(program, package._operator, device, args.calls)
        if dist.get_rank() == 0:
            for name, count in others.items():
                print(f"{program.name} {name}: other bits in {count} of {args.calls} calls; {'listed' if name in listed else 'not listed'}")
        wrong += sum(count for name, count in others.items() if name in listed)
    dist.destroy_process_group()
    sys.exit(1 if wrong else 0)


def same_bits(spec, args):
    """The outputs that `hirgen check` lists."""
    command = [os.environ.get("HIRGEN", "hirgen"), "check", spec, "--json", *(f"-p={text}" for text in args.params),
               *(f"--schedule={text}" for text in args.schedule)]
    says = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return {output["output"] for output in says["bits"] if not output["why"]}


def compare(program, operator, device, calls):
    """By name of an output: the number of calls whose result has other bits than the first call, on some rank."""
    inputs = [values(tensor, device) for tensor in program.inputs]
    first, others = None, dict.fromkeys([tensor.name for tensor in program.outputs], 0)
    for call in range(calls):
        delay(device, call)
        outputs = operator(*inputs)
        outputs = [None if o is None else o.clone() for o in (outputs if isinstance(outputs, tuple) else (outputs,))]
        first = first or outputs
        counts = torch.tensor([float(a is not None and not same(a, b)) for a, b in zip(first, outputs, strict=True)], device=device)
        dist.all_reduce(counts)
        for name, count in zip(others, counts.tolist(), strict=True):
            others[name] += count > 0
    return others


def values(tensor, device):
    """Normal or small integer values, the same on all ranks that have the same part of a tensor. None on a rank that has no part."""
    if tensor.ranks and dist.get_rank() not in tensor.ranks:
        return None
    torch.manual_seed(zlib.crc32(tensor.name.encode()))
    floats = tensor.dtype.is_floating_point
    whole = torch.randn(tensor.whole, device=device) if floats else torch.randint(0, 4, tensor.whole, device=device)
    for split in tensor.splits:
        size = tensor.shape[split.axis]
        whole = whole.narrow(split.axis, split.part(dist.get_rank()) * size, size)
    return whole.to(tensor.dtype).contiguous()


def delay(device, call):
    """Lets this rank begin up to a millisecond late and, in every second call, keeps the GPU busy with other work."""
    wait = random.Random(call * 1000 + dist.get_rank()).random()
    if device.type == "cpu":
        time.sleep(wait / 1000)
        return
    torch.cuda._sleep(int(wait * 1e6))
    if call % 2:
        with torch.cuda.stream(torch.cuda.Stream()):
            square = torch.ones(2048, 2048, device=device)
            for _ in range(8):
                square = square @ square


def same(a, b):
    """Whether two tensors have the same bits."""
    return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


if __name__ == "__main__":
    main()
