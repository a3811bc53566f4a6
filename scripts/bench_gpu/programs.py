"""Emitted programs as scripts use them: a variant of a spec is emitted, built and run.

All programs of a builder share one compiled runtime, so that each further one costs two seconds of one
processor; where HIRGEN_CACHE is set, several builders share it too.
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess

from paced import Paced

NOT_BUILT = "not built"
SPECS = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata" / "specs"
VIEWS = SPECS.parent / "views"
OWN_SPECS = pathlib.Path(__file__).resolve().parent / "specs"


def spec_file(name, examples=SPECS):
    """A spec of the benchmark's own or of views, or an example spec of some folder."""
    own = [folder / name / "spec.yaml" for folder in (OWN_SPECS, VIEWS)]
    return next((file for file in own if file.exists()), examples / name / "spec.yaml")


class Refused(Exception):
    """What hirgen says of a spec or a schedule that it refuses."""


def checked(hirgen, spec, options=()):
    """What comes of a spec file with options of hirgen, parsed: docs/check-json.md lists the keys. Raises Refused."""
    done = subprocess.run([str(hirgen), "check", "--json", str(spec), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(first_error(done.stderr))
    return json.loads(done.stdout)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A spec of testdata/specs, or of specs/ here, with parameters and schedule fields of its own, which are its whole schedule if
    a pipeline or a preset is among them; label names it in tables.
    Variants that differ in it share a folder. machine is a file of --calibrate, for which schedule: auto then chooses, and hirgen predicts."""

    spec: str
    params: dict
    schedule: dict
    dtype: str = "bf16"
    label: str = ""
    machine: str = ""

    @property
    def choices(self):
        """The schedule in words."""
        return ", ".join(f"{k} {v}" for k, v in self.schedule.items()) or "default"

    @property
    def settings(self):
        """The schedule, each field as --schedule has it; a preset replaces the spec's schedule."""
        return [v if k == "preset" else f"{k}={v}" for k, v in self.schedule.items()]

    def listed(self, folder):
        """It as an entry of --cases of `hirgen bench`, with its spec written to a folder."""
        spec = folder / f"{self.spec}_{'whole' if 'pipeline' in self.schedule else 'own'}_schedule.yaml"
        spec.write_text(self.text())
        return {"name": self.label, "spec": str(spec), "params": self.params, "schedule": self.settings}

    @property
    def options(self):
        """The options of hirgen that make it from its spec."""
        flags = [("-p", f"{k}={v}") for k, v in self.params.items()]
        flags += [("--schedule", setting) for setting in self.settings]
        flags += [("--machine", self.machine)] if self.machine else []
        return [word for flag in flags for word in flag]

    def text(self, examples=SPECS):
        """Its spec, with its element type, and without the spec's schedule where it has a whole one."""
        text = re.sub(r"^dtype: \w+", f"dtype: {self.dtype}", spec_file(self.spec, examples).read_text(), flags=re.MULTILINE)
        return re.sub(r"^schedule:.*\n", "", text, flags=re.MULTILINE) if "pipeline" in self.schedule else text

    @property
    def folder_name(self):
        """A name that no other program has."""
        on = [("machine", pathlib.Path(self.machine).stem)] if self.machine else []
        parts = [f"{k}-{v}" for k, v in (*self.params.items(), *self.schedule.items(), ("dtype", self.dtype), *on)]
        return re.sub(r"[^\w.-]", "x", "_".join([self.spec, *parts]))


class Program:
    """A variant's emitted folder. failure says why it cannot run, "" once it is built."""

    def __init__(self, builder, variant):
        self.builder, self.variant = builder, variant
        self.folder = builder.work / variant.folder_name
        self.spec = builder.work / (variant.folder_name + ".yaml")
        self.failure = NOT_BUILT

    def emit(self):
        """Writes the folder; a spec or schedule that hirgen refuses is a failure with its message."""
        self.spec.write_text(self.variant.text())
        code, output = quiet([self.builder.hirgen, "emit", self.spec, "-o", self.folder, *self.variant.options])
        self.failure = "" if code == 0 else "refused: " + first_error(output)

    def checked(self):
        """What comes of the spec that it was emitted from, as of checked."""
        return checked(self.builder.hirgen, self.spec, self.variant.options)

    def build(self):
        """Emits and compiles."""
        self.emit()
        device, runtimes = self.builder.device, self.builder.runtimes
        for step in (["cmake", "--preset", device, f"-DHIRGEN_CACHE={runtimes}", *self.builder.cmake],
                     ["cmake", "--build", "--preset", device]):
            if not self.failure:
                code, output = quiet(step, cwd=self.folder)
                self.failure = "" if code == 0 else f"build: {output[-2000:]}"

    @property
    def binary(self):
        """The executable of one rank."""
        return self.folder / "build" / self.builder.device / self.variant.spec

    def command(self, ranks, options):
        """The command line that runs all ranks on this machine."""
        return [self.builder.hirgen, "run", str(self.folder), "-n", str(ranks), "--device", self.builder.device,
                "--", *map(str, options)]

    def start(self, ranks, options):
        """All ranks of it, which wait and are spoken to."""
        return Paced(self.command(ranks, options))

    def measure(self, ranks, options, seconds=600):
        """Runs to the end; the program's report, or None with failure set."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        code, output = quiet(self.command(ranks, ["--json", report, *options]), seconds=seconds)
        if report.exists():
            return json.loads(report.read_text())
        self.failure = f"exit code {code}: {output[-2000:]}"
        return None


def runtimes(work):
    """Where compiled runtimes are that programs of a scratch folder share, or "off"."""
    given = os.environ.get("HIRGEN_CACHE", "")
    return given if given.lower() == "off" else pathlib.Path(given or pathlib.Path(work) / "runtimes").resolve()


class Builder:
    """Where and how programs are built: a scratch folder, the device, further CMake settings."""

    def __init__(self, hirgen, work, device="cuda", cmake=()):
        self.hirgen = str(pathlib.Path(hirgen).resolve())
        self.work = pathlib.Path(work).resolve()
        self.device, self.cmake = device, list(cmake)
        self.runtimes = runtimes(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def build(self, variants, jobs):
        """Builds programs, the very first one alone: it leaves the runtime to the others. Returns them in order."""
        programs = [Program(self, v) for v in variants]
        folders = {p.folder: p for p in reversed(programs)}
        builds = [p for p in programs if folders[p.folder] is p]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(Program.build, self.first(builds)))
        for program in programs:
            program.failure = folders[program.folder].failure
        return programs

    @staticmethod
    def first(programs):
        """Builds programs one by one until one is built, and leaves its runtime to the rest, which it returns."""
        for i, program in enumerate(programs):
            program.build()
            if not program.failure:
                return programs[i + 1:]
        return []


def quiet(command, cwd=None, env=None, seconds=None):
    """Runs a command, env added to the environment; its exit code (124: past the limit, 127: not there) and all
    that it printed."""
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    except OSError as error:
        return 127, str(error)
    try:
        output = process.communicate(timeout=seconds)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return 124, process.communicate()[0] + f"\nstopped after {seconds} s"


def first_error(output):
    """What the first error of a message of hirgen says, without the place in the spec."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    return re.sub(r"^\S+: (?=error )", "", found)
