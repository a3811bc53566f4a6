"""Loads peers.py for tests, with a mock of PyTorch."""
import importlib
import os
import sys
import unittest
from unittest import mock

TORCH = ("torch", "torch._functorch", "torch._functorch.config", "torch.distributed", "torch.distributed._symmetric_memory", "torch.nn", "torch.nn.attention", "torch.nn.functional")


class WithoutTorch(unittest.TestCase):
    """Sets self.peers, self.layer_peers and self.on_gpu to the modules, and self.group to a mock group of four ranks."""

    def setUp(self):
        torch = mock.MagicMock()
        torch.autograd.Function = type("Function", (), {"apply": mock.MagicMock()})
        stubs = dict.fromkeys(TORCH, torch)
        with mock.patch.dict(sys.modules, stubs), mock.patch.dict(os.environ):
            for name in ("peers", "products", "on_gpu", "layer_moves", "layer_models", "layer_peers", "operation_peers"):
                sys.modules.pop(name, None)
            self.peers = importlib.import_module("peers")
            self.layer_peers = importlib.import_module("layer_peers")
            self.on_gpu = importlib.import_module("on_gpu")
        self.group = mock.MagicMock()
        self.group.size.return_value, self.group.rank.return_value = 4, 1
