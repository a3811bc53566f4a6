#!/usr/bin/env python3
"""Writes testdata/checkpoints: small checkpoints of transformers with random weights, in several shards each.

    pip install torch transformers && scripts/checkpoints.py

The tests only read the files, so they need neither package.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers

FOLDER = Path(__file__).parent.parent / "testdata" / "checkpoints"

# Each has one block with 4 query heads of 4 channels. All but GPT-2 have 2 heads of keys and values.
SIZES = {"vocab_size": 8, "num_hidden_layers": 1, "max_position_embeddings": 8}
LLAMA = SIZES | {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
}
MODELS = {
    "llama": (torch.bfloat16, transformers.LlamaConfig(**LLAMA)),
    "qwen3": (torch.float32, transformers.Qwen3Config(**LLAMA)),
    "mixtral": (torch.bfloat16, transformers.MixtralConfig(**LLAMA, num_local_experts=2)),
    "gpt2": (torch.float32, transformers.GPT2Config(vocab_size=8, n_positions=8, n_embd=16, n_head=4, n_layer=1)),
}


def main() -> None:
    shutil.rmtree(FOLDER / "files", ignore_errors=True)
    for name, (dtype, config) in MODELS.items():
        torch.manual_seed(1)
        folder = FOLDER / "files" / name
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)  # the norms and biases too
        model.save_pretrained(folder, max_shard_size="2KB" if dtype == torch.bfloat16 else "4KB")
        for other in folder.glob("*config.json"):
            other.unlink()
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        print(name, len(index["weight_map"]), "tensors in", len(set(index["weight_map"].values())), "files")


if __name__ == "__main__":
    main()
