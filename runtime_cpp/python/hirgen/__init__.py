"""PyTorch operators from specs. At first use, hirgen.load(SPEC) emits a package with the program hirgen and builds it."""

from .build import BuildError
from .load import load

__all__ = ["BuildError", "load"]
