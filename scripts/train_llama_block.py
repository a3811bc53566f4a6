#!/usr/bin/env python3
"""Trains a Llama block with AdamW, by hirgen and by plain PyTorch from the same weights. PyTorch runs eagerly, compiled, and on
GPUs with async-TP if rows are split. Prints the first and last loss, the largest relative difference from eager PyTorch, and
milliseconds a step. Each step runs on all blocks before the next step begins.

  torchrun --nproc-per-node 2 scripts/train_llama_block.py                            # the size of Llama 3 8B, on GPUs.
  torchrun --nproc-per-node 2 scripts/train_llama_block.py --spec llama_block_sp      # with sequence parallelism.
  torchrun --nproc-per-node 2 scripts/train_llama_block.py --quantize                 # with GEMMs of 8 bits.
  torchrun --nproc-per-node 2 scripts/train_llama_block.py -p L=16 -p H=4 -p G=2 -p C=8    # small, also without a GPU.

It needs the program hirgen (PATH or $HIRGEN), and runtime_cpp/python installed or in PYTHONPATH. The exit code is 1 if hirgen's losses
do not fall, or if their relative difference from eager PyTorch exceeds 1e-2 in bf16 or 1e-5 in fp32. A PyTorch block that fails
this test only causes a message. With --quantize both sides use GEMMs of 8 bits. Their losses are compared with
the losses of eager PyTorch without quantization. The exit code is 1 if the mean difference of hirgen is over 1.1 times the mean
difference of PyTorch.
"""

import argparse
import os
import re
import statistics
import tempfile
import time
from pathlib import Path

import fp8_linear
import hirgen
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F

SPECS = Path(__file__).parents[1] / "testdata" / "specs"
SIZES = {"B": 1, "L": 4096, "H": 32, "G": 8, "C": 128}
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
FARTHEST = {"bf16": 1e-2, "fp32": 1e-5}
RATE = 3e-4  # learning rate of AdamW
HIRGEN = "hirgen"
QUANTIZED = "PyTorch, 8 bits, compiled"
FARTHER = 1.1  # mean difference of the losses of GEMMs of 8 bits, as a multiple of PyTorch's


class Summed(torch.autograd.Function):
    """The identity, before a split operation on a replicated tensor. The backward pass sums the gradient over ranks."""

    @staticmethod
    def forward(ctx, X):
        return X.view_as(X)

    @staticmethod
    def backward(ctx, slope):
        return funcol.all_reduce(slope.contiguous(), "sum", dist.group.WORLD)


class Sum(torch.autograd.Function):
    """The sum of the ranks' partial sums."""

    @staticmethod
    def forward(ctx, part):
        return funcol.all_reduce(part.contiguous(), "sum", dist.group.WORLD)

    @staticmethod
    def backward(ctx, slope):
        return slope


class Gather(torch.autograd.Function):
    """The rows of all ranks."""

    @staticmethod
    def forward(ctx, X):
        return funcol.all_gather_tensor(X.contiguous(), 0, dist.group.WORLD)

    @staticmethod
    def backward(ctx, slope):
        return funcol.reduce_scatter_tensor(slope.contiguous(), "sum", 0, dist.group.WORLD)


class Scatter(torch.autograd.Function):
    """This rank's rows of the sum of the ranks' partial sums."""

    @staticmethod
    def forward(ctx, part):
        return funcol.reduce_scatter_tensor(part.contiguous(), "sum", 0, dist.group.WORLD)

    @staticmethod
    def backward(ctx, slope):
        return funcol.all_gather_tensor(slope.contiguous(), 0, dist.group.WORLD)


class Plain(torch.nn.Module):
    """The block of one rank in plain PyTorch, with copies of another module's parameters."""

    def __init__(self, like, size, ranks, rows_are_split, linear=F.linear):
        super().__init__()
        self.linear = linear
        self.size, self.heads, self.groups = size, size["H"] // ranks, size["G"] // ranks
        self.enter, self.leave, self.vector = Summed.apply, Sum.apply, lambda gamma: gamma
        if rows_are_split:
            self.enter, self.leave, self.vector = Gather.apply, Scatter.apply, Summed.apply
        for name, weight in like.named_parameters():
            self.register_parameter(name, torch.nn.Parameter(weight.detach().clone()))
        angles = torch.outer(torch.arange(size["L"]), 500000 ** (-torch.arange(0, size["C"], 2) / size["C"]))
        self.register_buffer("cos", angles.cos().to(like.Wo.device))
        self.register_buffer("sin", angles.sin().to(like.Wo.device))

    def rope(self, X):
        first, second = X.float().chunk(2, dim=-1)
        turned = torch.cat((first * self.cos - second * self.sin, second * self.cos + first * self.sin), dim=-1)
        return turned.to(X.dtype)

    def norm(self, X, gamma):
        return self.enter(F.rms_norm(X, X.shape[-1:], self.vector(gamma), 1e-5))

    def forward(self, X):
        B, L, C = self.size["B"], self.size["L"], self.size["C"]
        Wqkv, Wo, Wg, Wu, W2 = (W.flatten(0, -2) for W in (self.Wqkv, self.Wo, self.Wg, self.Wu, self.W2))
        heads = (self.heads, self.groups, self.groups)
        parts = self.linear(self.norm(X, self.gamma1), Wqkv).split([n * C for n in heads], dim=-1)
        Q, K, V = (part.view(B, L, n, C).transpose(1, 2) for part, n in zip(parts, heads))
        attended = F.scaled_dot_product_attention(self.rope(Q), self.rope(K), V, is_causal=True, enable_gqa=True)
        X = X + self.leave(self.linear(attended.transpose(1, 2).reshape(B * L, -1), Wo))
        U = self.norm(X, self.gamma2)
        return X + self.leave(self.linear(F.silu(self.linear(U, Wg)) * self.linear(U, Wu), W2))


class Training:
    """A block with its optimizer, losses and times. X has a gradient, as within a model."""

    def __init__(self, block, X, target):
        self.block, self.X, self.target = block, X.clone().requires_grad_(), target
        self.optimizer = torch.optim.AdamW(block.parameters(), lr=RATE, fused=X.is_cuda)
        self.losses, self.times = [], []

    def step(self, wait):
        wait()
        start = time.perf_counter()
        loss = F.mse_loss(self.block(self.X).float(), self.target)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.X.grad = None
        wait()
        self.times.append((time.perf_counter() - start) * 1e3)
        self.losses.append(loss.item())

    def milliseconds(self):
        """The median time of the steps in the second half."""
        return statistics.median(self.times[len(self.times) // 2 :])


def loaded(options, size, ranks, device):
    """The loaded package of the spec, with its gradient."""
    spec = SPECS / options.spec / "spec.yaml"
    with tempfile.TemporaryDirectory() as folder:
        text = spec.read_text().replace("dtype: bf16", f"dtype: {options.dtype}")
        if options.quantize:
            text = re.sub(r"(= linear\([^)]*)\)", r"\1, quantize=fp8_e4m3)", text)
        if text != spec.read_text():
            spec = Path(folder) / "spec.yaml"
            spec.write_text(text)
        return hirgen.load(spec, {"D": ranks, **size}, schedule=options.schedule, gradient=True, device=device.type)


def draw(layer, rank):
    """Initializes the weights. Norm weights are the same on every rank and remain so during training."""
    for index, (name, weight) in enumerate(layer.named_parameters()):
        seed = index if name.startswith("gamma") else 100 * (rank + 1) + index
        drawn = torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
        weight.data.copy_(1 + drawn / 10 if name.startswith("gamma") else drawn * 0.02)


def blocks(layer, size, ranks, options, device):
    """The blocks to train, by name. The first is the reference for the comparison."""
    rows_are_split = options.spec.endswith("_sp")
    plain = Plain(layer, size, ranks, rows_are_split)

    def compiled(linear=F.linear, **settings):
        block = Plain(plain, size, ranks, rows_are_split, linear)
        if device.type == "cpu":
            return torch.compile(block, backend="aot_eager")
        return torch.compile(block, dynamic=False, options=settings)

    if options.quantize:
        return {"PyTorch, eager": plain, QUANTIZED: compiled(fp8_linear.Linear.apply), HIRGEN: layer}
    made = {"PyTorch, eager": plain, "PyTorch, compiled": compiled()}
    if rows_are_split and device.type == "cuda":
        from torch.distributed._symmetric_memory import enable_symm_mem_for_group

        enable_symm_mem_for_group(dist.group.WORLD.group_name)
        made["PyTorch, async-TP"] = compiled(_micro_pipeline_tp=True)
    return made | {HIRGEN: layer}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", action="append", default=[], metavar="NAME=VALUE", help="a size: " + ", ".join(SIZES))
    parser.add_argument("--spec", choices=["llama_block", "llama_block_sp"], default="llama_block")
    parser.add_argument("--dtype", choices=TYPES, default="bf16")
    parser.add_argument("--quantize", action="store_true", help="GEMMs of 8 bits, with a scale for each row")
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
    made = loaded(options, size, ranks, device)
    layer = made.Layer(device)
    draw(layer, rank)
    shape = layer.activations[0].shape
    generator = torch.Generator().manual_seed(7 + rank * options.spec.endswith("_sp"))
    X, target = (torch.randn(shape, generator=generator).to(device) for _ in range(2))
    trained = {name: Training(block, X.to(TYPES[options.dtype]), target)
               for name, block in blocks(layer, size, ranks, options, device).items()}
    wait = torch.cuda.synchronize if cuda else (lambda: None)
    for _ in range(options.steps):
        for training in trained.values():
            training.step(wait)
    eager, failed, mean = trained["PyTorch, eager"], [], {}
    for name, training in trained.items():
        losses = training.losses
        differences = [abs(a - b) for a, b in zip(losses, eager.losses)]
        mean[name], apart = statistics.mean(differences), max(a / abs(b) for a, b in zip(differences, eager.losses))
        if rank == 0:
            print(f"{name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, at most {apart:.1e} from eager, mean difference {mean[name]:.1e}, "
                  f"{training.milliseconds():.3f} ms a step")
        far = mean[name] > FARTHER * mean[QUANTIZED] if QUANTIZED in mean else apart > FARTHEST[options.dtype]
        if not losses[-1] < losses[0] or far:
            message = f"rank {rank}: {name}: the losses do not fall, or are not those of eager PyTorch: {losses}"
            if name == HIRGEN:
                failed.append(message)
            elif rank == 0:
                print(message)
    made.close(device)
    dist.destroy_process_group()
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
