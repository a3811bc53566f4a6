"""PyTorch operators from specs. At first use, hirgen.load(SPEC) runs the program hirgen to emit a package, and builds it."""

from .build import BuildError
from .load import load

__all__ = ["BuildError", "load"]
