"""The script of two ranks. Rank 1 kills itself, and rank 0 goes on. No launcher starts them: it would end rank 0, too."""

import os
import signal

import hirgen
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
made = hirgen.load(os.environ["HIRGEN_TEST_SPEC"], {"D": 2, "M": 64, "K": 32}, gradient=True, device="cpu")
inputs = [torch.ones(t.shape, dtype=t.dtype) for t in made._FORWARD.inputs]
made.join("cpu", timeout=5)
made.llama_mlp(*inputs)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    made.llama_mlp(*inputs)
except made.HirgenError as error:
    print(f"caught code {error.code}: {error}")
try:
    made.close("cpu")
except made.HirgenError as error:
    print(f"closed with code {error.code}")
print("goes on:", torch.ones(2).sum().item(), flush=True)
os._exit(0)  # skips gloo's shutdown, which would wait for rank 1
