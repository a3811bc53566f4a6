"""Tests of the cases of compiled_kernels.py, with a mock of PyTorch."""
import importlib
import inspect
import pathlib
import re
import sys
import unittest
from unittest import mock

from stubs import TORCH

SAME = pathlib.Path(__file__).resolve().parent / "fused_kernels.cu"


class CompiledKernels(unittest.TestCase):
    def setUp(self):
        with mock.patch.dict(sys.modules, dict.fromkeys(TORCH, mock.MagicMock())):
            sys.modules.pop("compiled_kernels", None)
            self.kernels = importlib.import_module("compiled_kernels")

    def test_cases_are_those_of_fused_kernels(self):
        """Compares names and numbers of large operands."""
        same = SAME.read_text()
        for name, operands, *_ in self.kernels.cases():
            self.assertRegex(same, rf'"{re.escape(name.split(" of ")[0])}( of [^"]*)?"[^,{{]*,\s*{operands},', name)

    def test_functions_take_the_operands_that_are_no_results(self):
        for name, operands, results, function, _ in self.kernels.cases():
            if inspect.isfunction(function):
                self.assertEqual(len(inspect.signature(function).parameters), operands - results, name)

    def test_slices_are_whole_rows_and_rotate(self):
        for _, operands, _, _, columns in self.kernels.cases():
            for megabytes in (64, 512):
                elements, slices, replays = self.kernels.slices_of(megabytes, operands)
                self.assertEqual(elements % columns, 0)
                self.assertGreaterEqual(slices * elements * operands * 2, 512 * self.kernels.MB)
                self.assertGreaterEqual(slices * replays, 20)


if __name__ == "__main__":
    unittest.main()
