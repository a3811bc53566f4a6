"""Tests the PyTorch package on the CPU device. scripts/test_python.sh sets HIRGEN, HIRGEN_CACHE and HIRGEN_TEST_SPEC."""

import os
import re
import socket
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent


def two_ranks(*what: str) -> str:
    """Runs the functions `what` of ranks.py on two ranks with torchrun, and returns the standard output of both."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(HERE / "ranks.py"), *what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(what)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class TwoRanks(unittest.TestCase):
    """Each test starts one job of two ranks. The first job runs all functions, because starting a job takes most of the time."""

    def test_results_checkpoints_errors_buffers(self):
        what = ("eager", "compiled", "roles", "checkpoints", "refused", "buffers", "by_ipc", "of_some")
        said = two_ranks(*what)
        for rank in range(2):
            for name in what:
                self.assertIn(f"rank {rank}: {name} ok", said)

    def test_a_peer_that_dies_is_an_exception(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
        ranks = [
            subprocess.Popen(
                [sys.executable, str(HERE / "survivor.py")],
                env={**environment, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(2)
        ]
        said = [rank.communicate(timeout=300)[0] for rank in ranks]
        self.assertEqual(ranks[1].returncode, -9, said[1])
        self.assertEqual(ranks[0].returncode, 0, said[0])
        self.assertRegex(said[0], re.compile(r"caught code 5: llama_mlp: .*rank 1", re.DOTALL))
        self.assertIn("closed with code 5", said[0])
        self.assertIn("goes on: 2.0", said[0])


class Load(unittest.TestCase):
    def test_errors_say_what_failed(self):
        import hirgen

        with self.assertRaisesRegex(hirgen.BuildError, "no_such_hirgen was not found"):
            hirgen.load(os.environ["HIRGEN_TEST_SPEC"], hirgen="no_such_hirgen")
        with self.assertRaisesRegex(hirgen.BuildError, "HG0|NOPE"):
            hirgen.load(os.environ["HIRGEN_TEST_SPEC"], {"NOPE": 1}, device="cpu")


if __name__ == "__main__":
    unittest.main()
