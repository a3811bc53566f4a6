"""PyTorch's ways to do the layers of layers.py. peers.py says what the names mean; further ones are

    compute              everything but the communication: what only faster kernels can be faster than
    compute, whole       the same, the whole layer by torch.compile; where rows are split it would leave out what nobody needs then
    compiled             eager, with what goes element by element or along rows made into kernels by torch.compile
    compiled, whole      the whole layer by torch.compile, with functional collectives
    compiled, reordered  the same, and the compiler moves collectives behind work that does not need them
    compiled, async      the same, and the compiler makes async-TP's operations of collectives beside products
    one_shot             sums over ranks by kernels that read the peers' parts from symmetric memory
    overlapped           backward: the products of weights' gradients run beside the sums of the others
    ..., graph           the call as a CUDA graph

In async_tp, one_shot and overlapped, too, what goes element by element is compiled. A backward pass is that of autograd, from what
the forward pass left, and gives the gradients of the input and of all weights. Weights lie as those of hirgen's specs do. Products
of one operand are one product: its weights stand side by side. All peers of a layer have the same tensors, and their results are
compared with those of the same layer in fp32.
"""
import contextlib

import torch
import torch._functorch.config
import torch.distributed as dist
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from layer_models import MADE, PARTS, Block
from layer_moves import Eager, Functional, Nothing, OneShot, overlapped
from on_gpu import normal, timed

BACKWARD = "_backward"
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]
OVERLAP = {f"aten_distributed_optimizations.{option}": True for option in ("enable_overlap_scheduling", "insert_overlap_deps")}
FARTHEST = 0.05  # that a result may lie from that in fp32, of its norm


def forms(group, split, backward):
    """(name, what moves, are its parts compiled, options of torch.compile for the whole, is it a graph) of the peers of a layer. Those
    that are most likely to fail come last."""
    nothing, by_compiler, eager = split(Nothing(group)), split(Functional(group)), split(Eager(group))
    rows = [("compute", nothing, True, None, False), ("eager", eager, False, None, False), ("compiled", eager, True, None, False),
            ("compiled, whole", by_compiler, False, {}, False)]
    if split.is_split:
        rows += [("compiled, async", by_compiler, False, {"_micro_pipeline_tp": True}, False), ("async_tp", split.fused(group), True, None, False)]
    else:
        rows += [("compute, whole", nothing, False, {}, False), ("one_shot", split(OneShot(group)), True, None, False)]
    rows += [("overlapped", overlapped(split, group), True, None, False)] if backward else []
    return rows + [("compute, graph", nothing, split.is_split, None if split.is_split else {}, True), ("compiled, graph", eager, True, None, True),
                   ("compiled, whole, graph", by_compiler, False, {}, True), ("compiled, reordered", by_compiler, False, OVERLAP, False)]


def compiled_parts():
    """What goes element by element or along rows as kernels for tensors of one size each."""
    return {name: torch.compile(function, dynamic=False) for name, function in PARTS.items()}


def calls(layer, group, backward):
    """The peers of a layer, by name; they are compiled when they are first called. Those of the same functions share what is compiled."""
    made, parts, whole = {}, compiled_parts(), {}
    direction = Backward if backward else Forward
    for name, moved, by_parts, options, is_graph in forms(group, layer.split, backward):
        def run(*tensors, moved=moved, own=parts if by_parts else PARTS):
            return layer(moved, own, *tensors)
        if options is not None:
            key = id(moved), str(options)
            run = whole.setdefault(key, torch.compile(run, dynamic=False, options=options))
        call = direction(run, layer.tensors, layer.grad)
        made[name] = Captured(call) if is_graph else call
    return made


def reference(layer, group, backward):
    """Results in fp32, of operations one by one."""
    moved = layer.split(Eager(group))
    tensors, grad = [tensor.float() for tensor in layer.tensors], layer.grad.float()
    return results((Backward if backward else Forward)(lambda *own: layer(moved, PARTS, *own), tensors, grad)())


def results(made):
    """What a call gives, as a list."""
    return list(made) if isinstance(made, (tuple, list)) else [made]


def distance(made, exact):
    """How far results lie from others, of the norms of these: the farthest of all results and ranks."""
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
    """The gradients of a layer's input and weights, given that of its result. The forward pass is part of the first call."""

    def __init__(self, run, tensors, grad):
        self.run, self.grad, self.result = run, grad, None
        self.tensors = [tensor.detach().requires_grad_() for tensor in tensors]

    def __call__(self):
        if self.result is None:
            self.result = self.run(*self.tensors)
        return torch.autograd.grad(self.result, self.tensors, self.grad, retain_graph=True)


class Captured:
    """A call as a CUDA graph, which the first call captures; what autograd has of the forward pass is of the same stream."""

    def __init__(self, call):
        self.call, self.graph, self.made = call, None, None

    def __call__(self):
        if self.graph is None:
            self.capture()
        self.graph.replay()
        return self.made

    def capture(self):
        """Calls it until everything is compiled and allocated, and records it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            self.made = self.call()
        self.graph = graph


def memory(call):
    """Bytes that a call has beyond its results at its height, the workspaces of its products included; None where PyTorch does not
    tell, and of a graph, which keeps its memory."""
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
    """What the allocator of this rank's GPU did."""
    return torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]


def height(events, kept):
    """The most bytes that are there at a time of what the allocator takes, without what is at some addresses at the end."""
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
    """Leaves the faster of PyTorch's attention kernels switched on, for this size and direction, and says which; "" without one."""
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
    return str(best)


LAYERS = [name + suffix for name in MADE for suffix in ("", BACKWARD)]


def make(operation, group, sizes):
    """A layer with its tensors, and whether its backward pass is meant."""
    layer = MADE[operation.removesuffix(BACKWARD)](group, **sizes)
    layer.tensors, layer.grad = [layer.x, *layer.weights], normal(*layer.x.shape)
    return layer, operation.endswith(BACKWARD)


def load(operation, group, **sizes):
    """(the peers of a layer by name, what gives its results in fp32)."""
    torch._functorch.config.donated_buffer = False  # what the forward pass saved is used by every backward pass
    layer, backward = make(operation, group, sizes)
    return calls(layer, group, backward), lambda: reference(layer, group, backward)
