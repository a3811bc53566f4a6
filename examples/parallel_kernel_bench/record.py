"""Records what references of ParallelKernelBench compute for small inputs, so that tests can compare without PyTorch.

    torchrun --standalone --nproc-per-node=2 examples/parallel_kernel_bench/record.py BENCH [PROBLEM...] [--out FOLDER]

BENCH is a checkout of https://github.com/togethercomputer/ParallelKernelBench. The ranks run on the CPU and build nothing: the solution
calls a stand-in for the program, which records its inputs and returns tensors. Every result of the solution shares the memory of these
tensors, and gets the values of the reference's result. The tensors then have the outputs that the program must compute.

FOLDER/NAME.safetensors has the whole inputs and outputs of the program of specs/NAME.yaml. Its metadata are the parameters of the spec,
and for each tensor the axis that is split over the ranks, or -1. An all-to-all changes only this axis: its whole output equals its whole
input.

Each rank draws the inputs of all ranks, with a seed that depends on the problem alone, so a second run writes the same files.
"""

import argparse
import functools
import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.utils._pytree as pytree
from torch.overrides import TorchFunctionMode

HERE = Path(__file__).resolve().parent
TYPES = {  # from names in hirgen to types of PyTorch and names in files
    "fp32": (torch.float32, "F32"), "bf16": (torch.bfloat16, "BF16"), "int32": (torch.int32, "I32"), "int64": (torch.int64, "I64"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("problems", type=int, nargs="*", help="numbers; by default all that have inputs here")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    dist.init_process_group("gloo")
    dist.all_to_all = all_to_all
    torch.cuda.current_device = lambda: "cpu"
    args.out.mkdir(exist_ok=True)
    for number in args.problems or sorted(INPUTS):
        with torch.no_grad(), OnCPU():
            record(args.bench, number, args.out)
    dist.destroy_process_group()


def all_to_all(received: list[torch.Tensor], sent: list[torch.Tensor], group=None) -> None:
    """The collective, which gloo does not have."""
    whole = [None] * dist.get_world_size(group)
    dist.all_gather_object(whole, sent, group=group)
    for tensor, of_rank in zip(received, whole, strict=True):
        tensor.copy_(of_rank[dist.get_rank(group)])


class OnCPU(TorchFunctionMode):
    """Makes tensors on the CPU where a reference names a GPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


def record(bench: Path, number: int, out: Path) -> None:
    """Writes the file of a problem."""
    from solutions import SOLUTIONS, spec_of

    solution, ranks = SOLUTIONS[number], dist.get_world_size()
    found = importlib.util.spec_from_file_location(f"reference_{number}", bench / "reference" / f"{solution.name}.py")
    reference = importlib.util.module_from_spec(found)
    found.loader.exec_module(reference)
    draw = Draw(number, ranks, dist.get_rank())
    sizes, arguments = INPUTS[number](draw)
    stand_in = StandIn(spec_of(solution.name), {"D": ranks} | sizes)
    copied = pytree.tree_map_only(torch.Tensor, torch.clone, arguments)  # some references change their arguments
    want = pytree.tree_leaves(reference.solution(*copied))
    for mine, theirs in zip(pytree.tree_leaves(solution.call(stand_in, *arguments)), want, strict=True):
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            raise ValueError(f"{solution.name} returns {mine.dtype}{list(mine.shape)}, the reference {theirs.dtype}{list(theirs.shape)}")
        mine.copy_(theirs)
    if any(output.isnan().any() for output in stand_in.outputs):
        raise ValueError(f"{solution.name} does not return all elements of the program's outputs")
    wholes = {tensor.name: tensor.joined(part) for tensor, part in stand_in.parts()}
    axes = {tensor.name: tensor.axis for tensor, _ in stand_in.parts()}
    if draw.rank == 0:
        save(out / f"{solution.name}.safetensors", wholes, {"params": stand_in.params, "axes": axes})


@dataclass(frozen=True)
class Tensor:
    """An input or output of a program. `axis` is split over the ranks; it is -1 if all ranks have the tensor."""

    name: str
    dtype: torch.dtype
    part: list[int]  # the shape on a rank, where the split axis is 1
    axis: int

    @property
    def shape(self) -> list[int]:
        """The shape of a part in PyTorch, without the split axis."""
        return [size for axis, size in enumerate(self.part) if axis != self.axis]

    def joined(self, part: torch.Tensor) -> torch.Tensor:
        """The tensor of all ranks."""
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, part.reshape(self.part))
        if self.axis >= 0:
            return torch.cat(parts, self.axis)
        if any(not torch.equal(other, parts[0]) for other in parts):
            raise ValueError(f"the ranks have different {self.name}")
        return parts[0]


class StandIn:
    """Takes the inputs of a program, and returns outputs that have no values yet."""

    def __init__(self, spec: Path, params: dict[str, int]):
        flags = [flag for name, value in params.items() for flag in ("-p", f"{name}={value}")]
        checked = json.loads(subprocess.check_output([os.environ.get("HIRGEN", "hirgen"), "check", spec, "--json", *flags]))
        self.params, self._tensors = params, {"input": [], "output": []}
        for found in checked["tensors"]:
            if found["role"] in self._tensors:
                split = [i for i, text in enumerate(found["axes"]) if text.startswith("DID")]
                if len(split) > 1:
                    raise ValueError(f"{found['name']} is split along several axes of the mesh")
                tensor = Tensor(found["name"], TYPES[found["dtype"]][0], found["local_shape"], *split or [-1])
                self._tensors[found["role"]].append(tensor)

    def __call__(self, *inputs: torch.Tensor):
        for tensor, given in zip(self._tensors["input"], inputs, strict=True):
            if (tensor.dtype, tensor.shape) != (given.dtype, list(given.shape) or [1]):
                raise ValueError(f"{tensor.name} must be {tensor.dtype}{tensor.shape}, not {given.dtype}{list(given.shape)}")
        self.inputs = [given.clone() for given in inputs]
        self.outputs = [torch.full(tensor.shape, float("nan"), dtype=tensor.dtype) for tensor in self._tensors["output"]]
        return self.outputs[0] if len(self.outputs) == 1 else tuple(self.outputs)

    def parts(self) -> list[tuple[Tensor, torch.Tensor]]:
        """The tensors of the call, with the part of this rank."""
        return list(zip(self._tensors["input"] + self._tensors["output"], self.inputs + self.outputs, strict=True))


def save(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, dict[str, int]]) -> None:
    """Writes a file of safetensors, whose metadata are strings."""
    header = {"__metadata__": {name: json.dumps(value) for name, value in metadata.items()}}
    data = [bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist()) for tensor in tensors.values()]
    ends = list(itertools.accumulate(map(len, data)))
    names = dict(TYPES.values())
    for (name, tensor), part, end in zip(tensors.items(), data, ends, strict=True):
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end - len(part), end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes", flush=True)


class Draw:
    """Random tensors: `whole` returns the same tensor on all ranks, and `own` a different one on each rank."""

    def __init__(self, number: int, ranks: int, rank: int):
        self._generator = torch.Generator().manual_seed(number)
        self.ranks, self.rank = ranks, rank

    def whole(self, *shape: int, scale: float = 1, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        """A tensor of normal values."""
        return (scale * torch.randn(shape, generator=self._generator)).to(dtype)

    def own(self, *shape: int, **settings) -> torch.Tensor:
        """The rank's tensor of normal values."""
        return self.whole(self.ranks, *shape, **settings)[self.rank].clone()

    def integers(self, below: int, *shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        """A tensor of whole numbers whose absolute values are less than `below`. Those of int64 are indices, and not negative."""
        least = 0 if dtype == torch.int64 else 1 - below
        return torch.randint(least, below, shape, generator=self._generator).to(dtype)

    def own_integers(self, below: int, *shape: int, **settings) -> torch.Tensor:
        """The rank's tensor of whole numbers."""
        return self.integers(below, self.ranks, *shape, **settings)[self.rank].clone()


#: For each problem, a function that draws the arguments of the reference. It also returns the parameters of the spec, except D.
INPUTS: dict[int, Callable[[Draw], tuple[dict[str, int], tuple]]] = {}


def inputs(number: int):
    """Registers the inputs of a problem. Some are small multiples of a power of two, so that sums of their products are exact in bf16."""
    return functools.partial(INPUTS.setdefault, number)


@inputs(8)
def alltoall(draw: Draw):
    return {"M": 6, "N": 10}, (draw.own(draw.ranks, 6, 10),)


@inputs(10)
def embedding(draw: Draw):
    rows = 24  # rows of the table on a rank, and rows that a rank looks up
    return {"M": rows, "N": 10}, (draw.own_integers(draw.ranks * rows, rows, dtype=torch.int64), draw.own(rows, 10))


@inputs(16)
def gemm_reducescatter(draw: Draw):
    inner = 12
    return {"M": 16, "N": 20, "K": draw.ranks * inner}, (draw.own_integers(4, 16, inner), draw.own_integers(4, inner, 20))


@inputs(18)
def rms_norm(draw: Draw):
    # Rows have different magnitudes, and so have the ranks' parts.
    rows = torch.logspace(-1, 1, 16).view(-1, 1)
    hidden = (rows * draw.own(16, 24, dtype=torch.float32) * (1 + draw.rank)).to(torch.bfloat16)
    return {"M": 16, "N": 24}, (hidden, draw.own(24), 1e-5)


@inputs(31)
def moe(draw: Draw):
    tokens, hidden, inner, experts = 12, 16, 20, 8

    def linear(columns: int, rows: int, unit: float) -> torch.nn.Linear:
        layer = torch.nn.Linear(columns, rows, dtype=torch.bfloat16)
        layer.weight.copy_(unit * draw.own_integers(3, rows, columns))
        layer.bias.copy_(unit * draw.own_integers(3, rows))
        return layer

    layers = linear(hidden, inner, 1 / 8), linear(hidden, inner, 1 / 8), linear(inner, hidden, 1 / 8)
    # The logits of a token are exact in bf16, and all different because of the bias: rounding does not choose an expert.
    router = draw.own_integers(3, experts, hidden) / 4, (torch.arange(experts).roll(draw.rank) / 32).to(torch.bfloat16)
    return {"M": tokens, "N": hidden, "E": experts, "K": 2, "I": inner}, (draw.own_integers(3, tokens, hidden), *router, *layers, experts, 2, None)


@inputs(43)
def adam(draw: Draw):
    # A change is about as large as a weight, and no term of a moment is small next to the other, so that an error in any of them shows.
    gradient, weights, mean = (draw.own(96, scale=scale) for scale in (0.5, 3e-3, 0.2))
    variance = draw.own(96, scale=0.03).square()
    return {"P": 96}, (gradient, weights, mean, variance, 1e-3, 0.9, 0.999, 1e-8, 3)


@inputs(54)
def attention(draw: Draw):
    batch, rows, heads, size = 2, 6, 2, 8
    sizes = {"B": batch, "L": draw.ranks * rows, "H": heads, "C": size}
    return sizes, (*(draw.own(batch, rows, heads, size) for _ in range(3)), None, True, None)


@inputs(59)
def rfft(draw: Draw):
    batch, rows, columns = 2, 8, 24
    x = draw.own(batch, rows, columns // draw.ranks, dtype=torch.float32)
    return {"N": batch // 2, "H1": 2, "H2": rows // 2, "W1": 4, "W2": columns // 4}, (x, (rows, columns), (1, 2), "ortho")


@inputs(60)
def irfft(draw: Draw):
    batch, channels, rows, columns = 2, 1, 12, 24
    whole = torch.fft.rfft2(draw.whole(batch, channels, rows, columns, dtype=torch.float32), norm="ortho")
    x = whole.chunk(draw.ranks, dim=2)[draw.rank].clone()
    return {"N": batch * channels // 2, "H1": 4, "H2": rows // 4, "W1": 6, "W2": columns // 6}, (x, (rows, columns), (-2, -1), "ortho")


@inputs(73)
def cross_entropy(draw: Draw):
    sequences, tokens, words = 2, 8, 24
    target = draw.integers(words, sequences, tokens, dtype=torch.int64)
    return {"M": sequences * tokens, "V": words}, (draw.own(sequences, tokens, words // draw.ranks, scale=2), target, None)


@inputs(87)
def conv2d(draw: Draw):
    channels, rows, columns = 4, 6, 10
    weight, bias = draw.integers(3, channels, channels, 3, 3), draw.integers(9, channels)
    return {"C": channels, "H": rows, "W": columns}, (draw.own_integers(3, 1, channels, rows, columns), weight, bias, 1, 1, None)


if __name__ == "__main__":
    main()
