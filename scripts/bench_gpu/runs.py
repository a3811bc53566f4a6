"""Runs emitted programs and PyTorch's peers for bench.py, loaded on the same GPUs at the same time."""
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import programs
import tables
from paced import Paced, Silence, launch_variables, reserved_port

#: Time limits: a program's start and check; a round, or the bounds of a shape; a cell's tensors, or the compilation of a peer.
START_SECONDS = 90
ROUND_SECONDS = 60
LOAD_SECONDS = 60
COMPILE_THREADS = 2  # per process of a peer
STARTS = ("load", "attention", "bounds")  # commands that restart stopped processes
BOUNDS_ROUNDS = 4
CHECK_MEMORY = 60e9  # bytes of a GPU for concurrent checks
RELAY = pathlib.Path(__file__).with_name("relay.py")


class Ready:
    """A running program, which checks itself unless the options say otherwise, and then waits to be timed. item is its entry in the row."""

    def __init__(self, program, ranks, options):
        self.program, self.item = program, {"us": []}
        self.report = program.folder / "plain.json"
        self.report.unlink(missing_ok=True)
        self.paced = program.start(ranks, ["--paced", "--json", self.report, "--timeout", 300, *options])

    def start(self):
        """Waits until the program is ready."""
        self._guard(lambda: self.paced.wait_for("# ready", START_SECONDS))

    def round(self):
        """Times a round."""
        if "refused" not in self.item:
            self.paced.say("round")
            self._guard(lambda: self.item["us"].extend(map(float, self.paced.wait_for("# round, us:", ROUND_SECONDS).split())))

    def finish(self):
        """Ends the program and adds the figures of its report to item."""
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
    """PyTorch's side: one process a rank, all with the same commands. Without PyTorch there are no peers. A peer that hung in a round
    is not timed again for its operation."""

    loaded, hung = None, ()

    def __init__(self, ranks):
        self.ranks, self.processes, self.about = ranks, [], {}
        self.start()

    def command(self):
        """A rank's command line."""
        return [sys.executable, pathlib.Path(__file__).with_name("peers.py")]

    def environment(self):
        """Additions to a rank's environment: few threads for compilation, since several teams may compile at the same time."""
        return {"TORCHINDUCTOR_COMPILE_THREADS": str(COMPILE_THREADS)}

    def spelled(self, command):
        """A command in the format of the processes."""
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
        """Rank 0's answer; raises Silence. If the peers hang, they are stopped, and a later command of STARTS restarts them."""
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

    def load(self, cell, in_graph=1):
        """Makes a cell's tensors; returns items for the times of its peers, by name. Graphs hold in_graph calls."""
        self.loaded = cell, in_graph
        try:
            answer = self.ask(do="load", operation=cell.operation, calls_per_graph=in_graph, **cell.sizes)
        except Silence as silence:
            print(f"no peers of {cell.operation}: {silence}", file=sys.stderr)
            return {}
        refused = answer.get("refused", {}) | {name: "failed: it hung before" for operation, name in self.hung if operation == cell.operation}
        return {name: {"refused": refused[name]} if name in refused else {"us": []} for name in answer["peers"]}

    def tried(self, cell, without=(), in_graph=1):
        """Loads a layer, compiles its peers and compares them with results in fp32. Returns their items as load does. Peers whose name
        contains a text of without are left out. If a peer hangs or breaks its processes, they are restarted, and the other peers are loaded
        and tried again, with the compiled code from caches."""
        names, hung = self.load(cell, in_graph), {}
        items = {}
        while left := [name for name in names if name not in items and not any(text in name for text in without)]:
            try:
                answer = self.ask(do="trial", peer=left[0])
                if answer.pop("broken", False):
                    self.stop()
                    raise Silence(answer["refused"])
                items[left[0]] = {"us": [], **answer}
            except Silence as silence:
                hung[left[0]] = {"refused": f"failed: {silence}"}
                names, items = self.load(cell, in_graph), dict(hung)
        return items

    def attention(self, cell):
        """The name of the attention kernel that PyTorch chooses for a layer, or the reason of a failure."""
        try:
            return self.ask(do="attention", operation=cell.operation, **cell.sizes)["attention"]
        except Silence as silence:
            return f"failed: {silence}"

    def round(self, peer, item, warmup, iters, repeats):
        """Times a round of a peer into its item. If the peer hangs or breaks its processes, they are restarted for the cell's other peers."""
        if "refused" in item:
            return
        try:
            answer = self.ask(do="time", peer=peer, warmup=warmup, iters=iters, repeats=repeats)
        except Silence as silence:
            answer = {"refused": f"failed: {silence}", "broken": True}
            self.hung += ((self.loaded[0].operation, peer),)
        if answer.get("broken"):
            self.stop()
            self.load(*self.loaded)
        if "refused" in answer:
            item.clear()
            item["refused"] = answer["refused"]
        else:
            item["us"] += answer["us"]

    def bounds(self, operations, cell, seconds):
        """Measures the bounds of the operations at a cell's shape; returns an entry of bounds.py."""
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


class Row:
    """The programs of a cell under `hirgen bench`. The constructor starts the command, which builds and starts the programs; they check
    themselves and wait until timed() runs the rounds, in which the peers take part. Rows prepared at the same time share the memory
    for checks. A cell is not checked if its check needs more than the share, or more than --check-limit."""

    def __init__(self, cell, variants, settings, together=1, check_memory=CHECK_MEMORY):
        self.cell, self.variants, self.settings, self.begin = cell, variants, settings, time.monotonic()
        self.check_memory = check_memory / together
        self.folder = pathlib.Path(settings.work).resolve() / "rows" / re.sub(r"\W", "_", "_".join(map(str, cell.key)))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.result, self.said, self.connection, self.folders = self.folder / "result.json", self.folder / "said.txt", None, {}
        self.meeting = tempfile.TemporaryDirectory()  # the path of a socket must be short
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(f"{self.meeting.name}/peers")
        self.server.listen()
        with self.said.open("w") as said:
            self.process = subprocess.Popen(list(map(str, self.command(together))), stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                            env={**os.environ, "HIRGEN_CACHE": str(programs.runtimes(settings.work))})

    def command(self, together):
        """The command line of hirgen bench for the row."""
        s = self.settings
        self.in_graph = self.cell.in_graph(s.calls_per_graph)
        self.warmup, self.iters = self.cell.calls(s.seconds, s.repeats, s.iters, s.warm, self.in_graph)
        self.is_checked = self.cell.check_flops <= s.check_limit * 1e12 and self.cell.check_bytes <= self.check_memory
        listed = self.folder.with_suffix(".json")
        listed.write_text(json.dumps([v.listed(self.folder) for v in self.variants]))
        machine = next(([f"--machine={v.machine}"] for v in self.variants if v.machine), [])
        return [pathlib.Path(s.hirgen).resolve(), "bench", "--cases", listed, "--device", s.device, "--json", self.result, *machine,
                "--work", pathlib.Path(s.work).resolve() / "programs", "--jobs", max(1, s.jobs // together), "--together", len(self.variants),
                "--starting", max(1, int(self.check_memory / self.cell.check_bytes)), "--no-gemms",
                "--rounds", s.rounds, "--repeats", s.repeats, "--iters", self.iters, "--near", 0 if math.isinf(s.near) else s.near,
                *(f"--cmake={setting.removeprefix('-D')}" for setting in s.cmake),
                "--peers", f"{sys.executable} {RELAY} {self.meeting.name}/peers",
                "--", "--warmup", self.warmup, "--calls-per-graph", self.in_graph, *(["--checks", 1] if self.is_checked else ["--no-check"])]

    def ready(self):
        """Waits until all programs are ready, or the command has ended."""
        self.server.settimeout(0.2)
        while self.connection is None and self.process.poll() is None:
            with contextlib.suppress(TimeoutError):
                self.connection = self.server.accept()[0]
                self.connection.setblocking(True)
        self.seconds = time.monotonic() - self.begin

    def timed(self, peers, items):
        """Runs the rounds of a ready row and returns it."""
        begin = time.monotonic()
        if self.connection:
            self.serve(peers, items)
        self.process.wait()
        self.stop()
        own, cell = self.items(), self.cell
        groups = {"hirgen": {}, "allgather": {}}
        for variant in self.variants:
            apart = variant.spec.startswith("allgather") and not cell.is_tiny
            groups["allgather" if apart else "hirgen"][variant.label] = own[variant.label]
        return {"operation": cell.operation, "m": cell.m, "n": cell.n, "k": cell.k, "ranks": cell.ranks, "flops": cell.flops,
                "calls": {"warmup": self.warmup, "iters": self.iters, "in_graph": self.in_graph, "repeats": self.settings.repeats,
                          "rounds": self.settings.rounds},
                "seconds": {"prepare": self.seconds, "time": time.monotonic() - begin, "all": time.monotonic() - self.begin},
                "peers": items, **groups}

    def serve(self, peers, items):
        """Answers the command's requests for peers until it closes the connection."""
        with self.connection, self.connection.makefile("rw") as talk:
            answer = {"peers": [name for name, item in items.items() if "refused" not in item]}
            while True:
                print(json.dumps(answer), file=talk, flush=True)
                name = talk.readline().strip()
                if not name:
                    return
                answer = self.round(peers, name, items)

    def round(self, peers, name, items):
        """Times a round of a peer and returns the answer for the command. A peer slower than near times the best of its side is not
        timed again."""
        side = [other for other in items if (other in tables.COMPUTE) == (name in tables.COMPUTE)]
        medians = {other: us for other in side if (us := tables.median(items[other]))}
        item = items[name]
        if medians.get(name, 0) > self.settings.near * min(medians.values(), default=0):
            return {"us": []}
        known = len(item.get("us", []))
        peers.round(name, item, self.warmup, self.iters, self.settings.repeats)
        return {"failed": item["refused"]} if "refused" in item else {"us": item["us"][known:]}

    def items(self):
        """The items of the programs by label, from the command's result; sets folders to their folders."""
        if not self.result.exists():
            return {v.label: {"refused": f"failed: {self.said.read_text()[-2000:]}"} for v in self.variants}
        items = {}
        for row in (row for row in json.loads(self.result.read_text())["rows"] if not row.get("peer")):
            if row["status"] in ("ok", "wrong"):
                items[row["case"]] = {"us": row["us"], "wrong": row["wrong"] if self.is_checked else None, "checks": int(self.is_checked),
                                      "iters": self.iters, "memory_bytes": row.get("memory_bytes")}
                self.folders[row["case"]] = row["folder"]
            else:
                why = "refused: " + programs.first_error(row["reason"]) if row["status"] == "waived" else "failed: " + row["reason"]
                items[row["case"]] = {"refused": why}
        return {v.label: items.get(v.label, {"refused": "failed: it has no row"}) for v in self.variants}

    def stop(self):
        """Ends the command."""
        self.process.terminate()
        self.process.wait()
        self.server.close()
        self.meeting.cleanup()


def measure(cell, variants, peers, settings, started=None):
    """Measures a cell and returns its row. started is its Row if the programs were started ahead."""
    row = started or Row(cell, variants, settings)
    try:
        items = peers.load(cell, row.in_graph) if peers else {}
        row.ready()
        return row.timed(peers, items)
    finally:
        row.stop()


def stop_unless_built(programs, teams=()):
    """Ends the benchmark if a program does not compile, after it stops the peers, which may still be compiling."""
    broken = [program.failure for program in programs if program.failure.startswith("build:")]
    if broken:
        for peers in filter(None, teams):
            peers.stop()
        sys.exit(f"the first program could not be built: {broken[0]}")
