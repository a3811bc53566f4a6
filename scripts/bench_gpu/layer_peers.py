"""PyTorch's implementations of the layers of layers.py. peers.py explains eager and async_tp; the other names are

    compute              the layer without communication. Only faster kernels can beat it.
    compute, whole       the same with the whole layer in torch.compile. Not with split rows, where it would drop unused work.
    compiled             eager, with torch.compile for elementwise and row-wise operations.
    compiled, whole      the whole layer in torch.compile, with functional collectives.
    compiled, reordered  the same, and the compiler reorders collectives to overlap independent work.
    compiled, async      the same as compiled, whole, and the compiler fuses collectives and GEMMs into async-TP's operations.
    one_shot             allreduces by kernels that read the partial sums of other ranks from symmetric memory.
    overlapped           backward only, and not with GEMMs of 8 bits: GEMMs of weight gradients overlap the sums of the other gradients.
    ..., graph           the call in a CUDA graph, of as many calls as a program of hirgen has in its graph.

async_tp, one_shot and overlapped also compile the elementwise operations. Autograd computes the backward pass from the saved
tensors of the forward pass: the gradients of the input and of all weights. Weights have the layout of hirgen's specs. GEMMs with
the same operand are merged into one, with concatenated weights. All peers of a layer have the same tensors. The results of
all peers but compute are compared with the same layer in fp32.
"""
import contextlib

import torch
import torch._functorch.config
import torch.distributed as dist
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from layer_models import MADE, PARTS, Block
from layer_moves import Eager, Functional, Nothing, OneShot, Split, Whole, overlapped
from layer_quantized import QuantizedSplit, QuantizedWhole
from on_gpu import Captured, normal, timed

BACKWARD = "_backward"
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]
OVERLAP = {f"aten_distributed_optimizations.{option}": True for option in ("enable_overlap_scheduling", "insert_overlap_deps")}
EXACT = {QuantizedSplit: Split, QuantizedWhole: Whole}  # the placement without quantization


def forms(group, split, backward):
    """(name, communication, whether parts are compiled, options of torch.compile for the whole, whether it is a graph) of the peers of a
    layer. The peers most likely to fail come last."""
    nothing, by_compiler, eager = split(Nothing(group)), split(Functional(group)), split(Eager(group))
    rows = [("compute", nothing, True, None, False), ("eager", eager, False, None, False), ("compiled", eager, True, None, False),
            ("compiled, whole", by_compiler, False, {}, False)]
    if split.is_split:
        own, moved = "async_tp", split.fused(group)
        rows += [("compiled, async", by_compiler, False, {"_micro_pipeline_tp": True}, False)]
    else:
        own, moved = "one_shot", split(OneShot(group))
        rows += [("compute, whole", nothing, False, {}, False)]
    rows += [(own, moved, True, None, False)]
    rows += [("overlapped", overlapped(split, group), True, None, False)] if backward and split not in EXACT else []
    return rows + [("compute, graph", nothing, split.is_split, None if split.is_split else {}, True), ("compiled, graph", eager, True, None, True),
                   ("compiled, whole, graph", by_compiler, False, {}, True), (f"{own}, graph", moved, True, None, True),
                   ("compiled, reordered", by_compiler, False, OVERLAP, False)]


def compiled_parts():
    """The elementwise and row-wise operations, compiled for static shapes."""
    return {name: torch.compile(function, dynamic=False) for name, function in PARTS.items()}


def calls(layer, group, backward, calls_per_graph):
    """The peers of a layer, by name. The first call compiles a peer. Peers with the same functions share the compiled code."""
    made, parts, whole = {}, compiled_parts(), {}
    direction = Backward if backward else Forward
    for name, moved, by_parts, options, is_graph in forms(group, layer.split, backward):
        def run(*tensors, moved=moved, own=parts if by_parts else PARTS):
            return layer(moved, own, *tensors)
        if options is not None:
            key = id(moved), str(options)
            run = whole.setdefault(key, torch.compile(run, dynamic=False, options=options))
        call = direction(run, layer.tensors, layer.grad)
        made[name] = Captured(call, calls_per_graph) if is_graph else call
    return made


def reference(layer, group, backward):
    """The results in fp32 without quantization, computed by eager operations."""
    moved = EXACT.get(layer.split, layer.split)(Eager(group))
    tensors, grad = [tensor.float() for tensor in layer.tensors], layer.grad.float()
    return results((Backward if backward else Forward)(lambda *own: layer(moved, PARTS, *own), tensors, grad)())


def results(made):
    """The results of a call, as a list."""
    return list(made) if isinstance(made, (tuple, list)) else [made]


def distance(made, exact):
    """The largest distance of a result from the exact result, relative to the norm of the exact result, over all results and ranks."""
    every = [(own.float() - other).norm() / other.norm() for own, other in zip(results(made), exact, strict=True)]
    farthest = torch.stack(every).max()
    dist.all_reduce(farthest, op=dist.ReduceOp.MAX)
    return farthest.item()


class Forward:
    """A call of a layer, without gradients."""

    def __init__(self, run, tensors, _):
        self.run, self.tensors = run, tensors

    def __call__(self):
        with torch.no_grad():
            return self.run(*self.tensors)


class Backward:
    """The gradients of a layer's input and weights, given the gradient of its result. The first call also runs the forward pass."""

    def __init__(self, run, tensors, grad):
        self.run, self.grad, self.result = run, grad, None
        self.tensors = [tensor.detach().requires_grad_() for tensor in tensors]

    def __call__(self):
        if self.result is None:
            self.result = self.run(*self.tensors)
        return torch.autograd.grad(self.result, self.tensors, self.grad, retain_graph=True)


def memory(call):
    """Peak bytes of a call beyond its results, including the workspaces of its GEMMs; None for a graph, which keeps its memory. It relies
    on undocumented functions of PyTorch and raises their errors."""
    if isinstance(call, Captured):
        return None
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(context=None, max_entries=100000)
    try:
        earlier = len(history())
        made = results(call())
        torch.cuda.synchronize()
        taken = history()[earlier:]
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)
    return height(taken, {tensor.untyped_storage().data_ptr() for tensor in made})


def history():
    """The events of the allocator for this rank's GPU."""
    return torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]


def height(events, kept):
    """The peak of the bytes allocated by events, without the last allocation at each address of kept."""
    last = {event["addr"]: i for i, event in enumerate(events) if event["action"] == "alloc" and event["addr"] in kept}
    sizes, most = {}, 0
    for i, event in enumerate(events):
        if event["action"] == "alloc" and last.get(event["addr"]) != i:
            sizes[event["addr"]] = event["size"]
            most = max(most, sum(sizes.values()))
        elif event["action"] == "free_completed":
            sizes.pop(event["addr"], None)
    return most


def choose_attention(layer, backward):
    """Enables only the faster one of PyTorch's attention kernels for this size and direction, and returns its name. Returns "" if the layer
    has no attention. Enables both and says so if neither kernel runs."""
    if not isinstance(layer, Block):
        return ""
    times = {}
    for backend in ATTENTION:
        q, k, v = (tensor.requires_grad_(backward) for tensor in layer.example())

        def call(q=q, k=k, v=v):
            made = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return torch.autograd.grad(made, (q, k, v), made) if backward else made
        with contextlib.suppress(RuntimeError), sdpa_kernel(backend):
            times[backend] = min(timed(call, 5, 10, 3))
    best = min(times, key=times.get, default=None)
    torch.backends.cuda.enable_flash_sdp(best != SDPBackend.CUDNN_ATTENTION)
    torch.backends.cuda.enable_cudnn_sdp(best != SDPBackend.FLASH_ATTENTION)
    return "neither kernel: flash and cuDNN failed" if best is None else str(best)


LAYERS = [name + suffix for name in MADE for suffix in ("", BACKWARD)]


def make(operation, group, sizes):
    """(a layer with its tensors, whether the operation is its backward pass)."""
    layer = MADE[operation.removesuffix(BACKWARD)](group, **sizes)
    layer.tensors, layer.grad = [layer.x, *layer.weights], normal(*layer.x.shape)
    return layer, operation.endswith(BACKWARD)


def load(operation, group, calls_per_graph=1, **sizes):
    """(the peers of a layer by name, the function that computes its results in fp32, the largest accepted distance from them)."""
    torch._functorch.config.donated_buffer = False  # every backward pass reads the saved tensors of one forward pass
    layer, backward = make(operation, group, sizes)
    return calls(layer, group, backward, calls_per_graph), lambda: reference(layer, group, backward), layer.split.farthest
