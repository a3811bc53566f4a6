"""Problems 59 to 72: transforms, filters and graphs."""

import torch
import torch.distributed as dist

from . import solves


@solves("59_physicsnemo_distributed_rfft")
def rfft2(program, x, *_):
    """The Fourier transform of matrices whose columns are split; the result has whole columns, and split rows."""
    return torch.view_as_complex(program(x))


def _factors(ranks: int) -> dict[str, int]:
    """D, the number of ranks, and other factors of the 1440 columns where the ranks do not divide the second factor of the spec."""
    return {"D": ranks} | ({"W1": 36, "W2": 40} if 30 % ranks else {})


@solves("60_physicsnemo_distributed_irfft", _factors)
def irfft2(program, x, *_):
    """The inverse Fourier transform, from split rows to split columns."""
    y = program(torch.view_as_real(x).flatten(0, 1))
    return y.view(*x.shape[:2], *y.shape[1:])


def _sphere(ranks: int) -> dict[str, int]:
    """The numbers of ranks along longitudes (A) and latitudes (P), as the benchmark chooses them."""
    longitudes = 1 + (ranks % 2 == 0)
    return {"A": longitudes, "P": ranks // longitudes}


@solves("62_torchharmonics_spherical_convolution", _sphere)
def spherical_convolution(program, x, psi, weight, _groups, _out, longitudes, *groups_and_bias):
    """A convolution on the sphere; ranks exchange channels for longitudes."""
    ranks = dist.get_world_size(groups_and_bias[0])
    batch, channels, latitudes, width = x.shape
    split = x.view(batch, ranks, channels // ranks, latitudes, width)
    psi = psi.to_dense().view(-1, latitudes, longitudes)
    return program(split, psi, weight.flatten(1), groups_and_bias[2]).view(batch, -1, latitudes, width)


@solves("63_deepmd_kalman_filter_optimizer")
def kalman_filter(program, h, error, weights, p, lam, _nue):
    """A step of an extended Kalman filter, in fp32."""
    factor = torch.full((), lam, dtype=torch.float32, device=error.device)
    h, weights, p = (torch.stack(tensors).float() for tensors in (h, weights, p))
    new, covariance, factor = program(h, error.float(), weights, p, factor)
    return list(new.double().flatten(0, 1)), list(covariance.double()), factor.double().view(())


def _exchange_params(ranks: int) -> dict[str, int]:
    """D, the number of ranks, and R, the rows that a rank sends to each rank: 1024 / D, but at least 64."""
    return {"D": ranks, "R": max(64, 1024 // ranks)}


@solves("65_gnn_feature_exchange_all2all", _exchange_params)
def feature_exchange(program, features, ids, _sent, _received, _group):
    """Rows of each rank's features go to all ranks."""
    return program(features, ids.view(dist.get_world_size(), -1)).flatten(0, 1)


@solves("66_gnn_feature_exchange_all2all_backward", _exchange_params)
def feature_exchange_backward(program, grad, ids, *_):
    """The gradients go back, and are added to the rows that they belong to."""
    ranks = dist.get_world_size()
    return program(grad.view(ranks, -1, grad.shape[-1]), ids.view(ranks, -1))


@solves("72_hyena_forward_cp")
def hyena_forward(program, x1, x2, v, filters, bias, *_):
    """Two gates and a long convolution of each channel; ranks exchange channels for the sequence."""
    ranks, (batch, channels, tokens) = dist.get_world_size(), x1.shape
    split = (tensor.view(ranks, channels // ranks, tokens) for tensor in (x1, x2, v))
    filters = filters.view(ranks, channels // ranks, -1, 128)
    return program(*split, filters, bias.view(ranks, -1, 1, 1)).view(batch, tokens, channels)
