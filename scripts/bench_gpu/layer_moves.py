"""The communication in the layers of layer_models.py: teams implement it, and Split and Whole place a layer's rows."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

ONE_SHOT_RANKS = 2  # with more ranks, the two-shot kernel is used


class Eager:
    """Collectives into new tensors, one after the other on the caller's stream. On one rank they do nothing, as in hirgen's programs."""

    def __init__(self, group):
        self.ranks = group.size()

    def gather(self, rows):
        """The rows of all ranks."""
        if self.ranks == 1:
            return rows.view(rows.shape)
        full = rows.new_empty(rows.shape[0] * self.ranks, *rows.shape[1:])
        dist.all_gather_into_tensor(full, rows.contiguous())
        return full

    def scatter(self, part):
        """The sum over ranks, reduced to this rank's rows."""
        if self.ranks == 1:
            return part.view(part.shape)
        out = part.new_empty(part.shape[0] // self.ranks, *part.shape[1:])
        dist.reduce_scatter_tensor(out, part.contiguous())
        return out

    def reduce(self, part):
        """The sum over ranks, in place."""
        part = part.contiguous()
        dist.all_reduce(part)
        return part


class Functional:
    """Functional collectives, which torch.compile can trace."""

    def __init__(self, group):
        self.ranks, self.name = group.size(), group.group_name

    def gather(self, rows):
        """The rows of all ranks."""
        return self._done(torch.ops._c10d_functional.all_gather_into_tensor(rows.contiguous(), self.ranks, self.name))

    def scatter(self, part):
        """The sum over ranks, reduced to this rank's rows."""
        return self._done(torch.ops._c10d_functional.reduce_scatter_tensor(part.contiguous(), "sum", self.ranks, self.name))

    def reduce(self, part):
        """The sum over ranks."""
        return self._done(torch.ops._c10d_functional.all_reduce(part.contiguous(), "sum", self.name))

    @staticmethod
    def _done(tensor):
        return torch.ops._c10d_functional.wait_tensor(tensor)


class Nothing:
    """No communication: rows of other ranks are copies of this rank's, and the local partial sum stands for the sum."""

    def __init__(self, group):
        self.ranks, self.rows = group.size(), {}

    def gather(self, rows):
        """The rows of the first call, once for each rank."""
        key = rows.shape, rows.dtype
        if key not in self.rows:
            self.rows[key] = torch.cat([rows.detach()] * self.ranks)
        return self.rows[key].view(-1, *rows.shape[1:])

    def scatter(self, part):
        """The first rows, as many as a rank keeps."""
        return part[:part.shape[0] // self.ranks]

    @staticmethod
    def reduce(part):
        """The local partial sum."""
        return part.view(part.shape)


def moves(team):
    """The communication of a layer as operations with gradients: (gather, scatter, enter, leave). enter is applied to a replicated
    tensor before a split part of the layer, and leave sums the partial results after it."""
    class Gather(torch.autograd.Function):
        """Gathers rows. The backward pass sums and scatters the gradient."""

        @staticmethod
        def forward(_, rows):
            """Gathers."""
            return team.gather(rows)

        @staticmethod
        def backward(_, grad):
            """Scatters."""
            return team.scatter(grad)

    class Scatter(torch.autograd.Function):
        """Sums and scatters rows. The backward pass gathers the gradient."""

        @staticmethod
        def forward(_, part):
            """Scatters."""
            return team.scatter(part)

        @staticmethod
        def backward(_, grad):
            """Gathers."""
            return team.gather(grad)

    class Enter(torch.autograd.Function):
        """The identity. The backward pass sums the gradients of all ranks."""

        @staticmethod
        def forward(_, whole):
            """The input itself."""
            return whole.view(whole.shape)

        @staticmethod
        def backward(_, grad):
            """Sums."""
            return team.reduce(grad)

    class Leave(torch.autograd.Function):
        """Sums over ranks. The backward pass gives the gradient to each partial sum."""

        @staticmethod
        def forward(_, part):
            """Sums."""
            return team.reduce(part)

        @staticmethod
        def backward(_, grad):
            """The gradient itself."""
            return grad

    return Gather.apply, Scatter.apply, Enter.apply, Leave.apply


def weight_gradient(rows, grad, matrix):
    """The gradient of the matrix in rows @ matrix, with the layout of the matrix."""
    return rows.t() @ grad if matrix.is_contiguous() else (grad.t() @ rows).t()


def overlapping(ranks, split):
    """into with an overlapped backward pass: the sum of the rows' gradient runs during the GEMM of the matrix's gradient."""
    class Into(torch.autograd.Function):
        """gather(rows) @ matrix, or rows @ matrix."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Gathers, then multiplies."""
            full = rows
            if split:
                full = rows.new_empty(rows.shape[0] * ranks, *rows.shape[1:])
                dist.all_gather_into_tensor(full, rows.contiguous())
            ctx.save_for_backward(full, matrix)
            return full @ matrix

        @staticmethod
        def backward(ctx, grad):
            """Waits for the sum after the GEMM of the matrix's gradient."""
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
    """Allreduces by kernels that read symmetric memory. After such a kernel ends, no rank reads the buffer, so the next call may overwrite
    it."""

    def __init__(self, group):
        super().__init__(group)
        self.name, self.buffers = group.group_name, {}

    def buffer(self, part):
        """The symmetric buffer for partial sums of this shape."""
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
    """Async-TP's operations with gradients: (gather and GEMM, GEMM and scatter)."""
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
            """Gathers and multiplies in one operation."""
            full, product = gathered(rows, matrix)
            ctx.save_for_backward(full, matrix)
            return product

        @staticmethod
        def backward(ctx, grad):
            """Computes the gradient of the rows, multiplied and scattered in one operation, and the gradient of the matrix."""
            full, matrix = ctx.saved_tensors
            return scattered(grad, matrix.t()), weight_gradient(full, grad, matrix)

    class Out(torch.autograd.Function):
        """scatter(rows @ matrix)."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Multiplies and scatters in one operation."""
            ctx.save_for_backward(rows, matrix)
            return scattered(rows, matrix)

        @staticmethod
        def backward(ctx, grad):
            """Gathers the gradient and multiplies it in one operation; computes the gradient of the matrix."""
            rows, matrix = ctx.saved_tensors
            full, product = gathered(grad, matrix.t())
            return product, weight_gradient(rows, full, matrix)

    return Into.apply, Out.apply


class Split:
    """Rows split over ranks outside of the GEMMs: gathered before the first GEMM, summed and scattered after the second one. farthest
    is the largest accepted distance of a layer's result from the one in fp32, relative to its norm."""

    is_split, farthest = True, 0.05

    def __init__(self, team):
        gather, scatter, self.vector, _ = moves(team)
        self.into = lambda rows, matrix: gather(rows) @ matrix
        self.out = lambda rows, matrix: scatter(rows @ matrix)

    @classmethod
    def fused(cls, group):
        """The placement with async-TP's fused operations."""
        made = cls(Eager(group))
        made.into, made.out = fused(group)
        return made


class Whole:
    """All rows on every rank: the partial sums are summed over ranks."""

    is_split, farthest = False, 0.05

    def __init__(self, team):
        _, _, enter, leave = moves(team)
        self.into = lambda rows, matrix: enter(rows) @ matrix
        self.out = lambda rows, matrix: leave(rows @ matrix)
        self.vector = lambda vector: vector


def overlapped(split, group):
    """The placement split, with sums that overlap GEMMs in the backward pass."""
    made = split(Eager(group))
    made.into = overlapping(group.size(), split.is_split)
    return made
