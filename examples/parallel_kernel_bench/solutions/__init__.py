"""Solutions of problems of ParallelKernelBench: each calls the program of a spec in specs/ on the tensors that the problem gives."""

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch.distributed as dist

ROOT = Path(__file__).resolve().parents[3]
SPECS = Path(__file__).resolve().parent.parent / "specs"

# The package of an installed hirgen comes first, then the package of this checkout.
sys.path.append(str(ROOT / "runtime_cpp" / "python"))
if (ROOT / "bin" / "hirgen").exists():
    os.environ.setdefault("HIRGEN", str(ROOT / "bin" / "hirgen"))

import hirgen  # noqa: E402

#: The schedule of every program: chosen by hirgen, and with graph=true, so that PyTorch can capture calls into its own CUDA graphs.
SCHEDULE = ("preset=auto", "graph=true")


@dataclass(frozen=True)
class Solution:
    """A solved problem. The reference and the spec have its name; params gives the parameters of the spec for a number of ranks."""

    name: str
    params: Callable[[int], dict[str, int]]
    call: Callable

    @property
    def number(self) -> int:
        """The number of the problem."""
        return int(self.name.split("_")[0])

    def program(self, ranks: int):
        """The operator of the spec for a number of ranks, built at first use."""
        return operator_of(self, ranks)

    def __call__(self, *arguments):
        """The function that the benchmark calls, with the tensors and numbers of the problem."""
        return self.call(self.program(dist.get_world_size()), *arguments)


SOLUTIONS: dict[int, Solution] = {}


def solves(name: str, params: Callable[[int], dict[str, int]] = lambda ranks: {"D": ranks}):
    """Returns a decorator that registers a function as the solution of a problem. The function takes the program and the arguments of the
    problem."""

    def register(call: Callable) -> Solution:
        solution = Solution(name, params, call)
        SOLUTIONS[solution.number] = solution
        return solution

    return register


def spec_of(name: str) -> Path:
    """The spec of a problem."""
    return SPECS / f"{name}.yaml"


@functools.cache
def operator_of(solution: Solution, ranks: int):
    """The operator of a solution's spec, built at the first call."""
    spec = spec_of(solution.name)
    package = hirgen.load(spec, solution.params(ranks), schedule=SCHEDULE)
    return getattr(package, next(line.split()[1] for line in spec.read_text().splitlines() if line.startswith("name:")))


from . import arguments, collectives, decoding, gemm, losses, moe, optimizers, parallel_layers, ring, science, sequence, vision, vocabulary  # noqa: E402  each module registers its solutions
