"""Problems 1 to 9: collectives."""

from . import solves


@solves("1_allreduce")
def allreduce(program, tensor):
    """The sum of the ranks' tensors, on every rank."""
    return program(tensor)
