#!/usr/bin/env python3
"""Tests on this machine's GPUs that a process survives the loss of a peer: HIRGEN_FAILURE_RETURNS of the C ABI.

    scripts/verify_failures.py [--device cuda|cpu] [--only WORD] [--shared]

Each of VARIANTS is a program on two ranks, which both run the client of TestSurvivors (internal/e2e/testdata/survivor.c).
Rank 1 is lost in or after its third call, in each of the ways of LOSSES, and a third process waits to replace it. Rank 0 must receive
the report in time, return from the call, do other work on the device, and compute correct results with a new handle
together with the replacement. With --shared both ranks may use one GPU, and the variant over NCCL is left out.
The script needs bin/hirgen (make build), two GPUs, CMake, Ninja and a C compiler. It prints Markdown. The exit code is 1 if a
case failed; stderr then has the output of its processes.
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts" / "bench_gpu"))

from paced import reserved_port  # noqa: E402
from tables import table  # noqa: E402

SPEC = REPOSITORY / "testdata" / "specs" / "ag_matmul_p2p" / "spec.yaml"
CLIENT = REPOSITORY / "internal" / "e2e" / "testdata" / "survivor.c"
PARAMETERS = {"D": 2, "M": 64, "N": 24, "K": 32}
#: The variants cover the ways in which streams wait: NCCL's kernels, and flags in stream memory operations, kernels and CUDA graphs.
VARIANTS = {
    "nccl": {"all.via": "nccl"},
    "ipc-get": {"all.via": "ipc-get"},
    "ipc-put": {"all.via": "ipc-put"},
    "ipc-get, batched flags": {"all.via": "ipc-get", "all.signals": "batched"},
    "ipc-get, fused": {"all.via": "ipc-get", "all.copy": "fused", "all.signals": "batched"},
    "ipc-get, graph": {"all.via": "ipc-get", "graph": "true"},
}
#: {name: (the fault in the third call of rank 1, or None, the deadline in seconds, the exit code of rank 1)}.
LOSSES = {
    "kill": ("kill:1:3", 20, -signal.SIGKILL),
    "segv": ("segv:1:3", 20, -signal.SIGSEGV),
    "stop": ("stop:1:3", 5, 0),
    "stall": ("stall:1:3", 5, 6),
    "idle": (None, 5, 0),
}
#: The statement of the call at which the fault occurs; with a graph it is statement 1, which launches the graph.
STATEMENT = 5
STAND_IN_DEADLINE = 60
CASE_SECONDS = 90
#: Cases that run concurrently, since they mostly wait.
AT_ONCE = 4
WENT_ON = "went on"


def build_all(scratch, names, device):
    """Builds the clients of variants, in order. The first is built alone, since it compiles the runtime for the others."""
    folders = [scratch / str(index) for index in range(len(names))]
    jobs = list(zip(folders, (VARIANTS[name] for name in names)))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return [build(*job, device) for job in jobs[:1]] + list(pool.map(lambda job: build(*job, device), jobs[1:]))


def build(folder, schedule, device):
    """Emits and builds a program named exchange in `folder`; returns the path of the client."""
    folder.mkdir()
    spec = folder / "spec.yaml"
    lines = [line for line in SPEC.read_text().splitlines() if not line.startswith("schedule:")]
    fixed = {"pipeline": "p2p", "streams": 2, "all.lead": "none"}
    spec.write_text("\n".join("name: exchange" if line.startswith("name:") else line for line in lines) + "\n")
    out = folder / "out"
    command = [REPOSITORY / "bin" / "hirgen", "emit", spec, "-o", out]
    for name, value in PARAMETERS.items():
        command += ["-p", f"{name}={value}"]
    for name, value in {**fixed, **schedule}.items():
        command += ["--schedule", f"{name}={value}"]
    quiet(command)
    runtimes = f"-DHIRGEN_CACHE={folder.parent / 'runtimes'}"
    quiet(["cmake", "--preset", device, runtimes], cwd=out)
    quiet(["cmake", "--build", "--preset", device], cwd=out)
    built = out / "build" / device
    include = [out, out / "runtime" / "include"]
    libraries = ["-lhirgen_exchange"]
    search = [built]
    if device == "cpu":
        include.append(out / "runtime" / "cpu" / "include")
        libraries.append("-lhirgen_cpu")
    else:
        toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
        include.append(toolkit / "include")
        search += [toolkit / "lib64", *map(pathlib.Path, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
        libraries.append("-lcudart")
    client = folder / "client"
    quiet(["cc", "-std=c11", "-o", client, CLIENT, *[f"-I{path}" for path in include],
           *[flag for path in search for flag in (f"-L{path}", f"-Wl,-rpath,{path}")], *libraries])
    return client


def quiet(command, **options):
    """Runs a command; if it fails, exits with its output."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")


class Case:
    """Three processes: rank 0, which survives, rank 1, which is lost, and the replacement of rank 1."""

    def __init__(self, client, name, loss):
        fault, self.deadline, self.lost = LOSSES[loss]
        statement = 1 if "graph" in VARIANTS[name] else STATEMENT
        self.client, self.fault, self.secret = client, fault and f"{fault}:{statement}", secrets.token_hex(16)

    def start(self, role, rank, ports):
        deadline = STAND_IN_DEADLINE if role == "replacement" else self.deadline
        variables = {"HIRGEN_RANK": rank, "HIRGEN_WORLD": 2, "HIRGEN_PORT": ports[0], "SURVIVOR_PORT": ports[1],
                     "HIRGEN_JOB_SECRET": self.secret, "SURVIVOR_ROLE": role, "SURVIVOR_TIMEOUT": deadline}
        if role == "victim":
            variables["HIRGEN_FAULT"] = self.fault
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        return subprocess.Popen([self.client], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self):
        """Returns (the problems or "", seconds until rank 0 reported the failure)."""
        with reserved_port() as first, reserved_port() as second:
            roles = {"survivor": 0, "idler" if self.fault is None else "victim": 1, "replacement": 1}
            processes = {role: self.start(role, rank, (first, second)) for role, rank in roles.items()}
            said = self.wait(*processes.values())
        wanted = dict(zip(processes, (0, self.lost, 0)))
        wrong = [f"the {role} ended with code {process.returncode}, not {wanted[role]}"
                 for role, process in processes.items() if process.returncode != wanted[role]]
        found = re.search(r"failed after ([\d.]+) s", said[0])
        seconds = float(found[1]) if found else None
        if seconds is None or seconds > self.deadline + 5:
            wrong.append("rank 0 did not know in time")
        if wrong:
            print(*wrong, *said, sep="\n", file=sys.stderr)
        return "; ".join(wrong), seconds

    @staticmethod
    def wait(survivor, lost, stand_in):
        said = []
        end = time.monotonic() + CASE_SECONDS
        for process in (survivor, stand_in, lost):
            if process is lost and lost.poll() is None:
                lost.send_signal(signal.SIGCONT)
            try:
                said.append(process.communicate(timeout=max(1, end - time.monotonic()))[0])
            except subprocess.TimeoutExpired:
                process.kill()
                said.append(process.communicate()[0] + "\n(stuck: killed)")
        return said


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options.add_argument("--only", default="", help="only variants whose name contains this text")
    options.add_argument("--shared", action="store_true", help="ranks share GPUs; one GPU is enough")
    args = options.parse_args()
    if args.shared:
        os.environ["HIRGEN_SHARE_GPU"] = "1"
    names = [name for name in VARIANTS if args.only in name and not (args.shared and name == "nccl")]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        clients = dict(zip(names, build_all(pathlib.Path(scratch), names, args.device)))
        rows = list(pool.map(lambda case: row(clients[case[0]], *case), itertools.product(names, LOSSES)))
    print(table(["program", "loss", "deadline s", "known after s", "rank 0"], rows))
    sys.exit(1 if any(outcome != WENT_ON for *_, outcome in rows) else 0)


def row(client, name, loss):
    """Runs a case and returns its row of the table."""
    wrong, seconds = Case(client, name, loss).run()
    print(f"{name}, {loss}: {wrong or WENT_ON}", file=sys.stderr, flush=True)
    return [name, loss, str(LOSSES[loss][1]), "" if seconds is None else f"{seconds:.1f}", wrong or WENT_ON]


if __name__ == "__main__":
    main()
