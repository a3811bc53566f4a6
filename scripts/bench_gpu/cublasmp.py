"""cuBLASMp's overlapped GEMMs as peers of bench.py, if nvcc and the libraries are installed.

The libraries are Python packages: nvidia-cublasmp-cu13 (0.7.0.125 is the last version for NCCL 2.28 and cuBLAS 13.0), and
nvidia-nvshmem-cu13 and nvidia-nccl-cu13, which come with PyTorch. If one is missing, a line names it, and the benchmark
runs without these peers. cublasmp_peer.cpp is the program.
"""
import json
import os
import pathlib
import sys
import tempfile

import cells
import programs
import runs
from folders import NVCC
from paced import Silence

SOURCE = pathlib.Path(__file__).with_name("cublasmp_peer.cpp")
#: (folder of a package below nvidia/, its header, its library).
PARTS = [("cublasmp/cu13", "cublasmp.h", "libcublasmp.so*"), ("nvshmem", "nvshmem.h", "libnvshmem_host.so*"), ("nccl", "nccl.h", "libnccl.so*")]


class Missing(Exception):
    """A dependency of the peer is missing; the message names it."""


def located(roots):
    """[(include folder, library)] of PARTS, found below any of the roots; raises Missing."""
    found = []
    for package, header, library in PARTS:
        folders = [root / "nvidia" / package for root in roots]
        folder = next((f for f in folders if (f / "include" / header).exists() and list((f / "lib").glob(library))), None)
        if folder is None:
            raise Missing(f"no {header} with {library} in any nvidia/{package} of Python's packages")
        found.append((folder / "include", sorted((folder / "lib").glob(library))[0]))
    return found


def build(work):
    """Compiles the program and returns its path; raises Missing."""
    parts = located([pathlib.Path(path) for path in sys.path if path])
    program = pathlib.Path(work).resolve() / "cublasmp_peer"
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [NVCC if NVCC.exists() else "nvcc", "-O2", "-std=c++17", SOURCE, "-o", program]
    command += [word for include, library in parts for word in ("-I", include, f"-Xlinker={library}", f"-Xlinker=-rpath={library.parent}")]
    code, output = programs.quiet([*command, "-lcublas", "-Xlinker=--allow-shlib-undefined"])
    if code != 0:
        raise Missing(f"{SOURCE.name} does not compile: {output.strip()[-500:]}")
    return program


class Cublasmp(runs.Peers):
    """One process a rank, as for PyTorch. An operation that made the processes end or hang is not tried again."""

    def __init__(self, ranks, program):
        self.program, self.broken, self.operation = program, set(), None
        self.folder = tempfile.TemporaryDirectory()
        self.starts = 0
        super().__init__(ranks)

    def command(self):
        """A rank's command line. Ranks exchange NCCL's ID over a file, a new one for each start."""
        return [self.program, pathlib.Path(self.folder.name) / f"id{self.starts}"]

    def environment(self):
        """Turns NVLink multicast off, for NCCL only if NCCL_NVLS_ENABLE is not set."""
        return {"NVSHMEM_DISABLE_NVLS": "1", "NCCL_NVLS_ENABLE": os.environ.get("NCCL_NVLS_ENABLE", "0")}

    def start(self):
        """Starts the processes."""
        self.starts += 1
        super().start()

    def spelled(self, command):
        """A command in the program's format: its values, separated by spaces, without calls_per_graph, since the program has no graphs."""
        return " ".join(str(value) for name, value in command.items() if name != "calls_per_graph")

    def ask(self, **command):
        """Rank 0's answer; on Silence, marks the operation as broken and raises."""
        try:
            return super().ask(**command)
        except Silence:
            self.broken.add(self.operation)
            raise

    def load(self, cell, in_graph=1):
        """Makes a cell's tensors and returns the items of its peers; none for tiny cells, layers and broken operations."""
        self.operation = cell.operation
        if cell.is_tiny or cell.operation not in cells.OPERATIONS or cell.operation in self.broken:
            return {}
        return super().load(cell, in_graph)


class Both:
    """Combines the peers of several libraries; PyTorch's come first."""

    def __init__(self, parts):
        self.parts, self.owner = parts, {}
        self.about = parts[0].about

    def load(self, cell, in_graph=1):
        """The items of all peers of a cell."""
        loaded = [(part, part.load(cell, in_graph)) for part in self.parts]
        self.owner = {name: part for part, items in loaded for name in items}
        return {name: item for _, items in loaded for name, item in items.items()}

    def round(self, peer, *rest):
        """Times a round of a peer."""
        self.owner[peer].round(peer, *rest)

    def bounds(self, *rest):
        """The bounds of a shape, as PyTorch measures them."""
        return self.parts[0].bounds(*rest)

    def stop(self):
        """Ends all processes."""
        for part in self.parts:
            part.stop()


def joined(peers, args):
    """The peers together with cuBLASMp's; if these are not available, prints the reason and returns the peers alone."""
    try:
        own = Cublasmp(args.ranks, build(args.work))
    except Missing as missing:
        print(f"without cuBLASMp: {missing}", file=sys.stderr)
        return peers
    if not own.about:
        return peers
    print(f"with cuBLASMp {json.dumps(own.about)}", flush=True)
    return Both([peers, own])
