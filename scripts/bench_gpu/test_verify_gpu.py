"""Tests of scripts/verify_gpu.py: its variants, and the programs that a resumed run repeats."""
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import built
from programs import Variant

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import verify_gpu  # noqa: E402

NAMED = [("odd", Variant("spec", {}, {"all.via": transport})) for transport in ("nccl", "ipc-get", "ipc-put")]


class Variants(unittest.TestCase):
    def test_rows_are_of_one_program(self):
        named = list(verify_gpu.variants(built.hirgen(), 4, None))
        rows = [(v.spec, v.choices, name) for name, v in named]
        self.assertEqual((len(set(rows)), len({v.folder_name for _, v in named})), (len(rows), len(rows)))

    def test_specs_come_one_after_the_other(self):
        specs = [v.spec for _, v in verify_gpu.variants(built.hirgen(), 4, None)]
        self.assertEqual(len(set(specs)), 1 + sum(a != b for a, b in zip(specs, specs[1:])))


class Resuming(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json, self.hirgen = pathlib.Path(folder.name) / "verify.json", pathlib.Path(folder.name) / "hirgen"
        self.hirgen.write_text("a version")

    def results(self, ranks=2, resume=True):
        return verify_gpu.Results(self.json, ranks, self.hirgen, resume)

    def leave(self, *found, named=NAMED):
        """Writes the JSON of an earlier run with these results."""
        results = self.results(resume=False)
        for row, result in zip(results.rows("checks", named), found):
            results.put(row, result)

    def test_what_was_skipped_failed_or_refused_or_was_shorter_runs_again(self):
        again = {"skipped": "no time left"}
        for found in ({"failed": "exit code 1"}, {"refused": "no"}, again, {"wrong": 0, "calls": 99}):
            self.leave(found)
            self.assertEqual([row["result"] for row in self.results().rows("checks", NAMED, 100)], [again] * 3, found)

    def test_what_was_right_or_wrong_stays(self):
        found = [{"wrong": 0, "calls": 100}, {"wrong": 7, "calls": 5}, {"errors": 0, "calls": 100}]
        self.leave(*found)
        self.assertEqual([row["result"] for row in self.results().rows("checks", NAMED, 100)], found)

    def test_rows_of_other_specs_and_sections_stay(self):
        other = [("odd", Variant("other", {}, {"all.via": "nccl"}))]
        self.leave({"wrong": 0, "calls": 100}, named=other)
        results = self.results()
        results.rows("memcheck", NAMED)
        results.put(results.rows("checks", NAMED[:1], 100)[0], {"wrong": 0, "calls": 100})
        content = json.loads(self.json.read_text())
        self.assertEqual([row["spec"] for row in content["checks"]], ["other", "spec"])
        self.assertEqual([row["result"]["calls"] for row in content["checks"]], [100, 100])
        self.assertEqual(len(content["memcheck"]), 3)

    def test_without_resume_all_is_new(self):
        self.leave({"wrong": 7, "calls": 100})
        self.assertIn("skipped", self.results(resume=False).rows("checks", NAMED, 100)[0]["result"])

    def test_runs_of_other_ranks_or_another_hirgen_are_not_mixed(self):
        self.leave({"wrong": 0, "calls": 100})
        with self.assertRaisesRegex(SystemExit, "other ranks"):
            self.results(ranks=4)
        self.hirgen.write_text("a later version")
        with self.assertRaisesRegex(SystemExit, "another hirgen"):
            self.results()

    def run_main(self, *options, budget=1000.0, seconds=10.0):
        """Runs one spec on a mock clock on which each program takes this time; returns the schedules that ran."""
        clock, ran = [0.0], []

        def build(program):
            program.failure = ""

        def check(program, args, ranks, checks):
            ran.append(program.variant.choices)
            clock[0] += seconds
            return {"wrong": 0, "calls": checks}

        files = ["--hirgen", str(self.hirgen), "--json", str(self.json), "--work", str(self.json.parent)]
        arguments = ["verify_gpu.py", "--ranks", "2", "--skip-memcheck", "--at-once", "1", "--budget", str(budget), *files, *options]
        with mock.patch.object(sys, "argv", arguments), mock.patch.object(verify_gpu.time, "monotonic", lambda: clock[0]), \
                mock.patch.object(verify_gpu.Program, "build", build), mock.patch.object(verify_gpu, "check", check), \
                mock.patch.object(verify_gpu, "variants", lambda hirgen, ranks, specs: iter(NAMED)), \
                mock.patch.object(verify_gpu, "views", lambda hirgen, specs: iter(())), mock.patch("builtins.print"):
            self.assertEqual(verify_gpu.main(), 0)
        return ran

    def test_a_run_in_pieces_runs_everything_once(self):
        first = self.run_main(budget=15.0, seconds=20.0)
        self.assertIn(len(first), (1, 2), "over NCCL and over CUDA IPC at the same time")
        rest = self.run_main("--resume")
        self.assertEqual(sorted(first + rest), sorted(v.choices for _, v in NAMED))
        self.assertEqual(self.run_main("--resume"), [])
        self.assertEqual({row["result"].get("wrong") for row in json.loads(self.json.read_text())["checks"]}, {0})


if __name__ == "__main__":
    unittest.main()
