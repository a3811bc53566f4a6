#!/usr/bin/env python3
"""Checks an emitted ag_matmul against PyTorch, on this machine's GPUs.

    scripts/compare_torch.py OUT --ranks 2 [--hirgen bin/hirgen]

OUT is an emitted folder of testdata/specs/ag_matmul. The script writes random normal inputs as safetensors. The program
reads them (--load) and writes its result (--dump). The result and PyTorch's bf16 matmul of the same tensors are then
compared with the fp32 matmul, and with each other.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file


def main():
    """Writes the inputs, runs the program, compares; exit code 1 if the program's error is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hirgen", default="bin/hirgen")
    args = parser.parse_args()
    parameters = parameters_of(args.out)
    m, n, k = (parameters[name] for name in "MNK")

    torch.manual_seed(0)
    a = torch.randn(m, k, device="cuda").bfloat16()
    b = torch.randn(k, n, device="cuda").bfloat16()
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(pathlib.Path(folder) / f"{name}.safetensors") for name in "ABC"}
        save_file({"A": a.cpu()}, paths["A"])
        save_file({"B": b.cpu()}, paths["B"])
        done = subprocess.run(
            [args.hirgen, "run", args.out, "-n", str(args.ranks), "--device", "cuda", "--", "--load",
             f"A={paths['A']}", "--load", f"B={paths['B']}", "--dump", f"C={paths['C']}"])
        if done.returncode != 0:
            sys.exit(done.returncode)
        c = load_file(paths["C"])["C"].cuda().reshape(m, n)

    exact = a.float() @ b.float()
    scale = exact.abs().max().item()
    ours = (c.float() - exact).abs().max().item() / scale
    torchs = ((a @ b).float() - exact).abs().max().item() / scale
    differ = (c != a @ b).float().mean().item()
    print(f"largest error / largest element: program {ours:.2e}, torch {torchs:.2e} (bf16 rounding is 3.9e-03 at most)")
    print(f"elements that differ from torch's bf16 GEMM: {100 * differ:.4f} %")
    sys.exit(0 if ours <= max(torchs, 2**-8) else 1)


def parameters_of(out):
    """The parameters of an emitted folder, from its host IR."""
    found = {}
    for line in (pathlib.Path(out) / "host_ir.txt").read_text().splitlines():
        words = line.split()
        if words[:1] == ["param"]:
            found[words[1]] = int(words[3])
    return found


if __name__ == "__main__":
    main()
