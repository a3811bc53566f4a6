"""Tests the choice of the folder in which hirgen.load keeps packages, and the import of a package from it."""

import concurrent.futures
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import hirgen  # noqa: F401

load = sys.modules["hirgen.load"]  # hirgen.load is the function


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def root(self, cache=None, **variables):
        with mock.patch.dict(os.environ, {"HOME": str(self.folder), "HIRGEN_CACHE": "", "XDG_CACHE_HOME": "", **variables}):
            return load._root(cache)

    def test_the_folders_by_their_rank(self):
        home, xdg, own, given = (self.folder / name for name in (".cache", "xdg", "own", "given"))
        self.assertEqual(self.root(), (home / "hirgen", True))
        self.assertEqual(self.root(XDG_CACHE_HOME="xdg"), (home / "hirgen", True))
        self.assertEqual(self.root(XDG_CACHE_HOME=str(xdg)), (xdg / "hirgen", True))
        self.assertEqual(self.root(XDG_CACHE_HOME=str(xdg), HIRGEN_CACHE=str(own)), (own, True))
        self.assertEqual(self.root(given, HIRGEN_CACHE=str(own)), (given, True))
        self.assertEqual(list((given / "python").iterdir()), [])

    def test_off_or_unwritable_is_for_this_process_alone(self):
        (self.folder / "file").touch()
        for value in ("off", str(self.folder / "file")):
            root, shared = self.root(HIRGEN_CACHE=value)
            self.assertFalse(shared)
            self.assertTrue((root / "python").is_dir())


class Import(unittest.TestCase):
    def test_threads_get_a_complete_module(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder, "package", "layer")
            package.mkdir(parents=True)
            (package / "__init__.py").write_text("import time\ntime.sleep(0.2)\nlayer = 1\n")
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                modules = list(pool.map(lambda _: load._module(Path(folder), "digest").layer, range(2)))
        self.assertEqual(modules, [1, 1])


if __name__ == "__main__":
    unittest.main()
