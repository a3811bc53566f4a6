"""The script that test_llama_mlp.py starts on two ranks with torchrun. The arguments name the functions to run.

hirgen.load makes the packages, so that several sizes and element types can be used in one process.
"""

import contextlib
import io
import os
import sys
from pathlib import Path

import hirgen
import torch
import torch.distributed as dist
from mlp_reference import llama_mlp, relative, weights

SPEC = Path(os.environ["HIRGEN_TEST_SPEC"])


def require(holds, what):
    if not holds:
        raise SystemExit(f"rank {dist.get_rank()}: not so: {what}")


def package(M=64, K=32, dtype=torch.bfloat16):
    """Returns the package for a size. For fp32, makes it from a copy of the spec with that element type."""
    spec = SPEC
    if dtype == torch.float32:
        spec = Path(os.environ["HIRGEN_CACHE"]) / "llama_mlp_fp32.yaml"
        if dist.get_rank() == 0:
            spec.write_text(SPEC.read_text().replace("dtype: bf16", "dtype: fp32"))
        dist.barrier()
    return hirgen.load(spec, {"D": 2, "M": M, "K": K}, gradient=True, device="cpu")


def same_as_plain(made, M, K, dtype, call=lambda layer: layer):
    """Compares a layer's output and gradients with those of plain PyTorch in fp64 on whole weights."""
    bound = {torch.float32: 1e-5, torch.bfloat16: 1e-2}[dtype]
    whole = weights(K, 7 * K // 2, dtype)
    layer = made.Layer()
    layer.load_whole_state_dict(whole)
    made_input = torch.Generator().manual_seed(2)
    X = torch.randn(M, K, generator=made_input).to(dtype).requires_grad_()
    slope = torch.randn(M, K, generator=made_input).to(dtype)
    Y = call(layer)(X)
    (Y * slope).sum().backward()

    exact = {name: tensor.double().requires_grad_() for name, tensor in whole.items()}
    X_exact = X.detach().double().requires_grad_()
    Y_exact = llama_mlp(X_exact, **exact)
    (Y_exact * slope.double()).sum().backward()
    n = 7 * K // 4
    mine = slice(dist.get_rank() * n, (dist.get_rank() + 1) * n)
    pairs = {
        "Y": (Y, Y_exact),
        "dX": (X.grad, X_exact.grad),
        "dgamma": (layer.gamma.grad, exact["gamma"].grad),
        "dWg": (layer.Wg.grad, exact["Wg"].grad[mine]),
        "dWu": (layer.Wu.grad, exact["Wu"].grad[mine]),
        "dW2": (layer.W2.grad, exact["W2"].grad[:, mine]),
    }
    for name, (got, want) in pairs.items():
        require(relative(got, want) < bound, f"{name} in {dtype} is within {bound}, not {relative(got, want)}")


def eager():
    same_as_plain(package(), 64, 32, torch.bfloat16)
    same_as_plain(package(dtype=torch.float32), 64, 32, torch.float32)
    same_as_plain(package(M=32), 32, 32, torch.bfloat16)  # another size, in the same process
    same_as_plain(package(), 64, 32, torch.bfloat16)


def compiled():
    same_as_plain(
        package(), 64, 32, torch.bfloat16, lambda layer: torch.compile(lambda X: layer(X), fullgraph=True, backend="aot_eager")
    )
    made = package(dtype=torch.float32)
    inputs = [torch.rand(t.shape, dtype=t.dtype, requires_grad=True) for t in made._FORWARD.inputs]
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    results = torch.library.opcheck(made._operator._op, (*inputs, dist.group.WORLD.group_name), test_utils=checks)
    require(set(results.values()) == {"SUCCESS"}, f"opcheck finds nothing: {results}")


def roles():
    """Gradients are right even if two tensors would have one name: dp, a saved tensor and the gradient of p; dY, an input and
    the gradient of Y; dq, the gradients of q and Q. The gradient of R, which `split` divides, is right, too."""
    spec = Path(os.environ["HIRGEN_CACHE"]) / "roles.yaml"
    if dist.get_rank() == 0:
        spec.write_text(
            "hirgen: 1\nname: roles\nparams: {D: 2, M: 8, K: 8}\nmesh: {x: D}\ndtype: fp32\n"
            "tensors: {X: [DIDx, M/D, K], W: [K, K], Q: [DIDx, M/D, K], R: [DIDx, M/D, K], dY: [DIDx, M/D, K]}\nops:\n"
            "  - h = linear(X, W)\n  - p = softmax(h)\n  - dp = softmax(p)\n  - y = linear(dp, W)\n  - q = scale(Q, by=0.5)\n"
            "  - s = mul(y, q)\n  - u, v = split(R)\n  - r = concat(v, u)\n  - t = mul(s, r)\n  - Y = mul(t, dY)\noutputs: [Y, p]\n"
        )
    dist.barrier()
    made = hirgen.load(spec, gradient=True, device="cpu")
    numbers = torch.Generator().manual_seed(3)
    whole = {name: torch.randn(8, 8, generator=numbers) for name in ("X", "W", "Q", "R", "dY", "slope of Y", "slope of p")}
    mine = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
    given = {name: (tensor if name == "W" else tensor[mine]).clone().requires_grad_() for name, tensor in whole.items()}
    inputs = [tensor.name for tensor in made._FORWARD.inputs]
    Y, p = made.roles(*(given[name] for name in inputs))
    ((Y * given["slope of Y"]).sum() + (p * given["slope of p"]).sum()).backward()

    exact = {name: tensor.double().requires_grad_() for name, tensor in whole.items()}
    p_exact = (exact["X"] @ exact["W"].T).softmax(1)
    u, v = exact["R"].chunk(2, 1)
    Y_exact = (p_exact.softmax(1) @ exact["W"].T) * (exact["Q"] * 0.5) * torch.cat((v, u), 1) * exact["dY"]
    ((Y_exact * exact["slope of Y"]).sum() + (p_exact * exact["slope of p"]).sum()).backward()
    require(relative(Y, Y_exact[mine]) < 1e-5 and relative(p, p_exact[mine]) < 1e-5, "Y and p are right")
    for name in inputs:
        want = exact[name].grad if name == "W" else exact[name].grad[mine]
        require(relative(given[name].grad, want) < 1e-5, f"the gradient of {name} is right, not {relative(given[name].grad, want)} off")


def checkpoints():
    made = package()
    whole = weights(32, 112, torch.bfloat16)
    names = {"gamma": "norm.weight", "Wg": "gate_proj.weight", "Wu": "up_proj.weight", "W2": "down_proj.weight"}
    layer = made.Layer()
    layer.load_whole_state_dict({names[name]: tensor for name, tensor in whole.items()}, names)
    back = layer.whole_state_dict(names)
    require(all(torch.equal(back[names[name]], tensor) for name, tensor in whole.items()), "weights come back as they were")
    other = made.Layer()
    other.load_state_dict(layer.state_dict())
    require(torch.equal(other.Wg, layer.Wg), "state_dict has this rank's parts")


def refused():
    made = package()
    good = [torch.zeros(t.shape, dtype=t.dtype) for t in made._FORWARD.inputs]
    wrong = {
        "Wg must have the shape [56, 32] on each rank, not [112, 32]": (2, torch.zeros(112, 32, dtype=torch.bfloat16)),
        "X must be torch.bfloat16, not torch.float32": (0, torch.zeros(64, 32)),
        "W2 must be contiguous, and has the strides (1, 32): pass W2.contiguous()": (4, torch.zeros(56, 32, dtype=torch.bfloat16).T),
        "gamma is on cpu and X on meta": (0, torch.zeros(64, 32, dtype=torch.bfloat16, device="meta")),
    }
    for message, (index, tensor) in wrong.items():
        try:
            made.llama_mlp(*good[:index], tensor, *good[index + 1 :])
        except (TypeError, ValueError) as error:
            require(message in str(error), f"the error is {message!r}, not {str(error)!r}")
        else:
            require(False, f"there is an error: {message}")
    made.llama_mlp(*good)  # works because rejected calls issued nothing


def buffers():
    made = package(M=16)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        handle = made.join("cpu", timeout=30)
        X = handle.empty("X").fill_(1)
        rest = [torch.ones(t.shape, dtype=t.dtype) for t in made._FORWARD.inputs[1:]]
        Y = made.llama_mlp(X, *rest)
        require(torch.equal(Y, made.llama_mlp(X.clone(), *rest)), "a call with the handle's own buffer gives the same")
    made_on_first = "each call copies gamma" in said.getvalue()
    require(made_on_first or dist.get_rank() > 0, f"the first call says what it copies, but not X: {said.getvalue()}")
    require(said.getvalue().count("each call copies") <= 1, "it says so once")
    size, microseconds = handle.copies()["Wg"]
    require(size == 56 * 32 * 2 and microseconds > 0, "copies has bytes and time")
    # A contiguous view that begins at element 1, so its address is not a multiple of 16 bytes.
    view = torch.ones(X.numel() + 1, dtype=X.dtype)[1:].view(X.shape)
    require(view.is_contiguous() and view.data_ptr() % 16 != 0, "the view is unaligned")
    require(torch.equal(Y, made.llama_mlp(view, *rest)), "a call with an unaligned view gives the same")
    handle.check()
    made.close("cpu")
    require(torch.equal(Y, made.llama_mlp(torch.ones_like(Y), *rest)), "after close the next call joins anew")


def by_ipc():
    """Ranks read each other's A, which must be in the handle's buffer: calls copy it there, or the caller uses empty()."""
    spec = SPEC.parents[1] / "ag_matmul_p2p" / "spec.yaml"
    made = hirgen.load(spec, {"D": 2, "M": 64, "N": 32, "K": 16}, schedule=["all.via=ipc-get"], device="cpu")
    handle = made.join("cpu")
    require(handle.transport == "ipc-get", f"the transport is that of the schedule, not {handle.transport}")
    A = torch.arange(64 * 16).remainder(5).reshape(64, 16).to(torch.bfloat16)
    B = torch.arange(16 * 32).remainder(3).reshape(16, 32).to(torch.bfloat16)
    mine = A[32 * dist.get_rank() :][:32]
    for times in (1, 2, 3):
        C = made.ag_matmul_p2p(mine * times, B)
        require(torch.equal(C.reshape(64, 32), (A * times) @ B), f"C is A B in call {times}")
    X = handle.empty("A")
    X.copy_(mine)
    require(torch.equal(made.ag_matmul_p2p(X, B).reshape(64, 32), A @ B), "C is A B with the handle's buffer")


def of_some():
    """A rank without a tensor passes and gets None, also in a compiled function."""
    spec = Path(os.environ["HIRGEN_CACHE"]) / "ping.yaml"
    if dist.get_rank() == 0:
        spec.write_text(
            "hirgen: 1\nname: ping\nmeshes:\n  first: {axes: {x: 1}, ranks: [0]}\n  second: {axes: {x: 1}, ranks: [1]}\n"
            "tensors: {X: {mesh: first, axes: [4, 8]}, Y: {mesh: second, axes: [4, 8]}}\nops:\n  - Y = set(X)\n"
        )
    dist.barrier()
    ping, first = hirgen.load(spec, device="cpu").ping, dist.get_rank() == 0
    X = torch.arange(32.0).view(4, 8).bfloat16()
    for call in (ping, torch.compile(ping, fullgraph=True, backend="aot_eager")):
        Y = call(X if first else None)
        require(Y is None if first else torch.equal(Y, X), "the second rank has X, and the first has no result")
    for wrong in (None if first else X, X[:2]):
        try:
            ping(wrong)
        except ValueError as error:
            require("X" in str(error), f"{error} names X")
        else:
            require(False, f"{type(wrong)} is refused")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        globals()[name]()
        print(f"rank {dist.get_rank()}: {name} ok", flush=True)
    dist.barrier()
    dist.destroy_process_group()
