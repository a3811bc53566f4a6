"""A program as a custom op of PyTorch, which torch.compile does not trace into. With a backward program, it has a gradient."""

from pathlib import Path

import torch
import torch.distributed as dist
import torch.utils._python_dispatch

from .handle import Handle, close, handle_of, join
from .program import Program


class Operator:
    """Calls a program. The gradient of an input is the backward program's output whose `gradient_of` names the input, if any.

    The operator is torch.ops.hirgen.<name>_<first 8 digits of the digest>, so programs of one spec with different sizes can
    be used in one process.
    """

    def __init__(self, forward: Program, backward: Program | None = None):
        self.forward, self.backward = forward, backward
        self._op = _register(forward)
        self._of_some = any(tensor.ranks for tensor in forward.tensors)
        self._device = "cpu" if forward.on_cpu else "cuda"  # used if a call has no input tensor
        self._returned = [i for i, tensor in enumerate(forward.outputs) if backward is None or _has_gradient(tensor, backward)]
        if backward is not None:
            _register_gradient(self._op, forward, _register(backward), backward)

    def __call__(self, *inputs: torch.Tensor | None, group: dist.ProcessGroup | None = None):
        """Calls the program. Returns a tuple of its outputs, or the tensor if there is only one. Leaves out outputs that are
        only saved for the backward pass. None stands for a tensor that this rank does not have."""
        if self._of_some:
            return self._without_none(inputs, group)
        return self._call(inputs, group)

    def _without_none(self, inputs, group):
        """Calls a program in which only some ranks have some tensors. On other ranks, replaces None by an empty tensor and back."""
        device = next((given.device for given in inputs if given is not None), self._device)
        whole = [
            torch.empty(0, dtype=tensor.dtype, device=device) if given is None and tensor.ranks else given
            for tensor, given in zip(self.forward.inputs, inputs, strict=True)
        ]
        results = self._call(tuple(whole), group)
        if isinstance(results, torch.Tensor):
            return None if results.shape == (0,) and self.forward.outputs[0].ranks else results
        return tuple(
            None if tensor.ranks and result.shape == (0,) else result
            for tensor, result in zip(self.forward.outputs, results, strict=True)
        )

    def _call(self, inputs: tuple[torch.Tensor, ...], group: dist.ProcessGroup | None):
        if _is_plain(inputs):
            device = self.forward.check(inputs)
            outputs = handle_of(self.forward, _name_of(group), device).run(inputs)
        else:
            outputs = self._op(*inputs, _name_of(group))
            if len(self.forward.outputs) == 1:
                return outputs
        if len(outputs) == 1:
            return outputs[0]
        returned = tuple(outputs[i] for i in self._returned)
        return returned[0] if len(returned) == 1 else returned

    def join(
        self,
        device: torch.device | str,
        group: dist.ProcessGroup | None = None,
        timeout: float = 60.0,
        plans: Path | None = None,
    ) -> Handle:
        """Joins the other ranks with these options, before the first call would join. Returns the forward program's handle.

        timeout is the deadline of every wait, in seconds. plans is a file with algorithms of GEMMs, which the program's
        executable wrote with --tune. The backward program joins with the same options.
        """
        place = _name_of(group), _with_index(torch.device(device))
        handles = [join(program, *place, timeout, plans) for program in self._programs()]
        return handles[0]

    def close(self, device: torch.device | str, group: dist.ProcessGroup | None = None) -> None:
        """Leaves the other ranks, which must all call close, too. Raises HirgenError after a failure. The next call joins again."""
        close(self._programs(), _name_of(group), _with_index(torch.device(device)))

    def _programs(self) -> tuple[Program, ...]:
        return (self.forward,) if self.backward is None else (self.forward, self.backward)


def _is_plain(inputs: tuple[torch.Tensor, ...]) -> bool:
    """Returns whether a call can bypass PyTorch's dispatcher, which takes about 25 microseconds, as much as a small program.
    This requires that there are no gradients, traces, fake tensors or other tensor subclasses."""
    return (
        not torch.compiler.is_compiling()
        and not torch.utils._python_dispatch._len_torch_dispatch_stack()
        and torch._C._functorch.peek_interpreter_stack() is None
        and all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in inputs)
        and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs))
    )


def _name_of(group: dist.ProcessGroup | None) -> str:
    """Returns the name of a process group. Traced graphs contain the name, as for PyTorch's own collectives. None means the
    default group; its name is "" if it was not initialised."""
    if group is not None:
        return group.group_name
    return dist.group.WORLD.group_name if dist.is_initialized() else ""


def _with_index(device: torch.device) -> torch.device:
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _register(program: Program):
    """Returns the custom op of a program. The first call in a process registers it with PyTorch."""
    name = f"{program.name}_{program.digest[:8]}"
    if hasattr(torch.ops.hirgen, name):
        return getattr(torch.ops.hirgen, name)

    # Arguments have the names of tensors with "_" appended, because some names are reserved words of schemas.
    takes = ", ".join(f"Tensor {tensor.name}_" for tensor in program.inputs)
    gives = ", ".join("Tensor" for _ in program.outputs)
    one = len(program.outputs) == 1

    def run(*arguments):
        *inputs, group = arguments
        device = program.check(tuple(inputs))
        outputs = handle_of(program, group, device).run(tuple(inputs))
        return outputs[0] if one else outputs

    def fake(*arguments):
        *inputs, group = arguments
        device = program.check(tuple(inputs))
        rank = dist.get_rank(dist.distributed_c10d._resolve_process_group(group)) if group else 0
        outputs = tuple(torch.empty(t.shape_on(rank), dtype=t.dtype, device=device) for t in program.outputs)
        return outputs[0] if one else outputs

    op = torch.library.custom_op(
        f"hirgen::{name}", run, mutates_args=(), schema=f"({takes}, str group) -> {gives if one else f'({gives})'}"
    )
    op.register_fake(fake)
    if any(tensor.ranks for tensor in program.tensors):
        torch.fx.node.has_side_effect(op._opoverload)  # or a rank without results would drop the call
    return op


def _has_gradient(tensor, backward: Program) -> bool:
    return any(given.gradient_of == tensor.name for given in backward.inputs)


def _register_gradient(op, forward: Program, backward_op, backward: Program) -> None:
    """Makes the backward program the gradient of the forward program. The inputs of the backward program are gradients of
    outputs, which have `gradient_of`, and inputs and outputs of the forward program, with the same names."""
    forward_names = [tensor.name for tensor in forward.tensors]
    place = {tensor.name: i for i, tensor in enumerate(forward.outputs)}
    saved = [tensor.name for tensor in backward.inputs if not tensor.gradient_of]

    def save(ctx, inputs, output):
        *given, ctx.group = inputs
        made = [output] if isinstance(output, torch.Tensor) else list(output)
        by_name = dict(zip(forward_names, given + made, strict=True))
        ctx.save_for_backward(*(by_name[name] for name in saved))

    def gradient(ctx, *gradients):
        by_name = dict(zip(saved, ctx.saved_tensors, strict=True))
        arguments = [
            gradients[place[tensor.gradient_of]].contiguous() if tensor.gradient_of else by_name[tensor.name]
            for tensor in backward.inputs
        ]
        results = backward_op(*arguments, ctx.group)
        made = [results] if isinstance(results, torch.Tensor) else results
        of_name = {tensor.gradient_of: result for tensor, result in zip(backward.outputs, made, strict=True)}
        return *(of_name.get(tensor.name) for tensor in forward.inputs), None

    op.register_autograd(gradient, setup_context=save)
