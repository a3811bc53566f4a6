"""Runs what bench.py compares: emitted programs and PyTorch's peers, ready on the same GPUs at the same time."""
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import math
import os
import pathlib
import sys
import threading
import time

import tables
from paced import Paced, Silence, launch_variables, reserved_port

START_SECONDS = 90  # a program's start and its check
ROUND_SECONDS = 60  # a round of a program or a peer, or all that bounds a shape
LOAD_SECONDS = 60  # a cell's tensors, or what PyTorch compiles for one of its peers
COMPILE_THREADS = 2  # of a peer's process
STARTS = ("load", "attention", "bounds")  # what stopped processes are started afresh for
BOUNDS_ROUNDS = 4
CHECK_MEMORY = 60e9  # bytes of a GPU that checks may take at the same time


class Room:
    """So many bytes, which threads take parts of and give back."""

    def __init__(self, size):
        self.size = self.free = size
        self.changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, size):
        """Waits until so much is free; who wants more than there is gets all."""
        size = min(size, self.size)
        with self.changed:
            self.changed.wait_for(lambda: self.free >= size)
            self.free -= size
        try:
            yield
        finally:
            with self.changed:
                self.free += size
                self.changed.notify_all()


CHECKS = Room(CHECK_MEMORY)


class Ready:
    """A built program that has checked itself and waits to be timed. item is its entry of the row."""

    def __init__(self, program, ranks, options):
        self.program, self.item = program, {"us": []}
        own = "tuned" if program.tuned else "plain"
        self.report, plans = program.folder / f"{own}.json", program.folder / "plans.json"
        self.report.unlink(missing_ok=True)
        search = ["--tune", "--plans", plans] if program.tuned else []
        self.paced = program.start(ranks, ["--paced", "--json", self.report, "--timeout", 300, *search, *options])

    def start(self):
        """Waits for the check."""
        self._guard(lambda: self.paced.wait_for("# ready", START_SECONDS))

    def round(self):
        """Times a round."""
        if "refused" not in self.item:
            self.paced.say("round")
            self._guard(lambda: self.item["us"].extend(map(float, self.paced.wait_for("# round, us:", ROUND_SECONDS).split())))

    def finish(self):
        """Ends it, and takes the number of wrong elements from its report."""
        if "refused" in self.item:
            return
        self.paced.finish(20)
        if self.report.exists():
            report = json.loads(self.report.read_text())
            self.item |= {"wrong": report["wrong"], "checks": report["options"]["checks"], "iters": report["options"]["iters"],
                          "memory_bytes": report.get("memory_bytes")}
        else:
            self.item = {"refused": "ended without a report: " + self.paced.said()}

    def _guard(self, step):
        try:
            step()
        except Silence as silence:
            self.item = {"refused": f"failed: {silence}"}
            self.paced.stop()


class Peers:
    """PyTorch's side: one process a rank, all given the same commands. Without PyTorch there are no peers."""

    def __init__(self, ranks):
        self.ranks, self.processes, self.about = ranks, [], {}
        self.start()

    def command(self):
        """A rank's command line."""
        return [sys.executable, pathlib.Path(__file__).with_name("peers.py"), "--serve"]

    def environment(self):
        """What a rank's environment has beside this process's: teams that compile at the same time share the processors."""
        return {"TORCHINDUCTOR_COMPILE_THREADS": str(COMPILE_THREADS)}

    def spelled(self, command):
        """A command as the processes read it."""
        return json.dumps(command)

    def start(self):
        """Starts the processes."""
        command, more = self.command(), self.environment()
        with reserved_port() as port:
            self.processes = [Paced(command, {**os.environ, **more, **launch_variables(rank, self.ranks, port)})
                              for rank in range(self.ranks)]
            try:
                self.about = json.loads(self.processes[0].wait_for("PEER ", START_SECONDS))
            except Silence as silence:
                print(f"no peers by {pathlib.Path(self.command()[0]).name}: {silence}", file=sys.stderr)
                self.stop()

    def ask(self, **command):
        """Rank 0's answer; raises Silence. Peers that hang are stopped, and started afresh for the next cell or bounds."""
        if not self.processes and self.about and command["do"] in STARTS:
            self.start()
        if not self.processes:
            raise Silence("PyTorch does not run here")
        for process in self.processes:
            process.say(self.spelled(command))
        try:
            return json.loads(self.processes[0].wait_for("PEER ", LOAD_SECONDS if command["do"] in ("load", "trial") else ROUND_SECONDS))
        except Silence:
            self.stop()
            raise

    def load(self, cell):
        """Makes a cell's tensors; the items of its peers by name, for their times."""
        try:
            answer = self.ask(do="load", operation=cell.operation, **cell.sizes)
        except Silence as silence:
            print(f"no peers of {cell.operation}: {silence}", file=sys.stderr)
            return {}
        refused = answer.get("refused", {})
        return {name: {"refused": refused[name]} if name in refused else {"us": []} for name in answer["peers"]}

    def tried(self, cell, without=()):
        """The same of a layer, whose peers are compiled and compared with exact results; those whose name contains one of some texts
        are left out. One that hangs takes the processes with it: the others are loaded and tried afresh, which finds in caches what
        was compiled."""
        names, hung = self.load(cell), {}
        items = {}
        while left := [name for name in names if name not in items and not any(text in name for text in without)]:
            try:
                items[left[0]] = {"us": [], **self.ask(do="trial", peer=left[0])}
            except Silence as silence:
                hung[left[0]] = {"refused": f"failed: {silence}"}
                names, items = self.load(cell), dict(hung)
        return items

    def attention(self, cell):
        """The kernels of attention that PyTorch takes for a layer, by name."""
        try:
            return self.ask(do="attention", operation=cell.operation, **cell.sizes)["attention"]
        except Silence as silence:
            return f"failed: {silence}"

    def round(self, peer, item, warmup, iters, repeats):
        """Times a round of a peer into its item."""
        if "refused" in item:
            return
        try:
            answer = self.ask(do="time", peer=peer, warmup=warmup, iters=iters, repeats=repeats)
        except Silence as silence:
            answer = {"refused": f"failed: {silence}"}
        if "refused" in answer:
            item.clear()
            item["refused"] = answer["refused"]
        else:
            item["us"] += answer["us"]

    def bounds(self, operations, cell, seconds):
        """What bounds the operations at a cell's shape: an entry of bounds.py."""
        begin = time.monotonic()
        try:
            answer = self.ask(do="bounds", operations=operations, m=cell.m, n=cell.n, k=cell.k, seconds=seconds, rounds=BOUNDS_ROUNDS)
        except Silence as silence:
            answer = {"skipped": f"failed: {silence}"}
        return {"m": cell.m, "n": cell.n, "k": cell.k, "ranks": cell.ranks, **answer, "seconds": time.monotonic() - begin}

    def stop(self):
        """Ends all processes."""
        for process in self.processes:
            process.stop()
        self.processes = []


@dataclasses.dataclass
class Prepared:
    """A cell whose programs have started and checked themselves and whose peers are loaded: all wait to be timed."""

    cell: object
    programs: list
    ready: dict  # {program: Ready}
    peers: object
    items: dict  # of the peers, by name
    seconds: float

    def timed(self, settings):
        """The row: programs and peers in turns, in one order and then in the other."""
        cell, begin = self.cell, time.monotonic()
        warmup, iters = cell.calls(settings.seconds, settings.repeats, settings.iters)
        items = {**self.items, **{program: r.item for program, r in self.ready.items()}}
        turns = {name: functools.partial(self.peers.round, name, item, warmup, iters, settings.repeats) for name, item in self.items.items()}
        turns |= {program: r.round for program, r in self.ready.items()}
        for i in range(settings.rounds):
            for one in list(turns) if i % 2 == 0 else reversed(turns):
                turns[one]()
            turns = {one: turn for one, turn in turns.items() if self.is_near(one, items, settings.near)}
        timed = time.monotonic() - begin
        finish(self.ready)
        items = {program: {"refused": program.failure} for program in self.programs} | {program: r.item for program, r in self.ready.items()}
        return {"operation": cell.operation, "m": cell.m, "n": cell.n, "k": cell.k, "ranks": cell.ranks, "flops": cell.flops,
                "calls": {"warmup": warmup, "iters": iters, "repeats": settings.repeats, "rounds": settings.rounds},
                "seconds": {"prepare": self.seconds, "time": timed, "all": self.seconds + time.monotonic() - begin},
                "peers": self.items, **by_group(cell, self.programs, items)}

    def is_near(self, one, items, near):
        """Whether it may be the fastest of its side: what takes more than near times as long is not timed again."""
        compute = one in tables.COMPUTE
        side = [name for name in items if (name in self.items) == (one in self.items) and (name in tables.COMPUTE) == compute]
        times = {name: us for name in side if (us := tables.median(items[name]))}
        return times.get(one, math.inf) <= near * min(times.values(), default=0)


def measure(cell, build, peers, settings, started=None):
    """One row of the programs that build() gives. started has what prepare gave, if that was called before."""
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        loaded = beside.submit(peers.load, cell) if peers else None
        programs = build()
        ready = prepare(cell, programs, settings) if started is None else started
        items = loaded.result() if loaded else {}
    return Prepared(cell, programs, ready, peers, items, time.monotonic() - begin).timed(settings)


def prepare(cell, programs, settings):
    """The programs of a cell that were built, ready to be timed: {program: Ready}."""
    warmup, iters = cell.calls(settings.seconds, settings.repeats, settings.iters)
    options = ["--warmup", warmup, "--iters", iters, "--repeats", settings.repeats]
    options += ["--checks", 1] if cell.check_flops <= settings.check_limit * 1e12 else ["--no-check"]
    return start_all([p for p in programs if not p.failure], cell, options)


def prepare_rows(rows, settings):
    """What prepare gives for each of some rows (cell, programs), which start at the same time."""
    with concurrent.futures.ThreadPoolExecutor(max(1, len(rows))) as pool:
        return list(pool.map(lambda row: prepare(*row, settings), rows))


def finish(ready):
    """Ends programs, and takes their reports."""
    with concurrent.futures.ThreadPoolExecutor(max(1, len(ready))) as pool:
        list(pool.map(Ready.finish, ready.values()))


def start_all(programs, cell, options):
    """The programs ready, or failed: as many at once as their checks have memory for, and those that time
    algorithms when they start one by one, afterwards."""
    def start(program):
        with CHECKS.taken(cell.check_bytes):
            ready = Ready(program, cell.ranks, options)
            ready.start()
        return ready
    plain = [p for p in programs if not p.variant.tuned]
    with concurrent.futures.ThreadPoolExecutor(max(1, len(plain))) as pool:
        ready = dict(zip(plain, pool.map(start, plain)))
    return ready | {p: start(p) for p in programs if p.variant.tuned}


def by_group(cell, programs, items):
    """The programs' items by label, those of the allgather alone apart."""
    groups = {"hirgen": {}, "allgather": {}}
    for program in programs:
        apart = program.variant.spec.startswith("allgather") and not cell.is_tiny
        groups["allgather" if apart else "hirgen"][program.variant.label] = items[program]
    return groups
