"""Tests of runs.py: a row of `hirgen bench` with its peers."""
import pathlib
import tempfile
import types
import unittest

import cells
import programs
import runs

#: A stub of hirgen: it asks for two rounds of all peers and writes a result.
COMMAND = """#!/usr/bin/env python3
import json, subprocess, sys
value = dict(zip(sys.argv, sys.argv[1:]))
cases = json.load(open(value["--cases"]))
peers = subprocess.Popen(value["--peers"], shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
names = json.loads(peers.stdout.readline())["peers"]
answers = []
for name in names * 2:
    print(name, file=peers.stdin, flush=True)
    answers.append(json.loads(peers.stdout.readline()))
peers.stdin.close()
peers.wait(20)
first = {"case": cases[0]["name"], "status": "ok", "us": [7.0], "wrong": 0, "memory_bytes": 5, "folder": "there"}
second = {"case": cases[1]["name"], "status": "waived", "reason": "/a/spec.yaml:7:1: error HG008"}
rows = [first, second, {"case": "eager", "status": "ok", "peer": True}]
json.dump({"rows": rows, "answers": answers, "options": sys.argv[1:]}, open(value["--json"], "w"))
"""


def settings(work, command):
    """The settings of a command line, with a command in place of hirgen."""
    path = pathlib.Path(work) / "hirgen"
    path.write_text(command)
    path.chmod(0o755)
    return types.SimpleNamespace(hirgen=str(path), work=work, device="cpu", cmake=["-DA=1"], seconds=0.01, warm=0, repeats=2, iters=5, rounds=2, near=1.15, jobs=4,
                                 check_limit=80, calls_per_graph=0)


class StubPeers:
    """A fast peer (eager), a peer that is refused (broken), and slow ones."""

    def round(self, name, item, *_):
        """Adds a fixed time to the item, or puts a refusal in place of the item's content."""
        if name == "broken":
            item.clear()
            item["refused"] = "no memory"
        else:
            item["us"] += [10.0] if name == "eager" else [50.0]


class Rows(unittest.TestCase):
    def row(self, work, command, names):
        """(the Row, its result) of two variants."""
        cell = cells.Cell("ag_matmul", 256, 128, 128, 2)
        made = [programs.Variant("ag_matmul", cell.params, {"preset": "eager"}, label="whole"),
                programs.Variant("allgather_p2p", {"D": 2}, {"pipeline": "p2p"}, label="gather")]
        own = runs.Row(cell, made, settings(work, command), 2)
        self.addCleanup(own.stop)
        own.ready()
        items = {name: {"us": []} for name in names}
        return own, own.timed(StubPeers(), items | {"absent": {"refused": "no such operation"}})

    def test_peers_have_their_turns(self):
        with tempfile.TemporaryDirectory() as work:
            own, row = self.row(work, COMMAND, ["eager", "slow", "broken"])
            told = runs.json.loads(own.result.read_text())
        self.assertEqual(told["answers"], [{"us": [10.0]}, {"us": [50.0]}, {"failed": "no memory"}, {"us": [10.0]}, {"us": []}, {"failed": "no memory"}])
        self.assertEqual(row["peers"], {"eager": {"us": [10.0, 10.0]}, "slow": {"us": [50.0]}, "broken": {"refused": "no memory"},
                                        "absent": {"refused": "no such operation"}})
        self.assertEqual(row["hirgen"], {"whole": {"us": [7.0], "wrong": 0, "checks": 1, "iters": own.iters, "memory_bytes": 5}})
        self.assertEqual(row["allgather"], {"gather": {"refused": "refused: error HG008"}})
        self.assertEqual(own.folders, {"whole": "there"})
        self.assertEqual([option in told["options"] for option in ("--cmake=A=1", "--no-gemms", "--checks")], [True] * 3)

    def test_a_command_that_ends_is_a_row_of_failures(self):
        with tempfile.TemporaryDirectory() as work:
            row = self.row(work, "#!/bin/sh\necho no such option; exit 2\n", ["eager"])[1]
        self.assertIn("no such option", row["hirgen"]["whole"]["refused"])
        self.assertEqual(row["peers"]["eager"], {"us": []})


if __name__ == "__main__":
    unittest.main()
