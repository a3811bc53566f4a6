"""Adds a made-up elementwise function, element type, collective and value of the schedule to a copy of the tree. Tests that they work,
and that each addition touches only files that CONTRIBUTING.md names, and no more of them than it allows.
"""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import made_up
from scratch import Scratch

SPEC = "hirgen: 1\nname: {name}\nparams: {{D: {ranks}}}\nmesh: {{x: D}}\ndtype: {dtype}\ntensors:\n{tensors}ops:\n  - {op}\n{schedule}"


class TestAdditions(unittest.TestCase):
    """All checks share one copy and one build of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hirgen-additions-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = Scratch(cls.folder)
        cls.additions = [add(cls.tree) for add in (made_up.function, made_up.element_type, made_up.collective, made_up.schedule_value)]
        cls.tree.run("go", "test", "./runtime_cpp", "-count=1", "-run", "RowsHeader$", "-update")
        cls.changed = cls.tree.changed()
        cls.tree.run("go", "build", "-o", "build/hirgen", "./cmd/hirgen")

    def emit(self, name, *flags, fails=False, dtype="bf16", ranks=2, tensors, op, schedule=""):
        """Emits a spec; hirgen proves it first. Returns the folder of the program, or with fails the output of hirgen."""
        spec = self.tree.root / f"build/{name}.yaml"
        declared = "".join(f"  {tensor}\n" for tensor in tensors)
        spec.write_text(SPEC.format(name=name, dtype=dtype, ranks=ranks, tensors=declared, op=op, schedule=schedule))
        printed = self.tree.run("build/hirgen", "emit", str(spec), "-o", f"out/{name}", *flags, fails=fails)
        return printed if fails else self.tree.root / "out" / name

    def compile(self, *arguments):
        folders = ["include", "cpu/include", "src", "cpu/src"]
        self.tree.run("g++", "-std=c++20", "-DHIRGEN_CPU_DEVICE", "-Wall", "-Wextra", "-Werror", *(f"-Iruntime_cpp/{f}" for f in folders),
                      *arguments)

    def test_touched_files(self):
        self.assertEqual([], [m for a in self.additions for m in a.mistakes()])
        self.assertEqual(self.changed, set().union(*(a.touched for a in self.additions)), "the edits, and what make gen writes")

    def test_function(self):
        program = self.emit("cubes", tensors=["X: [DIDx, 8]"], op="Y = cube(X)")
        self.assertIn("kCube", "".join(f.read_text() for f in program.glob("*.cpp")))
        self.assertIn("dX_third", self.tree.run("build/hirgen", "grad", "build/cubes.yaml"))

    def test_element_type(self):
        program = self.emit("typed", "--go", dtype="dl16", tensors=["A: [DIDx, 8, 16]", "B: [16, 8]", "P: [DIDx, 8, 8]", "C: [D, 8, 8]"],
                            op="P = matmul(A, B)\n  - C = relu(P)")
        self.assertTrue((program / "go/dl16.go").is_file())
        self.compile("-fsyntax-only", f"-I{program}", str(program / "typed.cpp"), str(program / "reference.cpp"))
        self.tree.run("go", "test", "./emit/gopkg/...", "./calls/collective", "./calls/names", "./model/domain", "./model/names")

    def test_runtime(self):
        """Tests the function, the type and the collective in C++."""
        source = pathlib.Path(__file__).with_name("made_up.cpp")
        self.compile("-o", "build/made_up", str(source), "runtime_cpp/cpu/src/nccl/reduce.cpp", "runtime_cpp/cpu/src/blaslt/gemm.cpp")
        self.tree.run("build/made_up")

    def test_collective(self):
        program = self.emit("spreading", ranks=3, tensors=["A: [DIDx, 8]", "C: [D, 8]"], op="C = set(A)")
        text = (program / "spreading.cpp").read_text()
        self.assertIn("Derived: spread of A", text)
        self.assertIn("ncclSend(A, 8, ncclBfloat16, peer", text)

    def test_schedule_value(self):
        spec = {"tensors": ["A: [DIDx, 8, 16]", "B: [16, 8]", "C: [Stream(D), 8, 8]"], "op": "C = matmul(A, B)",
                "schedule": "schedule: {pipeline: p2p, all: {steps: leaps}}\n"}
        program = self.emit("leaping", ranks=5, **spec)
        self.assertIn("3 * s", (program / "leaping.cpp").read_text())
        self.assertIn("leaps of three do not lead to all 6 ranks", self.emit("standing", ranks=6, fails=True, **spec))


if __name__ == "__main__":
    unittest.main()
