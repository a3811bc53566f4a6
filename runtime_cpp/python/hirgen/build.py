"""Emits the package of a spec, builds it with CMake, and prints the progress."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# A line of ninja's progress: finished and total steps, in the format of NINJA_STATUS below.
_STEP = re.compile(r"^\[(\d+)/(\d+)\]")


class BuildError(RuntimeError):
    """hirgen, CMake or a compiler failed or was not found. The message has the last lines of a failed program's output."""


class Builder:
    """Builds a package into a folder. `cache` is the folder of compiled runtimes that programs share, or "off"."""

    def __init__(self, program: str, device: str, folder: Path, cache: str):
        self._program, self._device, self._folder, self._cache = program, device, folder, cache

    def build(self, spec: Path, params: list[str], schedule: list[str], gradient: bool) -> None:
        """Emits a spec with -p and --schedule arguments, and builds the package as package/<name> in the folder.

        If `gradient` is set, the package has the backward program of `hirgen grad`, too. Raises BuildError.
        """
        self._spec = spec.name
        self._folder.mkdir(parents=True)
        out = self._folder / "out"
        sources = [str(spec)]
        if gradient:
            forward, backward = self._folder / "forward.yaml", self._folder / "backward.yaml"
            self._call("grad", [self._program, "grad", str(spec), "-o", str(backward), "--forward", str(forward)])
            sources = [str(forward), "--backward", str(backward)]
        self._call("emit", [self._program, "emit", *sources, "-o", str(out), "--python", *params, *schedule])
        name = next((out / "python").iterdir()).name
        build, package = out / "build", self._folder / "package"
        settings = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_CXX_FLAGS_RELEASE": "-O2",
            "CMAKE_CUDA_FLAGS_RELEASE": "-O2",
            "HIRGEN_DEVICE": self._device,
            "HIRGEN_PYTHON_PACKAGE": name,
            "HIRGEN_CACHE": self._cache,
        }
        flags = [f"-D{key}={value}" for key, value in settings.items()]
        self._call("configure", ["cmake", "-S", str(out), "-B", str(build), "-G", "Ninja", *flags])
        targets = [f"hirgen_{name}"] + ([f"hirgen_{name}_backward"] if gradient else [])
        self._call("build", ["cmake", "--build", str(build), "--target", *targets])
        self._call("install", ["cmake", "--install", str(build), "--component", "python", "--prefix", str(package)])
        shutil.copytree(out / "python" / name, package / name, dirs_exist_ok=True)
        shutil.rmtree(build)
        self._say("done\n")

    def _call(self, what: str, command: list[str]) -> None:
        self._say(what)
        environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
        said = []
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as process:
                for line in process.stdout:
                    said.append(line)
                    if step := _STEP.match(line):
                        self._say(f"{what} {step[1]}/{step[2]}")
        except FileNotFoundError as error:
            raise BuildError(f"{command[0]} was not found: {error}") from None
        if process.returncode != 0:
            self._say("failed\n")
            raise BuildError(f"{' '.join(command)} failed with code {process.returncode}:\n{''.join(said[-60:])}")

    def _say(self, text: str) -> None:
        """Prints progress to stderr: on a terminal, overwrites one line; otherwise prints only texts that end in a newline."""
        if sys.stderr.isatty():
            print(f"\r\033[Khirgen: {self._spec}: {text}", end="", file=sys.stderr, flush=True)
        elif text.endswith("\n"):
            print(f"hirgen: {self._spec}: {text}", end="", file=sys.stderr, flush=True)
