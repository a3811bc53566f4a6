"""One rank of scoreboard.py: checks solutions against the references of the benchmark, and times both, with the benchmark's functions."""

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

ATOL = RTOL = 1e-2  # tolerances of the benchmark
WARM_UP, TIMED = 500, 100  # numbers of calls in the benchmark
SIDE = 1024  # rows and columns in the benchmark
IN_GRAPH = 5  # calls in a CUDA graph
REPEATS = 9  # measurements of a graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path)
    parser.add_argument("problems", type=int, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--until", type=float, default=float("inf"), help="no problem begins later; seconds of time.time()")
    parser.add_argument("--compile", action="store_true", help="time the compiled reference in a CUDA graph, too")
    args = parser.parse_args()
    sys.path[:0] = [str(args.bench), str(Path(__file__).resolve().parent)]
    cuda = torch.cuda.is_available()
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
    from solutions import SOLUTIONS

    for number in args.problems:
        late = [None] * dist.get_world_size()
        dist.all_gather_object(late, time.time() > args.until)
        if any(late):
            break
        row = {"problem": number, "name": SOLUTIONS[number].name}
        try:
            row |= Problem(args.bench, SOLUTIONS[number], device).row(args.trials, args.compile)
        except Exception as error:  # one problem must not end the others
            row["failed"] = "".join(traceback.format_exception_only(error)).strip()[:300]
            traceback.print_exc()
        rows = [None] * dist.get_world_size()
        dist.all_gather_object(rows, row)
        row = merged(rows)
        if rank == 0:
            with open(args.out, "a") as out:
                print(json.dumps(row), file=out, flush=True)
            print(json.dumps(row), flush=True)
        if any(key.endswith("failed") for key in row):
            # After a capture that failed, PyTorch's generators stay in capture, and memory may be exhausted: scoreboard.py starts the ranks again.
            dist.barrier()  # rank 0 has written the row
            sys.exit(1)
    dist.destroy_process_group()


def merged(rows: list[dict]) -> dict:
    """The row of all ranks: the slowest rank's times, and for other keys the value of the first rank that has the key."""
    row = dict(rows[0])
    for other in rows[1:]:
        for key, value in other.items():
            row[key] = max(row.get(key, 0), value) if isinstance(value, float) else row.get(key, value)
    return row


class Problem:
    """A problem on one rank."""

    def __init__(self, bench: Path, solution, device: torch.device):
        found = importlib.util.spec_from_file_location(f"reference_{solution.number}", bench / "reference" / f"{solution.name}.py")
        self.reference = importlib.util.module_from_spec(found)
        sys.modules[found.name] = self.reference  # torch.compile imports the modules of functions
        found.loader.exec_module(self.reference)
        self.solution, self.device = solution, device

    def row(self, trials: int, compiled: bool) -> dict:
        """The row of the problem for the scoreboard."""
        self.solution.program(dist.get_world_size())  # built before anything is timed
        for trial in range(trials):
            if why := self.difference(trial):
                return {"wrong": why[:300]}
        row = {"solved": True, "trials": trials, "device": self.device.type}
        if self.device.type == "cuda":
            row |= self.times(compiled)
        return row

    def arguments(self, trial: int) -> tuple:
        """The problem's arguments, new ones in each call."""
        from utils.input_output_tensors import create_input_tensor

        return create_input_tensor(dist.get_rank(), dist.get_world_size(), self.solution.number, (SIDE, SIDE), torch.bfloat16, trial, self.device)

    def difference(self, trial: int) -> str:
        """The first difference from the reference, on any rank; empty if there is none."""
        from utils.problem_id import rank_outputs_compare_details

        saved = [self.saved(call, self.arguments(trial)) for call in (self.reference.solution, self.solution)]
        found = rank_outputs_compare_details(*([("rank_0.pt", data)] for data in saved), atol=ATOL, rtol=RTOL)
        errors = [None] * dist.get_world_size()
        dist.all_gather_object(errors, "" if found["ok"] else str(found["errors"][:1]))
        return next((f"trial {trial}, rank {rank}: {error}" for rank, error in enumerate(errors) if error), "")

    def saved(self, call, arguments: tuple) -> bytes:
        """The result of a call as the benchmark stores it."""
        from utils.input_output_tensors import save_tensor

        with tempfile.TemporaryDirectory() as folder:
            result = call(*arguments)
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            return Path(save_tensor(result, folder, 0)).read_bytes()

    def times(self, compiled: bool) -> dict[str, float]:
        """Milliseconds of a call of the reference and of hirgen, and of both in CUDA graphs. A failed capture gives its reason
        instead, and ends the captures."""
        times = {"reference_ms": self.timed(self.reference.solution), "hirgen_ms": self.timed(self.solution)}
        forms = {"hirgen_graph": self.solution, "graph": self.reference.solution}
        if compiled:
            forms["compiled_graph"] = torch.compile(self.reference.solution, dynamic=False)
        for name, call in forms.items():
            try:
                times[f"{name}_ms"] = self.graph(call)
            except Exception as error:  # many references cannot be captured: they wait for the GPU
                times[f"{name}_failed"] = str(error).split("\n")[0][:100]
                torch.cuda.synchronize()
                break
        return times

    def timed(self, call) -> float:
        """Milliseconds of a call, measured by the benchmark's function."""
        from scripts.worker import _perf_run_fn_and_first_tensor
        from utils.performance import measure_solution_performance

        tensor, run = _perf_run_fn_and_first_tensor(call, self.arguments(0))
        dist.barrier()
        return measure_solution_performance(run, tensor, WARM_UP, TIMED)["wall_time_ms"]

    def graph(self, call) -> float:
        """Milliseconds of a call in a CUDA graph of IN_GRAPH calls, the median of REPEATS measurements."""
        arguments = self.arguments(0)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                call(*arguments)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            for _ in range(IN_GRAPH):
                call(*arguments)
        for _ in range(WARM_UP // IN_GRAPH):
            graph.replay()
        torch.cuda.synchronize()
        return statistics.median(self.replayed(graph) for _ in range(REPEATS))

    def replayed(self, graph: torch.cuda.CUDAGraph) -> float:
        """Milliseconds of a call in TIMED calls of a graph. A delay of the host's thread may take longer than all these calls."""
        dist.barrier()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(TIMED // IN_GRAPH):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / TIMED


if __name__ == "__main__":
    main()
