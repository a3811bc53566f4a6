#!/usr/bin/env python3
"""Trains a Llama block (testdata/specs/llama_block) for some steps with AdamW, and the same block in plain PyTorch, eager and
compiled, from the same weights: losses of each step, how far they are apart, and milliseconds a step.

  torchrun --nproc-per-node 2 scripts/train_llama_block.py                            # the size of Llama 3 8B, on GPUs
  torchrun --nproc-per-node 2 scripts/train_llama_block.py -p L=16 -p H=4 -p G=2 -p C=8    # small, also without a GPU

It needs the program hirgen (PATH or $HIRGEN), and runtime_cpp/python installed or in PYTHONPATH.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import hirgen
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F

SPEC = Path(__file__).parents[1] / "testdata" / "specs" / "llama_block" / "spec.yaml"
SIZES = {"B": 1, "L": 4096, "H": 32, "G": 8, "C": 128}


class Enter(torch.autograd.Function):
    """Where a whole tensor meets split weights: its gradient is the sum over the ranks."""

    @staticmethod
    def forward(ctx, X):
        return X.view_as(X)

    @staticmethod
    def backward(ctx, slope):
        return funcol.all_reduce(slope.contiguous(), "sum", dist.group.WORLD)


class Leave(torch.autograd.Function):
    """The sum of the ranks' parts."""

    @staticmethod
    def forward(ctx, part):
        return funcol.all_reduce(part.contiguous(), "sum", dist.group.WORLD)

    @staticmethod
    def backward(ctx, slope):
        return slope


class Plain(torch.nn.Module):
    """The block of one rank in plain PyTorch, with the parameters of another module."""

    def __init__(self, like, size, ranks):
        super().__init__()
        self.size, self.heads, self.groups = size, size["H"] // ranks, size["G"] // ranks
        for name, weight in like.named_parameters():
            self.register_parameter(name, torch.nn.Parameter(weight.detach().clone()))
        angles = torch.outer(torch.arange(size["L"]), 500000 ** (-torch.arange(0, size["C"], 2) / size["C"]))
        self.register_buffer("cos", angles.cos().to(like.Wo.device))
        self.register_buffer("sin", angles.sin().to(like.Wo.device))

    def rope(self, X):
        first, second = X.float().chunk(2, dim=-1)
        turned = torch.cat((first * self.cos - second * self.sin, second * self.cos + first * self.sin), dim=-1)
        return turned.to(X.dtype)

    def forward(self, X):
        B, L, C = self.size["B"], self.size["L"], self.size["C"]
        qkv = F.linear(Enter.apply(F.rms_norm(X, X.shape[-1:], self.gamma1, 1e-5)), self.Wqkv)
        heads = (self.heads, self.groups, self.groups)
        parts = qkv.split([n * C for n in heads], dim=-1)
        Q, K, V = (part.view(B, L, n, C).transpose(1, 2) for part, n in zip(parts, heads))
        attended = F.scaled_dot_product_attention(self.rope(Q), self.rope(K), V, is_causal=True, enable_gqa=True)
        X = X + Leave.apply(F.linear(attended.transpose(1, 2).reshape(B * L, -1), self.Wo))
        U = Enter.apply(F.rms_norm(X, X.shape[-1:], self.gamma2, 1e-5))
        return X + Leave.apply(F.linear(F.silu(F.linear(U, self.Wg)) * F.linear(U, self.Wu), self.W2))


def train(block, X, target, steps, wait):
    """Losses of the steps, and milliseconds of the later half's median."""
    optimizer = torch.optim.AdamW(block.parameters(), lr=1e-3)
    losses, times = [], []
    for _ in range(steps):
        wait()
        start = time.perf_counter()
        loss = F.mse_loss(block(X).float(), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
        losses.append(loss.item())
    return losses, statistics.median(times[steps // 2 :])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", action="append", default=[], metavar="NAME=VALUE", help="a size: " + ", ".join(SIZES))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--schedule", action="append", default=[], help="as --schedule of hirgen emit")
    options = parser.parse_args()
    size = SIZES | {name: int(value) for name, value in (setting.split("=") for setting in options.p)}

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    made = hirgen.load(SPEC, {"D": ranks, **size}, schedule=options.schedule, gradient=True, device=device.type)
    layer = made.Layer(device)
    for index, (name, weight) in enumerate(layer.named_parameters()):
        # The norms' weights are whole on every rank, and stay the same there.
        seed = index if name.startswith("gamma") else 100 * (rank + 1) + index
        drawn = torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
        weight.data.copy_(1 + drawn / 10 if name.startswith("gamma") else drawn * 0.02)
    shape, dtype = layer.activations[0].shape, layer.activations[0].dtype
    generator = torch.Generator().manual_seed(7)
    X, target = (torch.randn(shape, generator=generator).to(device) for _ in range(2))
    plain = Plain(layer, size, ranks)
    blocks = {
        "PyTorch, eager": plain,
        "PyTorch, compiled": torch.compile(Plain(plain, size, ranks), backend="inductor" if cuda else "aot_eager"),
        "hirgen": layer,
    }
    wait = torch.cuda.synchronize if cuda else (lambda: None)
    first = None
    for name, block in blocks.items():
        losses, milliseconds = train(block, X.to(dtype), target, options.steps, wait)
        first = first or losses
        apart = max(abs(a - b) / abs(b) for a, b in zip(losses, first))
        if rank == 0:
            print(f"{name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, at most {apart:.1e} from eager, {milliseconds:.3f} ms a step")
        if losses[-1] >= losses[0] or apart > 1e-2:
            raise SystemExit(f"rank {rank}: {name}: the losses do not fall, or are not those of eager PyTorch: {losses}")
    made.close(device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
