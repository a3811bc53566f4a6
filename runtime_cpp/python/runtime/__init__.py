"""What the PyTorch packages of all emitted programs share: nothing here depends on a spec."""

from .errors import HirgenError
from .handle import Handle
from .layer import Layer
from .operator import Operator
from .program import Program, Split, Tensor

__all__ = ["Handle", "HirgenError", "Layer", "Operator", "Program", "Split", "Tensor"]
