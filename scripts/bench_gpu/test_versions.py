"""Tests of versions.py and of the sets of emitted folders that it times."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import emit_set
import folders
import paced
import versions

ARGS = types.SimpleNamespace(ranks=2, rounds=2, repeats=3, seconds=0.1, together=2, limit=0.985, median=0.99, least=0.97, no_check=False)


class Sets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def write(self, own_set, name, text="same", rows=None):
        """Writes a folder of a set and returns the set."""
        folder = self.path / own_set / name
        (folder / "runtime").mkdir(parents=True)
        (folder / "runtime" / "x.cpp").write_text("runtime")
        (folder / "CMakePresets.json").write_text("{}")
        (folder / "a.hpp").write_text(text)
        (folder / "a_kernels.hpp").write_text("")  # as in folders with kernels
        (folder / "a.h").write_text("")
        if rows:
            (self.path / own_set / folders.ROWS).write_text(json.dumps({"ranks": 2, "rows": rows}))
        return folders.Set(self.path / own_set)


class Folders(Sets):
    def test_folders_without_a_list_are_rows_of_their_names(self):
        self.write("old", "b")
        self.assertEqual(list(self.write("old", "a").folders), ["a", "b"])

    def test_the_runtime_is_kept_once_and_copied_back(self):
        self.write("old", "a")
        own_set = self.write("old", "b")
        folders.take_runtime(self.path / "old")
        self.assertEqual([p.parent.name for p in sorted(self.path.rglob("x.cpp"))], ["runtime"])
        with mock.patch.object(folders.programs, "quiet", return_value=(0, "")) as quiet:
            own_set.folders["b"].build("cpu", [])
        self.assertEqual((self.path / "old" / "b" / "runtime" / "x.cpp").read_text(), "runtime")
        self.assertEqual((own_set.folders["b"].failure, own_set.folders["b"].binary.name, quiet.call_count), ("", "a", 2))

    def test_calls_follow_from_what_is_expected(self):
        own_set = self.write("old", "a", rows=[{"row": "r", "folder": "a", "expected_us": 1000}])
        self.assertEqual(own_set.folders["r"].calls(0.6, 3), (300, 200))
        self.assertEqual(own_set.folders["r"].calls(0.001, 3), (3, 3))

    def test_rows_of_one_set_alone_are_named(self):
        self.write("old", "a")
        old, new = self.write("old", "gone"), self.write("new", "a", "other")
        self.assertEqual(versions.rows_of(old, new, None), (["a"], ["gone"]))
        self.assertEqual(list(old.folders), ["a"])
        self.assertFalse(versions.Row("a", (old.folders["a"], new.folders["a"])).same_text)

    def test_rows_have_names_and_folders_of_their_own(self):
        for ranks in (2, 4, 8):
            rows = list(emit_set.rows(ranks, False))
            self.assertEqual((len({row[0] for row in rows}), len({emit_set.folder_name(row[0]) for row in rows})), (len(rows), len(rows)))
            self.assertGreaterEqual(len(rows), 40)


class Turns(Sets):
    """Mock programs with the times of a table."""

    def setUp(self):
        super().setUp()
        self.order, self.starts, self.us = [], 0, {}
        patch = mock.patch.object(versions, "started", self.started)
        patch.start()
        self.addCleanup(patch.stop)

    def started(self, rows, args):
        self.starts += 1
        return {(row, version): self.ready(row.name, version, args) for row in rows for version in (versions.OLD, versions.NEW)}

    def ready(self, name, version, args):
        ready = mock.Mock(item={"us": [], "wrong": 0})

        def time_round():
            self.order.append((name, version))
            ready.item["us"] += [self.us[name][version], 5000, self.us[name][version]][:args.repeats]
        ready.round = time_round
        return ready

    def run_rows(self, us, budget=100):
        self.us = {name: dict(zip((versions.OLD, versions.NEW), times)) for name, times in us.items()}
        rows = []
        for name in us:
            old, new = self.write("old", name), self.write("new", name)
            rows.append(versions.Row(name, (old.folders[name], new.folders[name])))
        with contextlib.redirect_stdout(io.StringIO()), mock.patch.object(versions.Ready, "finish"):
            versions.Ready.finish = staticmethod(lambda ready: None)
            versions.take_all(rows, ARGS, time.monotonic() + budget, lambda: None)
        return rows

    def test_pairs_change_places(self):
        self.run_rows({"a": (100, 100), "b": (100, 100)})
        self.assertEqual(self.order, [("a", "old"), ("a", "new"), ("b", "new"), ("b", "old"),
                                      ("a", "new"), ("a", "old"), ("b", "old"), ("b", "new")])

    def test_the_ratio_is_of_medians_and_slow_rows_are_timed_again(self):
        rows = self.run_rows({"a": (100, 98), "b": (100, 100), "c": (96, 100)})
        self.assertEqual([(round(row.ratio, 3), len(row.rounds)) for row in rows], [(1.02, 2), (1, 2), (0.96, 4)])
        v = versions.verdict(rows, [], ARGS)
        self.assertEqual((v["median"], v["least"], v["below"], v["passed"]), (1, 0.96, 1, False))
        text = versions.markdown(rows, [], ARGS)
        self.assertIn("| c | 0.0960 | 0.1000 | 0.960 | 0.960 | 0.960 | 4 | yes |", text)
        self.assertIn("Not passed", text)

    def test_what_is_no_slower_passes_unless_a_row_is_missing_or_wrong(self):
        rows = self.run_rows({"a": (100, 99), "b": (100, 100)})
        self.assertTrue(versions.verdict(rows, [], ARGS)["passed"])
        self.assertFalse(versions.verdict(rows, ["c"], ARGS)["passed"])
        rows[0].wrong["new"] = 3
        self.assertFalse(versions.verdict(rows, [], ARGS)["passed"])

    def test_without_time_rows_are_listed(self):
        rows = self.run_rows({"a": (100, 100)}, budget=-1)
        self.assertEqual(rows[0].failures, {"both": "no time was left"})
        self.assertIn("- not timed: a: both: no time was left", versions.markdown(rows, [], ARGS))


class RanksTogether(unittest.TestCase):
    def start(self, code):
        ranks = paced.Ranks([sys.executable, "-uc", code], 2)
        self.addCleanup(lambda: [f.close() for p in ranks.ranks for f in (p.process.stdin, p.process.stdout)])
        return ranks

    def test_rank_0_answers_and_all_end(self):
        ranks = self.start("import os, sys\nfor line in sys.stdin: print('# rank', os.environ['HIRGEN_RANK'], 'of', os.environ['HIRGEN_WORLD'])")
        ranks.say("go")
        self.assertEqual(ranks.wait_for("# rank", 20), "0 of 2")
        ranks.finish(20)
        self.assertEqual([p.process.returncode for p in ranks.ranks], [0, 0])

    def test_all_are_stopped(self):
        ranks = self.start("import time; time.sleep(100)")
        ranks.stop()
        self.assertNotIn(None, [p.process.returncode for p in ranks.ranks])


if __name__ == "__main__":
    unittest.main()
