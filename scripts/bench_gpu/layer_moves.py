"""What crosses ranks in the layers of layer_models.py, and by whom: teams, and where a layer's rows lie."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

from on_gpu import normal

ONE_SHOT_RANKS = 2  # above, sums are scattered and gathered


class Eager:
    """Collectives into new tensors, one after the other on the caller's stream."""

    def __init__(self, group):
        self.ranks = group.size()

    def gather(self, rows):
        """The rows of all ranks."""
        full = rows.new_empty(rows.shape[0] * self.ranks, *rows.shape[1:])
        dist.all_gather_into_tensor(full, rows.contiguous())
        return full

    def scatter(self, part):
        """The sum over ranks, of which a rank keeps its rows."""
        out = part.new_empty(part.shape[0] // self.ranks, *part.shape[1:])
        dist.reduce_scatter_tensor(out, part.contiguous())
        return out

    def reduce(self, part):
        """The sum over ranks, in place."""
        part = part.contiguous()
        dist.all_reduce(part)
        return part


class Functional:
    """Collectives that torch.compile can see through."""

    def __init__(self, group):
        self.ranks, self.name = group.size(), group.group_name

    def gather(self, rows):
        """The rows of all ranks."""
        return self._done(torch.ops._c10d_functional.all_gather_into_tensor(rows.contiguous(), self.ranks, self.name))

    def scatter(self, part):
        """The sum over ranks, of which a rank keeps its rows."""
        return self._done(torch.ops._c10d_functional.reduce_scatter_tensor(part.contiguous(), "sum", self.ranks, self.name))

    def reduce(self, part):
        """The sum over ranks."""
        return self._done(torch.ops._c10d_functional.all_reduce(part.contiguous(), "sum", self.name))

    @staticmethod
    def _done(tensor):
        return torch.ops._c10d_functional.wait_tensor(tensor)


class Nothing:
    """No communication: rows of other ranks are some random ones, and sums a rank's own part."""

    def __init__(self, group):
        self.ranks, self.rows = group.size(), {}

    def gather(self, rows):
        """As many rows as all ranks have."""
        shape = (rows.shape[0] * self.ranks, *rows.shape[1:])
        if shape not in self.rows:
            self.rows[shape] = normal(*shape)
        return self.rows[shape].view(shape)

    def scatter(self, part):
        """The first rows."""
        return part[:part.shape[0] // self.ranks]

    @staticmethod
    def reduce(part):
        """The part."""
        return part.view(part.shape)


def moves(team):
    """What crosses ranks in a layer, by name, as operations with gradients: (gather, scatter, enter, leave). enter and leave
    stand where a tensor that all ranks have goes into a part of the layer that is split, and where the parts are summed."""
    class Gather(torch.autograd.Function):
        """The gradient of gathered rows is summed and scattered."""

        @staticmethod
        def forward(_, rows):
            """Gathers."""
            return team.gather(rows)

        @staticmethod
        def backward(_, grad):
            """Scatters."""
            return team.scatter(grad)

    class Scatter(torch.autograd.Function):
        """The gradient of scattered rows is gathered."""

        @staticmethod
        def forward(_, part):
            """Scatters."""
            return team.scatter(part)

        @staticmethod
        def backward(_, grad):
            """Gathers."""
            return team.gather(grad)

    class Enter(torch.autograd.Function):
        """The ranks' gradients are summed."""

        @staticmethod
        def forward(_, whole):
            """The same."""
            return whole.view(whole.shape)

        @staticmethod
        def backward(_, grad):
            """Sums."""
            return team.reduce(grad)

    class Leave(torch.autograd.Function):
        """The gradient is that of each part."""

        @staticmethod
        def forward(_, part):
            """Sums."""
            return team.reduce(part)

        @staticmethod
        def backward(_, grad):
            """The same."""
            return grad

    return Gather.apply, Scatter.apply, Enter.apply, Leave.apply


def weight_gradient(rows, grad, matrix):
    """That of a matrix by which rows were multiplied, lying as the matrix does."""
    return rows.t() @ grad if matrix.is_contiguous() else (grad.t() @ rows).t()


def overlapping(ranks, split):
    """into, whose backward pass sums the gradient of its rows while it makes that of its matrix."""
    class Into(torch.autograd.Function):
        """gather(rows) @ matrix, or rows @ matrix."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """One after the other."""
            full = rows
            if split:
                full = rows.new_empty(rows.shape[0] * ranks, *rows.shape[1:])
                dist.all_gather_into_tensor(full, rows.contiguous())
            ctx.save_for_backward(full, matrix)
            return full @ matrix

        @staticmethod
        def backward(ctx, grad):
            """The sum is waited for at the end."""
            full, matrix = ctx.saved_tensors
            out = part = grad @ matrix.t()
            if split:
                out = part.new_empty(part.shape[0] // ranks, *part.shape[1:])
                work = dist.reduce_scatter_tensor(out, part, async_op=True)
            else:
                work = dist.all_reduce(part, async_op=True)
            of_matrix = weight_gradient(full, grad, matrix)
            work.wait()
            return out, of_matrix

    return Into.apply


class OneShot(Eager):
    """Sums on every rank by kernels that read symmetric memory. A buffer is free again when the kernel ends."""

    def __init__(self, group):
        super().__init__(group)
        self.name, self.buffers = group.group_name, {}

    def buffer(self, part):
        """Symmetric memory for such a part."""
        if part.shape not in self.buffers:
            self.buffers[part.shape] = symm_mem.empty(*part.shape, device="cuda", dtype=part.dtype)
            symm_mem.rendezvous(self.buffers[part.shape], self.name)
        return self.buffers[part.shape]

    def reduce(self, part):
        """The sum over ranks."""
        shared = self.buffer(part).copy_(part)
        if self.ranks <= ONE_SHOT_RANKS:
            return torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", self.name)
        return torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", self.name).clone()


def fused(group):
    """Async-TP's operations, with gradients: (product of gathered rows, scattered product)."""
    name = group.group_name

    def gathered(rows, matrix):
        full, (product,) = torch.ops.symm_mem.fused_all_gather_matmul(rows.contiguous(), [matrix], 0, name)
        return full, product

    def scattered(rows, matrix):
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(rows.contiguous(), matrix, "sum", 0, name)

    class Into(torch.autograd.Function):
        """gather(rows) @ matrix."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Fused."""
            full, product = gathered(rows, matrix)
            ctx.save_for_backward(full, matrix)
            return product

        @staticmethod
        def backward(ctx, grad):
            """That of the rows is scattered."""
            full, matrix = ctx.saved_tensors
            return scattered(grad, matrix.t()), weight_gradient(full, grad, matrix)

    class Out(torch.autograd.Function):
        """scatter(rows @ matrix)."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Fused."""
            ctx.save_for_backward(rows, matrix)
            return scattered(rows, matrix)

        @staticmethod
        def backward(ctx, grad):
            """Of what is gathered."""
            rows, matrix = ctx.saved_tensors
            full, product = gathered(grad, matrix.t())
            return product, weight_gradient(rows, full, matrix)

    return Into.apply, Out.apply


class Split:
    """Rows split over ranks outside of products: gathered before them, and summed and scattered after them."""

    is_split = True

    def __init__(self, team):
        gather, scatter, self.vector, _ = moves(team)
        self.into = lambda rows, matrix: gather(rows) @ matrix
        self.out = lambda rows, matrix: scatter(rows @ matrix)

    @classmethod
    def fused(cls, group):
        """The same by async-TP."""
        made = cls(Eager(group))
        made.into, made.out = fused(group)
        return made


class Whole:
    """All rows on every rank: products of parts are summed."""

    is_split = False

    def __init__(self, team):
        _, _, enter, leave = moves(team)
        self.into = lambda rows, matrix: enter(rows) @ matrix
        self.out = lambda rows, matrix: leave(rows @ matrix)
        self.vector = lambda vector: vector


def overlapped(split, group):
    """Rows that lie so, with sums beside products of the backward pass."""
    made = split(Eager(group))
    made.into = overlapping(group.size(), split.is_split)
    return made
