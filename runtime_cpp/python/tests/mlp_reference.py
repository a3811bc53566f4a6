"""The MLP of testdata/specs/llama_mlp in plain PyTorch, without tensor parallelism."""

import torch
import torch.nn.functional as F


def llama_mlp(X, gamma, Wg, Wu, W2):
    U = F.rms_norm(X, (X.shape[-1],), gamma, 1e-5)
    return X + F.linear(F.silu(F.linear(U, Wg)) * F.linear(U, Wu), W2)


def weights(K: int, N: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Returns random whole weights, the same on every rank."""
    made = torch.Generator().manual_seed(1)
    shapes = {"gamma": (K,), "Wg": (N, K), "Wu": (N, K), "W2": (K, N)}
    return {name: (torch.randn(shape, generator=made) / shape[-1] ** 0.5).to(dtype) for name, shape in shapes.items()}


def relative(got: torch.Tensor, want: torch.Tensor) -> float:
    """Returns the norm of got - want, divided by the norm of want."""
    return ((got.double() - want.double()).norm() / want.double().norm()).item()
