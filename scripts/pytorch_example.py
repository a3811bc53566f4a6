#!/usr/bin/env python3
"""Calls the package of testdata/specs/llama_mlp: torchrun --nproc-per-node 2 scripts/pytorch_example.py"""

import os

import llama_mlp
import torch
import torch.distributed as dist

cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
dist.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
if cuda:
    torch.cuda.set_device(device)

layer = llama_mlp.Layer(device)
torch.manual_seed(dist.get_rank())
for weight in layer.parameters():
    torch.nn.init.normal_(weight, std=0.05)

with torch.no_grad():
    X = torch.ones(layer.activations[0].shape, dtype=layer.activations[0].dtype, device=device)
    Y = torch.compile(layer, fullgraph=True, backend="aot_eager")(X)
sums = [torch.zeros((), device=device) for _ in range(dist.get_world_size())]
dist.all_gather(sums, Y.float().sum())
if dist.get_rank() == 0:
    print(f"Y is {list(Y.shape)}, the same on every rank: {all(s == sums[0] for s in sums)}")
dist.destroy_process_group()
