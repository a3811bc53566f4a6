"""Tests of calls in CUDA graphs: both sides have as many a graph, and a peer that fails leaves the others."""
import argparse
import itertools
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import bench
import bench_layers
import built
import cells
import cost_rows
import layers
import programs
import runs
from stubs import WithoutTorch
import sums
import tables
import variants


def a_row(**more):
    """A row whose best peer and best program are not in graphs."""
    return {"operation": sums.OPERATION, "m": 16, "n": sums.WIDTH, "k": 1, "ranks": 2, "flops": 1, "calls": {"in_graph": 50},
            "peers": {"collective": {"us": [9.0]}, "collective, graph": {"us": [8.0]}, "compiled": {"us": [20.0]}, "compiled, graph": {"us": [30.0]},
                      "two_shot compiled": {"refused": "RuntimeError: no symmetric memory"}},
            "hirgen": {"auto": {"us": [10.0], "wrong": 0}, "auto, graph": {"us": [12.0], "wrong": 0}}, **more}


class CallsOfAGraph(unittest.TestCase):
    def test_a_graph_has_calls_for_a_millisecond(self):
        short, long = (cells.Cell("matmul_ar", m, 8192, 8192, 2) for m in (16, 32768))
        self.assertEqual((short.in_graph(), long.in_graph(), long.in_graph(3)), (22, 1, 3))
        self.assertEqual((cells.tiny_cell(2).in_graph(), sums.sums(2, [1])[0].in_graph(), sums.sums(2, [1])[0].in_graph(7)), (50, 50, 7))

    def test_warm_up_and_repeats_are_whole_graphs(self):
        for in_graph in (1, 7, 50):
            calls = cells.Cell("matmul_ar", 16, 8192, 8192, 2).calls(0.01, 7, 5, 0.01, in_graph)
            self.assertEqual([count % in_graph for count in calls], [0, 0])

    def test_few_rows_take_as_long_as_their_matrices(self):
        few = cells.Cell("matmul_ar", 16, 8192, 8192, 2)
        self.assertEqual(few.expected_seconds, 2 * 8192 * 8192 / cells.MEMORY_BYTES)

    def test_programs_are_told(self):
        with tempfile.TemporaryDirectory() as work:
            settings = argparse.Namespace(hirgen="/bin/true", work=work, device="cpu", cmake=[], seconds=0.01, warm=0, repeats=2, iters=5, rounds=2,
                                          near=1.15, jobs=4, check_limit=80, calls_per_graph=0)
            cell = sums.sums(2, [16])[0]
            row = runs.Row(cell, sums.of_cell(cell), settings)
            self.addCleanup(row.stop)
            words = list(map(str, row.command(1)))
        self.assertEqual(words[words.index("--calls-per-graph") + 1], "50")
        self.assertEqual(int(words[words.index("--iters") + 1]) % 50, 0)

    def test_predictions_are_not_fitted_to_shared_launches(self):
        row = {"operation": "matmul_ar", "m": 16, "n": 8, "k": 8, "ranks": 2, "peers": {}, "calls": {"in_graph": 5},
               "hirgen": {"eager": {"us": [1.0], "wrong": 0}, "eager, graph": {"us": [1.0], "wrong": 0}}}
        self.assertEqual(len(cost_rows.rows_of("here", row, is_layer=False)), 1)
        self.assertEqual(len(cost_rows.rows_of("here", {**row, "calls": {"in_graph": 1}}, is_layer=False)), 2)


class Sides(unittest.TestCase):
    def test_every_cell_has_a_program_in_a_graph(self):
        made = [variants.of_cell(cell) for cell in [*cells.cells(2, cells.SHAPES, cells.OPERATIONS), cells.tiny_cell(2)]]
        for each in [*made, *(sums.of_cell(cell) for cell in sums.sums(2, sums.ROWS))]:
            self.assertTrue(any(v.schedule.get("graph") for v in each), each[0])
            for variant in each:
                self.assertEqual(variant.label.endswith(tables.GRAPH), "graph" in variant.schedule, variant.label)

    def test_graphs_are_compared_with_graphs(self):
        d = tables.derived(a_row())
        self.assertEqual((d["against_peer"], d["graphs"], d["collective"]), (2.0, 2.5, 8.0))
        self.assertEqual(tables.graph_columns(a_row()), ["2.50", "50"])
        self.assertEqual(tables.graph_columns(a_row(hirgen={}, calls={})), ["-", "-"])


class Sums(unittest.TestCase):
    def test_hirgen_takes_every_program(self):
        """Checks that hirgen accepts every schedule: a refused one would show only as a line of the report."""
        for variant in sums.of_cell(sums.sums(2, [16])[0]):
            with tempfile.TemporaryDirectory() as folder:
                spec = pathlib.Path(folder) / "spec.yaml"
                spec.write_text(variant.text())
                says = programs.checked(built.hirgen(), spec, variant.options)
            self.assertEqual((says["ranks"], says["params"]["H"]), (2, sums.WIDTH), variant)

    def test_the_report(self):
        text = bench.report({"machine": "none", "rows": [], "tiny": None, "sums": [a_row()]})
        self.assertIn("| 16 | 256 | 8.0 | compiled | 20.0 | auto | 10.0 | 2.00 | 2.50 | 50 |", text)
        self.assertIn("two_shot compiled: RuntimeError: no symmetric memory", text)
        self.assertEqual(sums.markdown([]), "")

    def test_sections_are_planned(self):
        with mock.patch.object(sys, "argv", ["bench.py", "--ranks", "2", "--sections", "sums", "--rows", "1", "16", "--only", "graph"]):
            steps = bench.planned(bench.parse())
        self.assertEqual([(s.section, s.cell.m, len(s.variants)) for s in steps], [("sums", m, len(sums.PROGRAMS) - 1) for m in (1, 16)])


class Few(unittest.TestCase):
    def test_layers_with_few_rows(self):
        with mock.patch.object(sys, "argv", ["bench_layers.py", "--ranks", "2", "--few", "16", "64"]), mock.patch.dict(layers.SIZES):
            args = bench_layers.parse()
            block, mlp = layers.layers(2, ["block", "mlp"], args.sizes)[:2]
        self.assertEqual((args.sizes, block.m, mlp.m, block.params["L"]), (["8b, 16 rows", "8b, 64 rows"], 16, 16, 16))
        self.assertEqual(block.weight_bytes, block.weights)
        extents = {name: getattr(block, name) for name in ("m", "n", "k", "ranks")}
        self.assertEqual(layers.of_row({"operation": "block", "name": block.name, "size": vars(block.size), **extents}), block)


class Rounds(unittest.TestCase):
    def test_a_peer_that_hangs_leaves_the_others(self):
        asked, peers = [], runs.Peers.__new__(runs.Peers)

        def ask(do, peer=None, **more):
            asked.append((peer or do, more.get("calls_per_graph")))
            if peer == "eager, graph":
                raise runs.Silence("no answer")
            return {"peers": ["eager", "eager, graph"]} if do == "load" else {"us": [1.0]}
        with mock.patch.object(peers, "ask", ask, create=True), mock.patch.object(peers, "stop"):
            items = peers.load(sums.sums(2, [1])[0], 50)
            for name in ("eager, graph", "eager"):
                peers.round(name, items[name], 1, 1, 1)
            again = peers.load(sums.sums(2, [1])[0], 50)
        self.assertEqual(asked, [("load", 50), ("eager, graph", None), ("load", 50), ("eager", None), ("load", 50)])
        self.assertEqual(items, {"eager": {"us": [1.0]}, "eager, graph": {"refused": "failed: no answer"}})
        self.assertEqual(again, {"eager": {"us": []}, "eager, graph": {"refused": "failed: it hung before"}})

    def test_processes_that_a_peer_breaks_are_restarted(self):
        peers = runs.Peers.__new__(runs.Peers)
        answers = {"load": {"peers": ["eager"]}, "time": {"refused": "RuntimeError: illegal access", "broken": True}}
        item = {"us": []}
        with mock.patch.object(peers, "ask", lambda do, **_: answers[do], create=True), mock.patch.object(peers, "stop") as stop:
            peers.load(cells.tiny_cell(2))
            peers.round("eager", item, 1, 1, 1)
        self.assertEqual((item, stop.call_count), ({"refused": "RuntimeError: illegal access"}, 1))

    def test_a_trial_that_breaks_the_processes_is_not_repeated(self):
        asked, peers = [], runs.Peers.__new__(runs.Peers)

        def ask(do, peer=None, **_):
            asked.append(peer or do)
            if do == "load":
                return {"peers": ["one_shot, graph", "eager"]}
            return {"refused": "RuntimeError: fault", "broken": True} if peer == "one_shot, graph" else {"error": 0.01, "broken": False}
        with mock.patch.object(peers, "ask", ask, create=True), mock.patch.object(peers, "stop") as stop:
            items = peers.tried(layers.layers(2, ["mlp"], ["8b"])[0], (), 3)
        self.assertEqual((asked, stop.call_count), (["load", "one_shot, graph", "load", "eager"], 1))
        self.assertEqual(items, {"one_shot, graph": {"refused": "failed: RuntimeError: fault"}, "eager": {"us": [], "error": 0.01}})


class Graphs(WithoutTorch):
    def test_every_peer_of_an_operation_is_in_a_graph_too(self):
        server = self.peers.Server(self.group)
        for cell in [*cells.cells(4, [(1024, 512, 256)], cells.OPERATIONS), *sums.sums(4, [16])]:
            made = server.load(cell.operation, 20, **cell.sizes)["peers"]
            alone = [name for name in made if not name.endswith(tables.GRAPH)]
            self.assertEqual(made, alone + [name + tables.GRAPH for name in alone])
            self.assertTrue(all(server.calls[name + tables.GRAPH].calls == 20 for name in alone))
            for call in server.calls.values():
                call()
        self.assertEqual(alone, ["collective", "compiled", "one_shot compiled", "two_shot compiled"])

    def test_a_launch_of_a_graph_is_several_calls(self):
        call = mock.Mock()
        graph = self.on_gpu.Captured(call, 20)
        with mock.patch.object(self.on_gpu.torch.cuda.Event.return_value, "elapsed_time", return_value=4.0), \
                mock.patch.object(self.on_gpu.torch, "tensor") as tensor:
            self.on_gpu.timed_by_rank(graph, 30, 40, 1)
        self.assertEqual(tensor.call_args.args[0], [4.0 * 1e3 / 40])
        self.assertEqual((call.call_count, graph.graph.replay.call_count), (3 + 20, 2 + 2))

    def test_a_refused_capture_is_an_answer(self):
        """The caller's stream is current again, for the next peer."""
        torch, server = self.on_gpu.torch, self.peers.Server(self.group)
        failing = mock.Mock(side_effect=itertools.chain([1, 2, 3], itertools.repeat(RuntimeError("not permitted"))))
        server.calls = {"eager, graph": self.on_gpu.Captured(failing, 5)}

        def ends(*_):
            raise ValueError("capture failed\nin C++")
        torch.cuda.graph.return_value.__exit__.side_effect = ends
        torch.cuda.set_stream.reset_mock()
        self.assertEqual(server.time("eager, graph", 1, 1, 1),
                         {"refused": "ValueError: capture failed, after RuntimeError: not permitted", "broken": False})
        torch.cuda.default_generators[0].graphsafe_set_state.assert_called()
        torch.cuda.set_stream.assert_called_once_with(torch.cuda.current_stream())

    def test_kernels_of_a_graph_are_of_several_calls(self):
        server = self.peers.Server(self.group)
        server.calls = {"eager": mock.Mock(), "eager, graph": self.on_gpu.Captured(mock.Mock(), 4)}
        self.assertEqual([server.profile(name, 5)["calls"] for name in server.calls], [5, 8])


if __name__ == "__main__":
    unittest.main()
