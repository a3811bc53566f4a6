"""The placements of layer_moves.py with GEMMs of 8 bits. Each GEMM quantizes its operands with a scale for each row, along the axis that it
sums over, in compiled functions: the recipe of fp8_linear.py, and of `quantize=fp8_e4m3` in hirgen's specs. Ranks gather quantized rows
with their scales where only one GEMM reads them. Sums over ranks are in bf16."""
import pathlib
import sys

import torch

from layer_moves import Eager, Split, Whole, moves

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import fp8_linear  # noqa: E402
from fp8_linear import multiplied  # noqa: E402

torch._dynamo.config.recompile_limit = 64  # a block quantizes tensors of more shapes than the default allows

rows_of = torch.compile(lambda matrix: fp8_linear.quantized(matrix.contiguous()), dynamic=False)
columns_of = torch.compile(lambda matrix: fp8_linear.quantized(matrix.t().contiguous()), dynamic=False)


def weight_gradient(rows, grad, matrix):
    """The gradient of the matrix in rows @ matrix, with the layout of the matrix. The GEMM sums over rows, so both operands are turned."""
    if matrix.is_contiguous():
        return multiplied(*columns_of(rows), *columns_of(grad))
    return multiplied(*columns_of(grad), *columns_of(rows)).t()


def linear(gather, scatter, multiply_into, multiply_out):
    """(into, out) with gradients. into is gather(rows) @ matrix, out is scatter(rows @ matrix). multiply_into and multiply_out compute
    these from quantized rows and the quantized transpose of the matrix."""
    class Into(torch.autograd.Function):
        """gather(rows) @ matrix."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Quantizes, gathers and multiplies. The gradient of the matrix needs all rows, unquantized."""
            if ctx.needs_input_grad[0]:
                ctx.save_for_backward(gather(rows), matrix)
            return multiply_into(*rows_of(rows), *columns_of(matrix))

        @staticmethod
        def backward(ctx, grad):
            """Two GEMMs, each with operands quantized along its own summed axis."""
            full, matrix = ctx.saved_tensors
            return multiply_out(*rows_of(grad), *rows_of(matrix)), weight_gradient(full, grad, matrix)

    class Out(torch.autograd.Function):
        """scatter(rows @ matrix)."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Quantizes, multiplies and scatters."""
            if ctx.needs_input_grad[0]:
                ctx.save_for_backward(rows, matrix)
            return multiply_out(*rows_of(rows), *columns_of(matrix))

        @staticmethod
        def backward(ctx, grad):
            """Gathers the gradient once, since both GEMMs read it, quantized along different axes."""
            rows, matrix = ctx.saved_tensors
            full = gather(grad)
            return multiplied(*rows_of(full), *rows_of(matrix)), weight_gradient(rows, full, matrix)

    return Into.apply, Out.apply


class QuantizedSplit(Split):
    """Split with GEMMs of 8 bits."""

    farthest = 0.2

    def __init__(self, team):
        super().__init__(team)

        def multiply_into(rows, scales, matrix, of_matrix):
            full = team.gather(rows.view(torch.uint8)).view(rows.dtype)
            return multiplied(full, team.gather(scales), matrix, of_matrix)

        self.into, self.out = linear(team.gather, team.scatter, multiply_into, lambda *operands: team.scatter(multiplied(*operands)))

    @classmethod
    def fused(cls, group):
        """The placement with async-TP's fused operations."""
        team, name = Eager(group), group.group_name
        made = cls(team)

        def multiply_into(rows, scales, matrix, of_matrix):
            return torch.ops.symm_mem.fused_all_gather_scaled_matmul(rows, [matrix.t()], scales, [of_matrix.t()], 0, name, [None], [None],
                                                                     [torch.bfloat16], [False])[1][0]

        def multiply_out(rows, scales, matrix, of_matrix):
            return torch.ops.symm_mem.fused_scaled_matmul_reduce_scatter(rows, matrix.t(), scales, of_matrix.t(), "sum", 0, 0, name,
                                                                         [rows.shape[0], matrix.shape[0]], None, None, torch.bfloat16, False)

        made.into, made.out = linear(team.gather, team.scatter, multiply_into, multiply_out)
        return made


class QuantizedWhole(Whole):
    """Whole with GEMMs of 8 bits."""

    farthest = 0.2

    def __init__(self, team):
        super().__init__(team)
        _, _, enter, leave = moves(team)
        into, out = linear(lambda rows: rows, lambda part: part, multiplied, multiplied)
        self.into = lambda rows, matrix: into(enter(rows), matrix)
        self.out = lambda rows, matrix: leave(out(rows, matrix))
