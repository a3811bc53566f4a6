"""Sets of emitted folders, which are built and run without hirgen, where CMake and the device are enough.

A set is what one version of hirgen emitted (emit_set.py): a folder for each row, the runtime once, since it is the same in
all of them, and rows.json:

    {"ranks": 2, "hirgen": "hirgen 0.1", "rows": [{"row": name, "folder": name, "expected_us": 1800, "check": true}, ...]}

A folder of emitted folders without rows.json is a set, too: each is a row of its name.
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
    """An emitted folder of a set. failure says why it cannot run, "" once it is built."""

    def __init__(self, own_set, entry):
        self.set, self.entry, self.failure = own_set, entry, programs.NOT_BUILT
        self.folder = own_set.path / entry["folder"]

    @property
    def row(self):
        """What pairs it with the folder of another set."""
        return self.entry["row"]

    def build(self, device, cmake):
        """Compiles. All folders of a set share one compiled runtime; the set's sources of it are copied where a folder has none."""
        if not (self.folder / RUNTIME).exists() and (self.set.path / RUNTIME).exists():
            shutil.copytree(self.set.path / RUNTIME, self.folder / RUNTIME)
        shutil.rmtree(self.folder / "build", ignore_errors=True)  # it may be another machine's
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
        """The pipeline's name, which is the program's."""
        return next(self.folder.glob("*.h")).stem  # of its C ABI

    def start(self, ranks, options):
        """All ranks on this machine, spoken to over rank 0."""
        return Ranks([self.binary, *options], ranks)

    def calls(self, seconds, repeats):
        """(warm-up calls, calls of a repeat) that take about half of seconds, and seconds in all repeats."""
        each = self.entry.get("expected_us", 1000) / 1e6
        return tuple(max(LEAST_CALLS, round(time / each)) for time in (seconds / 2, seconds / repeats))

    def text(self):
        """{name: content} of what makes the program what it is, the runtime apart."""
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
        """Forgets all rows but these."""
        self.folders = {row: self.folders[row] for row in rows}

    def build(self, device, cmake, pool):
        """Builds all rows: the first one alone, since it leaves the runtime to the others, which the pool builds. Returns what is
        under way, to be waited for."""
        rest = list(self.folders.values())
        while rest:
            first = rest.pop(0)
            first.build(device, cmake)
            if not first.failure:
                break
        return [pool.submit(folder.build, device, cmake) for folder in rest]


def take_runtime(path):
    """Leaves the runtime's sources of a new set once, and in none of its folders."""
    for folder in sorted(path.glob(f"*/{RUNTIME}")):
        if (path / RUNTIME).exists():
            shutil.rmtree(folder)
        else:
            os.rename(folder, path / RUNTIME)
