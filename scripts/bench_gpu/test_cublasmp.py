"""Tests of cublasmp.py: its dependencies and its protocol."""
import contextlib
import io
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import cells
import cublasmp

SERVER = """
import os, sys
if os.environ['RANK'] == '0': print('PEER {"cublasmp": 700}', flush=True)
for line in sys.stdin:
    words = line.split()
    if words[1] == 'matmul_ar': sys.exit('crashed')
    text = '{"peers": ["cublasmp-default"]}' if words[0] == 'load' else '{"us": [' + ', '.join(words[2:5]) + ']}'
    if os.environ['RANK'] == '0': print('PEER ' + text, flush=True)
"""


class Packages(unittest.TestCase):
    def test_what_is_missing_is_said_in_a_line(self):
        with tempfile.TemporaryDirectory() as root, self.assertRaisesRegex(cublasmp.Missing, r"^no cublasmp.h with .* in any nvidia/cublasmp"):
            cublasmp.located([pathlib.Path(root)])
        peers, said = mock.Mock(), io.StringIO()
        with mock.patch.object(cublasmp, "build", side_effect=cublasmp.Missing("no x.h")), contextlib.redirect_stderr(said):
            self.assertIs(cublasmp.joined(peers, types.SimpleNamespace(ranks=2, work=".")), peers)
        self.assertEqual(said.getvalue(), "without cuBLASMp: no x.h\n")

    def test_packages_are_found_in_different_places(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            for root, (package, header, library) in zip((one, two, two), cublasmp.PARTS):
                for path in (f"include/{header}", f"lib/{library.replace('*', '.0')}"):
                    file = pathlib.Path(root) / "nvidia" / package / path
                    file.parent.mkdir(parents=True)
                    file.touch()
            found = cublasmp.located([pathlib.Path(one), pathlib.Path(two)])
        self.assertEqual([library.name for _, library in found], ["libcublasmp.so.0", "libnvshmem_host.so.0", "libnccl.so.0"])


class Turns(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(cublasmp.Cublasmp, "command", lambda _: [sys.executable, "-uc", SERVER])
        patch.start()
        self.addCleanup(patch.stop)
        self.peers = cublasmp.Cublasmp(2, "program")
        self.processes = list(self.peers.processes)

        def end():
            self.peers.stop()
            for process in {*self.processes, *self.peers.processes}:
                process.process.stdin.close()
                process.process.stdout.close()
            self.peers.folder.cleanup()
        self.addCleanup(end)

    def test_both_take_turns(self):
        torch = mock.Mock(about={"torch": "2"})
        torch.load.return_value = {"eager": {"us": []}}
        both = cublasmp.Both([torch, self.peers])
        self.assertEqual(both.load(cells.Cell("ag_matmul", 256, 128, 128, 2)), {"eager": {"us": []}, "cublasmp-default": {"us": []}})
        item = {"us": []}
        both.round("cublasmp-default", item, 3, 5, 7)
        both.round("eager", {}, 3, 5, 7)
        self.assertEqual((item, torch.round.call_count), ({"us": [3, 5, 7]}, 1))

    def test_layers_and_tiny_calls_have_no_peers(self):
        self.assertEqual(self.peers.load(cells.tiny_cell(2)), {})
        self.assertEqual(self.peers.load(cells.Cell("mlp", 256, 128, 128, 2)), {})

    def test_what_ends_the_program_is_not_tried_again(self):
        for _ in range(2):
            self.assertEqual(self.peers.load(cells.Cell("matmul_ar", 256, 128, 128, 2)), {})
        self.assertEqual((self.peers.broken, self.peers.starts), ({"matmul_ar"}, 1))


if __name__ == "__main__":
    unittest.main()
