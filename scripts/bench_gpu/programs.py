"""Emits, builds and runs variants of specs, for the other scripts.

All programs of a builder share one compiled runtime, in its scratch folder or in HIRGEN_CACHE, so that each program after
the first costs two seconds on one processor. With a folder in HIRGEN_CACHE, builders of several scratch folders share it,
too. With HIRGEN_CACHE=off, each program compiles its own.
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
VIEWS, LAYERS = SPECS.parent / "views", SPECS.parent / "layers"
OWN_SPECS = pathlib.Path(__file__).resolve().parent / "specs"


def spec_file(name, examples=SPECS):
    """The file of a spec: of the benchmark, of views, of layers, or of a folder of examples."""
    own = [*(folder / name / "spec.yaml" for folder in (OWN_SPECS, VIEWS)), LAYERS / f"{name}.yaml"]
    return next((file for file in own if file.exists()), examples / name / "spec.yaml")


class Refused(Exception):
    """hirgen refuses a spec or a schedule; the message is its first error."""


def checked(hirgen, spec, options=()):
    """Runs `hirgen check --json` on a spec file and returns the parsed output; docs/check-json.md lists the keys. Raises Refused."""
    done = subprocess.run([str(hirgen), "check", "--json", str(spec), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(first_error(done.stderr))
    return json.loads(done.stdout)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A spec of testdata/specs, testdata/views, testdata/layers or specs/ here, with parameters and schedule fields. With a pipeline or a preset, the
    fields replace the spec's schedule, otherwise they are added to it. label is the name in tables; variants that differ only
    in label share a folder. machine is a file of --calibrate, for which schedule: auto chooses and hirgen predicts. quantize is
    the type to which each matmul and linear quantizes its operands, or ""."""

    spec: str
    params: dict
    schedule: dict
    dtype: str = "bf16"
    label: str = ""
    machine: str = ""
    quantize: str = ""

    @property
    def choices(self):
        """The schedule in words."""
        return ", ".join(f"{k} {v}" for k, v in self.schedule.items()) or "default"

    @property
    def settings(self):
        """The values for --schedule, one a field; a preset replaces the spec's schedule."""
        return [v if k == "preset" else f"{k}={v}" for k, v in self.schedule.items()]

    def listed(self, folder):
        """Writes the spec to a folder and returns the variant as an entry for --cases of `hirgen bench`."""
        spec = folder / f"{self.spec}_{'whole' if 'pipeline' in self.schedule else 'own'}_schedule.yaml"
        spec.write_text(self.text())
        return {"name": self.label, "spec": str(spec), "params": self.params, "schedule": self.settings}

    @property
    def options(self):
        """The options of hirgen for the variant."""
        flags = [("-p", f"{k}={v}") for k, v in self.params.items()]
        flags += [("--schedule", setting) for setting in self.settings]
        flags += [("--machine", self.machine)] if self.machine else []
        return [word for flag in flags for word in flag]

    def text(self, examples=SPECS):
        """The text of its spec with its element type, and without the spec's schedule if the variant has a pipeline."""
        text = re.sub(r"^dtype: \w+", f"dtype: {self.dtype}", spec_file(self.spec, examples).read_text(), flags=re.MULTILINE)
        if self.quantize:
            text = re.sub(r"\b(matmul|linear)\((\w+, \w+)\)", rf"\1(\2, quantize={self.quantize})", text)
        return re.sub(r"^schedule:.*\n", "", text, flags=re.MULTILINE) if "pipeline" in self.schedule else text

    @property
    def folder_name(self):
        """The name of the program's folder. It does not depend on the label."""
        on = [("machine", pathlib.Path(self.machine).stem)] if self.machine else []
        parts = [f"{k}-{v}" for k, v in (*self.params.items(), *self.schedule.items(), ("dtype", self.quantize or self.dtype), *on)]
        return re.sub(r"[^\w.-]", "x", "_".join([self.spec, *parts]))


class Program:
    """A variant's emitted folder. failure is the reason that it cannot run, or ""."""

    def __init__(self, builder, variant):
        self.builder, self.variant = builder, variant
        self.folder = builder.work / variant.folder_name
        self.spec = builder.work / (variant.folder_name + ".yaml")
        self.failure = NOT_BUILT

    def emit(self):
        """Emits the folder; if hirgen refuses the spec or schedule, sets failure to its first error."""
        self.spec.write_text(self.variant.text())
        code, output = quiet([self.builder.hirgen, "emit", self.spec, "-o", self.folder, *self.variant.options])
        self.failure = "" if code == 0 else "refused: " + first_error(output)

    def checked(self):
        """The output of `hirgen check --json` for the emitted spec, parsed. Raises Refused."""
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
        """Starts all ranks. With --paced in the options they wait for commands."""
        return Paced(self.command(ranks, options))

    def measure(self, ranks, options, seconds=600):
        """Runs the program to its end and returns its report, or None with failure set."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        code, output = quiet(self.command(ranks, ["--json", report, *options]), seconds=seconds)
        if report.exists():
            return json.loads(report.read_text())
        self.failure = f"exit code {code}: {output[-2000:]}"
        return None


def runtimes(work):
    """The folder of the compiled runtimes that the programs of a scratch folder share, or "off"."""
    given = os.environ.get("HIRGEN_CACHE", "")
    return given if given.lower() == "off" else pathlib.Path(given or pathlib.Path(work) / "runtimes").resolve()


class Builder:
    """Builds programs for a device in a scratch folder, with additional CMake settings."""

    def __init__(self, hirgen, work, device="cuda", cmake=()):
        self.hirgen = str(pathlib.Path(hirgen).resolve())
        self.work = pathlib.Path(work).resolve()
        self.device, self.cmake = device, list(cmake)
        self.runtimes = runtimes(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def build(self, variants, jobs):
        """Builds programs and returns them in order. Programs with the same folder are built once."""
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
        """Builds programs one by one until a build succeeds, and returns the rest, which can use its runtime."""
        for i, program in enumerate(programs):
            program.build()
            if not program.failure:
                return programs[i + 1:]
        return []


def quiet(command, cwd=None, env=None, seconds=None):
    """Runs a command with env added to the environment; returns its exit code (124 on timeout, 127 if it cannot start)
    and its output."""
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
    """The first error in hirgen's output, or else its first line, without the position in the spec."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    return re.sub(r"^\S+: (?=error )", "", found)
