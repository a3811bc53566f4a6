"""PyTorch operators from specs. At first use, hirgen.load(SPEC) runs the program hirgen and builds the emitted package."""

from .build import BuildError
from .load import load

__all__ = ["BuildError", "load"]
