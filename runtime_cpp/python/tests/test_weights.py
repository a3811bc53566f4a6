"""Tests runtime.weights: loads weights as one of two ranks does, from the checkpoints in testdata (in the format of
transformers) by their maps, and checks that wrong shapes are errors."""

import json
import struct
import unittest
from pathlib import Path

import torch

from runtime.program import Split, Tensor
from runtime.weights import part_of, settings_of

FOLDER = Path(__file__).parents[3] / "testdata" / "checkpoints"
TYPES = {"F32": torch.float32, "BF16": torch.bfloat16}


def read(path: Path) -> dict[str, torch.Tensor]:
    """Returns the tensors of a safetensors file by name."""
    text = path.read_bytes()
    (length,) = struct.unpack("<Q", text[:8])
    header = json.loads(text[8 : 8 + length])
    header.pop("__metadata__", None)
    state = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        state[name] = torch.frombuffer(bytearray(text[begin:end]), dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
    return state


class WeightsTest(unittest.TestCase):
    def load(self, name: str, tensor: Tensor):
        """Returns the checkpoint's tensors by name without the map's prefix, and rank 1's part of a weight."""
        names = json.loads((FOLDER / f"{name}.json").read_text())
        state = {}
        for path in (FOLDER / names["checkpoint"]).parent.glob("*.safetensors"):
            state |= read(path)
        sources, prefix = settings_of(names)
        part = part_of(state, tensor, sources[tensor.name], prefix, 1)
        return {key.removeprefix(prefix): value for key, value in state.items()}, part

    def test_packed_rows(self):
        for name in "llama", "qwen3_attention":
            for shape in (16, 16), (1, 16, 16):
                split = Split(axis=len(shape) - 2, parts=2, stride=1)
                state, part = self.load(name, Tensor("Wqkv", shape, torch.float32, (split,)))
                q, k, v = (state[f"self_attn.{one}_proj.weight"] for one in "qkv")
                self.assertTrue(torch.equal(part.reshape(16, 16), torch.cat([q[8:], k[4:], v[4:]])))

    def test_columns(self):
        state, part = self.load("llama", Tensor("Wo", (16, 8), torch.float32, (Split(axis=1, parts=2, stride=1),)))
        self.assertTrue(torch.equal(part, state["self_attn.o_proj.weight"][:, 8:]))

    def test_transposed(self):
        rows = Split(axis=0, parts=2, stride=1)
        state, part = self.load("gpt2", Tensor("Wqkv", (24, 16), torch.float32, (rows,)))
        q, k, v = state["attn.c_attn.weight"].t().split(16)
        self.assertTrue(torch.equal(part, torch.cat([q[8:], k[8:], v[8:]])))
        state, part = self.load("gpt2", Tensor("bqkv", (24,), torch.float32, (rows,)))
        self.assertEqual(part[16], state["attn.c_attn.bias"][40])

    def test_stacked(self):
        state, part = self.load("mixtral", Tensor("W1", (16, 24), torch.bfloat16, (Split(axis=0, parts=2, stride=1),)))
        self.assertTrue(torch.equal(part, state["1.w1.weight"].t()))

    def test_shapes(self):
        given = torch.arange(32).reshape(8, 4)
        tensor = Tensor("A", (2, 4, 4), torch.int64)
        self.assertTrue(torch.equal(part_of({"a": given}, tensor, "a", "", 0), given.reshape(2, 4, 4)))
        for source in "a", {"pack": ["a", "a"]}, {"rows": 1}:
            with self.assertRaises(ValueError):
                part_of({"a": given.reshape(16, 2)}, tensor, source, "", 0)


if __name__ == "__main__":
    unittest.main()
