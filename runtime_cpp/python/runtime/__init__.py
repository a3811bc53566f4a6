"""The part of emitted PyTorch packages that does not depend on the spec."""

from .errors import HirgenError
from .handle import Handle
from .layer import Layer
from .operator import Operator
from .program import Program, Split, Tensor

__all__ = ["Handle", "HirgenError", "Layer", "Operator", "Program", "Split", "Tensor"]
