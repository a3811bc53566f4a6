"""Sets of emitted folders, which need only CMake and the device to build and run.

One version of hirgen emits a set (emit_set.py). It has a folder for each row, one copy of the runtime, which is the same for
all rows, and rows.json:

    {"ranks": 2, "hirgen": "hirgen 0.1", "rows": [{"row": name, "folder": name, "expected_us": 1800, "check": true}, ...]}

A folder of emitted folders without rows.json is a set as well: each folder is a row with its name.
"""
import json
import os
import pathlib
import shutil

import programs
from paced import Ranks

ROWS = "rows.json"
RUNTIME = "runtime"
LEAST_CALLS = 3
NVCC = pathlib.Path("/usr/local/cuda/bin/nvcc")


class Folder:
    """An emitted folder of a set. failure is the reason that it cannot run, or "" once it is built."""

    def __init__(self, own_set, entry):
        self.set, self.entry, self.failure = own_set, entry, programs.NOT_BUILT
        self.folder = own_set.path / entry["folder"]

    @property
    def row(self):
        """The name of the row, which another set's folder shares."""
        return self.entry["row"]

    def build(self, device, cmake):
        """Compiles the folder. All folders of a set share one compiled runtime. A folder without runtime sources gets a copy from the
        set."""
        if not (self.folder / RUNTIME).exists() and (self.set.path / RUNTIME).exists():
            shutil.copytree(self.set.path / RUNTIME, self.folder / RUNTIME)
        shutil.rmtree(self.folder / "build", ignore_errors=True)  # it may come from another machine
        env = {"CUDACXX": str(NVCC)} if device == "cuda" and not shutil.which("nvcc") and NVCC.exists() else {}
        self.failure = ""
        for step in (["cmake", "--preset", device, f"-DHIRGEN_CACHE={self.set.path / 'build' / 'runtimes'}", *cmake],
                     ["cmake", "--build", "--preset", device, "-j", 2]):
            if not self.failure:
                code, output = programs.quiet(step, cwd=self.folder, env=env)
                self.failure = "" if code == 0 else f"build: {output[-2000:]}"
        self.binary = self.folder / "build" / device / self.name

    @property
    def name(self):
        """The name of the pipeline and of its program."""
        return next(self.folder.glob("*.h")).stem  # the header of its C ABI

    def start(self, ranks, options):
        """Starts all ranks on this machine; rank 0 takes the commands."""
        return Ranks([self.binary, *options], ranks)

    def calls(self, seconds, repeats):
        """(warm-up calls, calls per repeat). The warm-up takes about half of seconds, and all repeats together take seconds."""
        each = self.entry.get("expected_us", 1000) / 1e6
        return tuple(max(LEAST_CALLS, round(time / each)) for time in (seconds / 2, seconds / repeats))

    def text(self):
        """{name: content} of the program's sources, without the runtime."""
        files = [path for path in sorted(self.folder.iterdir()) if path.suffix in (".cpp", ".hpp", ".cu", ".cuh")]
        return {path.name: path.read_text() for path in files}


class Set:
    """The rows that a version of hirgen emitted."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.about = json.loads(self._rows().read_text()) if self._rows().exists() else {"rows": self._unlisted()}
        self.folders = {entry["row"]: Folder(self, entry) for entry in self.about["rows"]}

    def _rows(self):
        return self.path / ROWS

    def _unlisted(self):
        found = sorted(path.parent.name for path in self.path.glob("*/CMakePresets.json"))
        return [{"row": name, "folder": name} for name in found]

    def keep(self, rows):
        """Drops all rows except these."""
        self.folders = {row: self.folders[row] for row in rows}

    def build(self, device, cmake, pool):
        """Builds all rows. The first one that builds leaves its compiled runtime to the others, so it is built alone; the pool builds the
        rest. Returns their futures."""
        rest = list(self.folders.values())
        while rest:
            first = rest.pop(0)
            first.build(device, cmake)
            if not first.failure:
                break
        return [pool.submit(folder.build, device, cmake) for folder in rest]


def take_runtime(path):
    """Moves the runtime's sources from the first folder of a new set to the set itself, and removes the copies in the other folders."""
    for folder in sorted(path.glob(f"*/{RUNTIME}")):
        if (path / RUNTIME).exists():
            shutil.rmtree(folder)
        else:
            os.rename(folder, path / RUNTIME)
