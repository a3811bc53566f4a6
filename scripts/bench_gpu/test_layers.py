"""Tests of the layers' benchmark: sizes, programs, resumed runs, tables."""
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import bench_layers
import built
import kernel_classes
import layers
import programs
import runs
from stubs import WithoutTorch


def a_row(layer, us=100.0, peer_us=130.0, **more):
    """A row of a layer that takes 80 us without communication."""
    return {"operation": layer.operation, "m": layer.m, "n": layer.n, "k": layer.k, "ranks": layer.ranks, "flops": layer.flops,
            "name": layer.name, "size": layer.size and vars(layer.size),
            "peers": {"compute": {"us": [80.0]}, "compute, whole": {"us": [90.0]}, "eager": {"us": [peer_us + 15, peer_us - 15], "memory_bytes": 3e6},
                      "async_tp": {"refused": "RuntimeError: no"}},
            "hirgen": {"get": {"us": [us, us], "wrong": 0}, "auto": {"us": [us + 4], "wrong": 0}}, **more}


class Layers(unittest.TestCase):
    def test_every_operation_at_every_size(self):
        made = layers.layers(2, layers.OPERATIONS)
        self.assertEqual(len(made), len(layers.OPERATIONS) * len(layers.SIZES))
        self.assertEqual(len({bench_layers.key(layer) for layer in made}), len(made))

    def test_parameters_are_those_of_the_specs(self):
        for layer in layers.layers(2, layers.OPERATIONS):
            made = layers.of_layer(layer)
            self.assertEqual(len({v.label for v in made}), len(made), "labels name columns")
            self.assertEqual(len({v.folder_name for v in made}), len(made), "programs are not built twice")
            for variant in made:
                self.assertLessEqual(set(variant.params), set(built.params(variant.spec)), variant.spec)

    def test_what_is_timed_is_known(self):
        known = {label for label, *_ in layers.FEED_FORWARD + layers.OTHERS}
        self.assertLessEqual(set(layers.USUAL), known)

    def test_hirgen_takes_the_cut_specs_by_their_schedules(self):
        """Checks that hirgen accepts every spec and schedule: a refused one would show only in the report."""
        for layer in layers.layers(2, layers.OPERATIONS, ["8b"]):
            for variant in (variant for variant in layers.of_layer(layer) if variant.label in layers.USUAL):
                with tempfile.TemporaryDirectory() as folder:
                    spec = pathlib.Path(folder) / "spec.yaml"
                    spec.write_text(variant.text())
                    says = programs.checked(built.hirgen(), spec, variant.options)
                self.assertEqual(says["ranks"], 2, variant)

    def test_products_are_those_of_the_specs(self):
        for operation, expected in (("mlp", 2), ("swiglu", 3), ("mlp_backward", 4), ("swiglu_backward", 6)):
            layer = layers.layers(2, [operation], ["small"])[0]
            self.assertEqual(layer.flops, 2 * expected * 1024 * 14336 * 4096 / 2)

    def test_a_block_has_the_model_s_heads(self):
        block = layers.layers(2, ["block"], ["8b"])[0]
        self.assertEqual(block.params, {"D": 2, "B": 2, "L": 2048, "H": 32, "G": 8, "C": 128, "F": 14336})
        self.assertEqual(block.sizes, {"m": 4096, "n": 14336, "k": 4096, "sequences": 2, "heads": 32, "groups": 8})
        self.assertEqual(block.weights, 3 * 14336 * 4096 + (2 * 32 + 2 * 8) * 128 * 4096)

    def test_drawn_sizes_are_the_same_everywhere(self):
        first = list(layers.drawn_sizes(1, 4))
        self.assertEqual(list(layers.drawn_sizes(1, 2)), first[:2])
        self.assertTrue(all(size.rows % 256 == size.inner % 256 == size.heads % size.groups == 0 for size in first))
        self.assertTrue(all(2 <= size.inner / size.width <= 4.1 and 768 <= size.rows <= 12288 for size in first))

    def test_a_row_knows_its_layer(self):
        for layer in layers.layers(2, layers.OPERATIONS):
            row = json.loads(json.dumps(a_row(layer)))
            self.assertEqual(layers.of_row(row), layer)

    def test_smaller_layers_are_whole(self):
        for layer in layers.layers(2, layers.OPERATIONS, ["8b", "70b", "small"]):
            small = layer.smaller(64)
            self.assertTrue(small.flops > 0 and all(value == int(value) > 0 for value in small.params.values()), small)


class Tables(unittest.TestCase):
    def test_what_is_removed_of_the_communication(self):
        mlp, block = layers.layers(2, ["mlp", "block"], ["small"])[::-1]
        self.assertAlmostEqual(layers.removed(a_row(mlp)), 30 / 50)
        self.assertIsNone(layers.removed(a_row(mlp, peer_us=79.0)), "no communication to remove")
        text = layers.markdown({"machine": "GPUs", "rows": [a_row(mlp), a_row(block, us=150.0)]})
        self.assertIn("| mlp | small | 1024, 14336, 4096 | 0.0800 | eager | 0.1300 | 26.1 | get | 0.1000 | 0.0 | 1.300 | 0.60 | 0.1040 | 1.250 | 3 | - |", text)
        self.assertIn("0.10 is removed, the mean of 2 rows; 0.10 where", text)
        self.assertIn("least 0.867, 1 of 2 rows at 1 or more", text)
        self.assertIn("- block small: 0.867; not explained", text)
        self.assertIn("- mlp 1024, 14336, 4096, async_tp: RuntimeError: no", text)


    def test_a_graph_of_pytorch_has_the_memory_of_its_call(self):
        row = a_row(layers.layers(2, ["mlp"], ["small"])[0])
        row["peers"] |= {"eager, graph": {"us": [110.0], "memory_bytes": None}}
        self.assertIn("| eager, graph | 0.1100 |", layers.table([row]))
        self.assertTrue(layers.table([row]).endswith("| 3 | - | - | - |"))

    def test_no_row_hides_others(self):
        mlp = layers.layers(2, ["mlp"], ["small"])[0]
        lines = layers.summary([a_row(mlp, us=30.0), a_row(mlp, us=130.0)])
        self.assertIn("1.00 is removed, the mean of 2 rows; 0.50 where", lines[0])

    def test_a_missed_row_says_by_what(self):
        layer = layers.layers(2, ["mlp"], ["small"])[0]
        told = {"label": "auto", "us": 150.0, "peer": "eager", "peer_us": 130.0, "statements": [], "kernels": [],
                "ours": {"something computes": 120.0, "bytes only move": 5.0, "nothing runs": 25.0, "GEMM": 110.0, "other kernels": 10.0},
                "theirs": {"something computes": 110.0, "bytes only move": 20.0, "nothing runs": 0.0, "GEMM": 110.0}}
        text = layers.markdown({"machine": "GPUs", "rows": [a_row(layer, us=150.0, explained=told)]})
        self.assertIn("- mlp small: 0.867; something computes +0.010 ms, bytes only move -0.015 ms, nothing runs +0.025 ms "
                      "(GEMM +0.000, attention +0.000, other kernels +0.010)", text)


class KernelClasses(unittest.TestCase):
    def test_kernels_of_pytorch_have_classes_by_their_names(self):
        for name, expected in (("nvjet_sm90_tst_256x128_64x4", "GEMM"), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "collectives"),
                               ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "attention"), ("Memcpy PtoP (Device -> Device)", "copies"),
                               ("triton_poi_fused_mul_silu_split_4", "other kernels"), ("c10d::symmetric_memory::barrier_kernel", "collectives")):
            self.assertEqual(kernel_classes.class_of(name), expected, name)

    def test_a_trace_is_summed_on_the_rank_that_works_longest(self):
        events = [(0, "Linear of Z", "gemm", 10), (1, "Linear of Z", "gemm", 12), (1, "Linear of Z", "gemm", 12), (1, "attention of O", "kernel", 4),
                  (1, "send of X", "copy", 3), (0, "Wait", "event wait", 100)]
        trace = {"otherData": {"calls": 2}, "traceEvents": [
            {"ph": "X", "pid": rank, "cat": category, "ts": 0, "dur": us, "args": {"statement": name}} for rank, name, category, us in events]}
        made = kernel_classes.ours(trace)
        self.assertEqual({name: made[name] for name in ("GEMM", "attention", "copies")}, {"GEMM": 12, "attention": 2, "copies": 1.5})
        self.assertNotIn("event wait", made)
        self.assertEqual(kernel_classes.longest(trace)[0], ("Linear of Z", 12))

    def test_a_call_is_what_computes_and_moves_and_waits(self):
        kernels = [("nvjet", 0, 10), ("nvjet", 5, 20), ("ncclDevKernel_AllGather", 15, 26), ("triton_poi", 30, 40)]
        made = kernel_classes.theirs(kernels, 2)
        self.assertEqual(made, {"GEMM": 12.5, "collectives": 5.5, "other kernels": 5, "something computes": 15, "bytes only move": 3, "nothing runs": 2})
        self.assertEqual(kernel_classes.sums(kernels, 2)[0], ("nvjet", 12.5))
        self.assertEqual(kernel_classes.theirs([], 2), {})

    def test_both_sides_stand_in_one_table(self):
        told = {"label": "auto", "us": 100.0, "peer": "eager", "peer_us": 120.0, "ours": {"GEMM": 80.0}, "theirs": {"GEMM": 75.0, "attention": 5.0},
                "statements": [("Linear of Z", 80.0)], "kernels": [("nvjet", 75.0)]}
        text = kernel_classes.markdown({"operation": "mlp", "name": "8b", "m": 1, "n": 2, "k": 3, "explained": told})
        self.assertIn("| GEMM | 0.0800 | 0.0750 |\n| attention | - | 0.0050 |", text)
        self.assertIn("| a call | 0.1000 | 0.1200 |", text)
        self.assertIn("no kernels: why", kernel_classes.markdown({"operation": "mlp", "explained": {"refused": "why"}}))


class Parts(unittest.TestCase):
    """A benchmark run in several calls, on a mock clock on which a row takes 100 seconds."""

    def run_part(self, folder, *options):
        """Runs the benchmark once; returns the measured (operation, size) in the groups that were prepared together."""
        clock, groups = [0.0], []

        def ready(group, *_):
            groups.append([(layer.operation, layer.name) for layer in group])
            return group

        def row_of(layer, _):
            clock[0] += 100
            return {**a_row(layer), "seconds": {"prepare": 0, "time": 0}}
        argv = ["bench_layers.py", "--ranks", "2", "--no-peers", "--json", str(folder / "layers.json"), "--work", str(folder), *options]
        with mock.patch.object(sys, "argv", argv), mock.patch.object(bench_layers, "ready", ready), mock.patch.object(bench_layers, "row_of", row_of), \
                mock.patch.object(bench_layers, "FIRST_SECONDS", (0, 100)), mock.patch.object(bench_layers.time, "monotonic", lambda: clock[0]), \
                mock.patch("builtins.print"):
            self.assertEqual(bench_layers.main(), 0)
        return groups

    def test_resume_goes_on_with_what_is_left(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            options = ["--sizes", "8b", "small", "--operations", "mlp", "swiglu", "--budget", "350", "--together", "2"]
            first = self.run_part(folder, *options)
            second = self.run_part(folder, *options, "--resume")
            self.assertEqual(first, [[("mlp", "8b"), ("swiglu", "8b")], [("mlp", "small")]])
            self.assertEqual(second, [[("swiglu", "small")]])
            self.assertEqual(len(json.loads((folder / "layers.json").read_text())["rows"]), 4)
            self.assertIn("4 of 4 rows", (folder / "layers.md").read_text())
            self.assertEqual(self.run_part(folder, *options), first, "without --resume it begins anew")

    def test_rows_that_are_ready_together_fit_into_memory(self):
        made = layers.layers(2, layers.OPERATIONS, ["70b"])
        args = mock.MagicMock(all=False, only=None)
        for memory, expected in ((1e9, 1), (60e9, 1), (141e9, 2), (1e15, 8)):
            teams = [mock.MagicMock(about={"memory_bytes": memory})] * 8
            self.assertEqual(len(bench_layers.group_of(made, 1000, (0, 1), teams, args)), expected)
        self.assertEqual(bench_layers.group_of(made, 50, (60, 1), teams, args), [])

    def test_what_does_not_compile_ends_it(self):
        teams = [mock.MagicMock(), None]
        runs.stop_unless_built([mock.Mock(failure="refused: no"), mock.Mock(failure="")], teams)
        teams[0].stop.assert_not_called()
        with self.assertRaisesRegex(SystemExit, "no header"):
            runs.stop_unless_built([mock.Mock(failure="build: no header")], teams)
        teams[0].stop.assert_called_once()

    def test_a_wrong_program_fails(self):
        layer = layers.layers(2, ["mlp"], ["8b"])[0]
        wrong = a_row(layer, hirgen={"get": {"us": [1.0], "wrong": 1}})
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "layers.json"
            path.write_text(json.dumps({"rows": [wrong]}))
            argv = ["bench_layers.py", "--ranks", "2", "--no-peers", "--resume", "--json", str(path), "--sizes", "8b", "--operations", "mlp"]
            with mock.patch.object(sys, "argv", argv), mock.patch("builtins.print"):
                self.assertEqual(bench_layers.main(), 1)

    def test_later_rows_replace_earlier_ones(self):
        layer = layers.layers(2, ["mlp"], ["8b"])[0]
        both = bench_layers.merged([{"machine": "a", "rows": [a_row(layer, us=1.0)]}, {"machine": "a", "rows": [a_row(layer, us=2.0)]}])
        self.assertEqual([row["hirgen"]["get"]["us"] for row in both["rows"]], [[2.0, 2.0]])


class Trials(unittest.TestCase):
    """Trials of peers, one of which hangs."""

    def test_what_hangs_is_left_out_of_what_is_tried_afresh(self):
        asked, peers = [], runs.Peers.__new__(runs.Peers)

        def ask(do, peer=None, **_):
            asked.append(peer or do)
            if peer == "one_shot":
                raise runs.Silence("no answer")
            return {"peers": ["eager", "one_shot", "a graph", "compiled"]} if do == "load" else {"error": 0.01}
        with mock.patch.object(peers, "ask", ask, create=True):
            items = peers.tried(layers.layers(2, ["mlp"], ["8b"])[0], ["graph"])
        self.assertEqual(asked, ["load", "eager", "one_shot", "load", "eager", "compiled"])
        self.assertEqual(items, {"one_shot": {"refused": "failed: no answer"}, "eager": {"us": [], "error": 0.01}, "compiled": {"us": [], "error": 0.01}})


class Peers(WithoutTorch):
    def test_every_layer_has_peers_and_what_it_computes(self):
        server = self.peers.Server(self.group)
        with mock.patch.object(self.layer_peers, "reference"):
            for layer in layers.layers(4, layers.OPERATIONS):
                made = set(server.load(layer.operation, **layer.sizes)["peers"])
                self.assertLessEqual({"compute", "compute, graph", "eager", "compiled", "compiled, whole", "compiled, whole, graph"}, made, layer)
                reduced = layer.forward in ("block", *layers.REDUCED)
                self.assertEqual("async_tp" in made, not reduced, "an allreduce has no overlapped form")
                self.assertEqual("compute, whole" in made, reduced, "nothing may be left out")
                self.assertEqual("one_shot" in made, reduced, "sums on every rank")
                self.assertEqual({f"{name}, graph" for name in ("one_shot", "async_tp")} & made, {f"{name}, graph" for name in {"one_shot", "async_tp"} & made})
                self.assertEqual("overlapped" in made, layer.is_backward and not layer.is_quantized)

    def test_memory_is_what_is_there_beside_the_results(self):
        def event(action, addr, size=0):
            return {"action": action, "addr": addr, "size": size}
        events = [event("segment_alloc", 1, 100), event("alloc", 1, 10), event("alloc", 2, 20), event("free_requested", 1), event("free_completed", 1),
                  event("alloc", 1, 40), event("alloc", 3, 5), event("free_completed", 9), event("free_completed", 2)]
        self.assertEqual(self.layer_peers.height(events, {1}), 30)
        self.assertEqual(self.layer_peers.height(events, set()), 65)
        self.assertEqual(self.layer_peers.height(events, {1, 2}), 10)

    def test_results_that_are_far_from_exact_ones_are_no_peer(self):
        server = self.peers.Server(self.group)
        server.calls, server.farthest = {"eager": mock.MagicMock()}, 0.05
        for error, expected in ((0.01, "error"), (0.2, "refused"), (float("nan"), "refused")):
            with mock.patch.object(self.layer_peers, "distance", return_value=error), mock.patch.object(self.layer_peers, "memory", return_value=1):
                self.assertIn(expected, server.trial("eager"))


if __name__ == "__main__":
    unittest.main()
