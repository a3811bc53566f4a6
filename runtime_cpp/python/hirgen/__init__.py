"""Operators of PyTorch from specs: hirgen.load(SPEC) calls the program hirgen, and builds what it emits at first use."""

from .build import BuildError
from .load import load

__all__ = ["BuildError", "load"]
