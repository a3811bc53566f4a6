"""Problems 46 and 86: decoding, and orthogonalization for an optimizer."""

from . import solves


@solves("46_gemv_decode")
def gemv_decode(program, hidden, weight, bias):
    """The logits of the whole vocabulary, on every rank."""
    return program(hidden, weight, bias)


@solves("86_tp_muon_orthogonalization")
def muon(program, tensor, _steps, _coefficients, _dim, _group):
    """Five steps of Newton and Schulz on a matrix whose columns are split."""
    return program(tensor)
