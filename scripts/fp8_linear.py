"""A linear layer of PyTorch whose three GEMMs quantize their operands to 8 bits, with a scale for each row: the peer of
`linear(X, W, quantize=fp8_e4m3)` in train_llama_block.py. The recipe is "rowwise" of torchao."""

import torch

TYPE = torch.float8_e4m3fn
LARGEST = torch.finfo(TYPE).max


def quantized(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of a matrix in 8 bits, and the scale of each row as a column."""
    scale = X.abs().amax(-1, keepdim=True).float().clamp(min=1e-12) / LARGEST
    return (X.float() / scale).clamp(-LARGEST, LARGEST).to(TYPE), scale


def multiplied(a: torch.Tensor, of_a: torch.Tensor, b: torch.Tensor, of_b: torch.Tensor, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """a times the transpose of b, of quantized rows and their scales."""
    if a.is_cuda:
        return torch._scaled_mm(a, b.t(), scale_a=of_a, scale_b=of_b.t(), out_dtype=dtype)
    return ((a.float() @ b.float().t()) * of_a * of_b.t()).to(dtype)


def product(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """A times the transpose of B, both quantized by rows."""
    return multiplied(*quantized(A), *quantized(B), A.dtype)


class Linear(torch.autograd.Function):
    """X times the transpose of W."""

    @staticmethod
    def forward(ctx, X, W):
        ctx.save_for_backward(X, W)
        return product(X, W)

    @staticmethod
    def backward(ctx, slope):
        X, W = ctx.saved_tensors
        return product(slope, W.t().contiguous()), product(slope.t().contiguous(), X.t().contiguous())
