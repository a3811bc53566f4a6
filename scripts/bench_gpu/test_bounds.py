"""Tests of the bounds of a call, and of the steps of a benchmark run."""
import argparse
import re
import unittest
from unittest import mock

import bench
import bounds
import cells
from test_bench_gpu import WithoutTorch, a_row


class Products(WithoutTorch):
    def problem(self, m, n, k):
        """A problem on rank 1 of 4 with mocked memory."""
        return self.peers.products.Problem(self.group, m, n, k)

    def test_every_measurement_is_a_call(self):
        made = self.peers.products.calls(self.group, 1024, 512, 256, cells.OPERATIONS)
        self.assertEqual(set(made), set(bounds.names(4, cells.OPERATIONS)))

    def test_pieces_are_all_rows_once(self):
        problem = self.problem(12, 8, 8)
        problem.a = problem.parts = list(range(12))
        for parts in (1, 2, 5, 8):
            pieces = problem.cut(parts)
            self.assertEqual((len(pieces), sum((rows for rows, _ in pieces), [])), (parts, list(range(12))))
            self.assertTrue(all(rows == out for rows, out in pieces))

    def test_copies_are_what_a_rank_is_sent(self):
        """A rank reads all rows of A of each peer, its shard of each partial sum, and for an allreduce the sums of the others."""
        problem = self.problem(16, 8, 32)
        problem.peers_own, problem.peers_parts = mock.Mock(), mock.Mock()
        for operation, handle, expected in (
                ("ag_matmul", problem.peers_own, [(2, (4, 32)), (3, (4, 32)), (0, (4, 32))]),
                ("matmul_rs", problem.peers_parts, [(peer, (4, 8), 1 * 32) for peer in (2, 3, 0)]),
                ("matmul_ar", problem.peers_parts, [*((peer, (4, 8), 1 * 32) for peer in (2, 3, 0)),
                                                    *((peer, (4, 8), peer * 32) for peer in (2, 3, 0))])):
            handle.get_buffer.reset_mock()
            self.assertEqual(len(problem.copies(operation)), len(expected))
            taken = [(call.args[:2] + call.args[3:]) for call in handle.get_buffer.call_args_list]
            self.assertEqual(taken, expected, operation)

    def test_bounds_are_timed_in_turns_forth_and_back(self):
        """Calls of 10 ms: a first call gives the time, so five calls fill 50 ms; 0.4 s of GEMMs warm the GPUs up."""
        order = []
        self.peers.timed = lambda call, warmup, iters, repeats: order.append((call, warmup, iters, repeats)) or [10e3]
        answer = self.peers.Server(self.group).bounds(["ag_matmul"], 64, 32, 16, seconds=0.05, rounds=2)
        names = bounds.names(4, ["ag_matmul"])
        self.assertEqual(answer["items"], {name: {"us": [10e3, 10e3], "iters": 5} for name in names})
        tries, rounds = order[:len(names)], order[len(names):]
        call_of = {name: call for name, (call, *_) in zip(names, tries)}
        for i in range(2):
            (warm, *counts), *timed = rounds[i * (len(names) + 1):][:len(names) + 1]
            self.assertEqual((warm, counts), (call_of["whole"], [0, 40, 1]))
            self.assertEqual([call for call, *_ in timed], [call_of[name] for name in sum(bounds.turn(names, back=i == 1), [])])
            self.assertEqual({tuple(counts) for _, *counts in timed}, {(2, 5, 1)})

    def test_bounds_that_fail_are_an_answer(self):
        self.peers.products.calls = mock.Mock(side_effect=RuntimeError("out of memory"))
        self.assertEqual(self.peers.Server(self.group).bounds([], 64, 32, 16, 1, 1), {"skipped": "RuntimeError: out of memory"})


def a_bound(**us):
    """The bounds of a_row: the whole GEMM takes 100 us, one GEMM a shard 104 us, and 109 us while copies run."""
    items = {bounds.product(1): 100.0, bounds.product(4): 104.0, bounds.beside("ag_matmul", 4): 109.0, bounds.copies("ag_matmul"): 50.0,
             bounds.beside("ag_matmul", 8): 108.0, bounds.SUM: 10.0, bounds.ONE_SLICE: 20.0, **us}
    return {"m": 1024, "n": 512, "k": 256, "ranks": 4, "seconds": 1.0, "items": {name: {"us": [t]} for name, t in items.items()}}


class Bounds(unittest.TestCase):
    def test_names_are_of_one_measurement(self):
        for ranks in (2, 3, 4, 8):
            made = bounds.names(ranks, cells.OPERATIONS)
            self.assertEqual(len(set(made)), len(made))
            self.assertLessEqual(set(bounds.cuts_beside(ranks)), set(bounds.cuts(ranks)), "each has its product alone")

    def test_products_are_timed_before_what_lets_a_gpu_rest(self):
        names = ["whole", "8 GEMMs", "copies of matmul_rs", "8 GEMMs beside copies of matmul_rs", bounds.SUM, bounds.ONE_SLICE]
        busy, idle = ["whole", names[1], names[3]], [names[2], bounds.SUM, bounds.ONE_SLICE]
        self.assertEqual(bounds.turn(names, back=False), (busy, idle))
        self.assertEqual(bounds.turn(names, back=True), (busy[::-1], idle[::-1]))

    def test_products_of_a_program(self):
        for label, parts in (("eager", 1), ("put, local last", 8), ("put, ring in GEMM, 2 a slice", 16), ("put, local last, tuned", 8),
                             ("get, peer-read sum, 2 GEMMs", 2), (None, 8)):
            self.assertEqual(bounds.parts_of("matmul_rs", label, 8), parts, label)
        self.assertEqual(bounds.parts_of("matmul_ar", "put, local last, 4 sub-chunks", 8), 32)
        self.assertEqual(bounds.parts_of("matmul_ar", "put, local last, 4 sub-chunks, separate add", 8), 32)

    def test_shares_make_up_the_whole_difference(self):
        """The row's GEMM took 90 us and the program 108 us, 20 % more: 4 for the cut, 5 for the sharing, 11 for the tail."""
        s = bounds.shares(a_bound(), "ag_matmul", a_row(hirgen={"get": {"us": [108.0], "wrong": 0}}))
        self.assertEqual((s["parts"], s["label"]), (4, "get"))
        for name, percents in (("cut", 4), ("sharing", 5), ("tail", 11)):
            self.assertAlmostEqual(s[name], percents)

    def test_one_product_has_nothing_beside_it(self):
        s = bounds.shares(a_bound(), "ag_matmul", a_row(hirgen={"eager": {"us": [180.0], "wrong": 0}}))
        self.assertEqual((s["parts"], s["cut"], s["sharing"], s["tail"]), (1, 0, 0, 100))

    def test_what_was_not_measured_is_unknown(self):
        s = bounds.shares(a_bound(), "ag_matmul", None)
        self.assertEqual((s["parts"], s["sharing"], s["tail"], s["label"]), (4, 5, None, None))
        s = bounds.shares(a_bound(), "matmul_rs", a_row("matmul_rs", hirgen={"put, ring in GEMM, 2 a slice": {"us": [108.0], "wrong": 0}}))
        self.assertEqual((s["cut"], s["sharing"], s["tail"]), (None, None, None))

    def test_the_least_is_over_all_cuts(self):
        self.assertEqual(bounds.least(a_bound(), "ag_matmul"), (108.0, "8 GEMMs"))
        self.assertEqual(bounds.least(a_bound(), "matmul_rs"), (None, None))

    def test_the_report(self):
        text = bounds.markdown([a_bound(), {"m": 8, "n": 8, "k": 8, "ranks": 4, "skipped": "0 s were left"}],
                               [a_row(hirgen={"get": {"us": [108.0], "wrong": 0}})])
        self.assertIn("| ag_matmul | 1024, 512, 256 | 0.1000 | 4 | 0.1040 | 0.1090 | get | 0.1080 | 4.0 | 5.0 | 11.0 | "
                      "0.1080 | 8 GEMMs |", text)
        self.assertIn("| ag_matmul | 1024, 512, 256 | 0.0500 | 8 | - | 0.1090 | 0.1080 | - |", text)
        self.assertIn("- 8, 8, 8: 0 s were left", text)
        self.assertIn("| 1024, 512, 256 | 0.0100 | 131 | - | - | 0.0200 | 13 |", text)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            self.assertEqual(len({line.count("|") for line in table.splitlines()}), 1, table)

    def test_no_bounds_no_report(self):
        self.assertEqual(bounds.markdown([], [a_row()]), "")


def settings(**more):
    """The settings that the steps need."""
    defaults = {"ranks": 8, "shapes": cells.SHAPES, "operations": cells.OPERATIONS, "sections": bench.SECTIONS[:3], "only": None,
                "no_peers": True, "device": "cuda", "bounds_limit": 60, "layers": [], "draw": [], "no_cublasmp": True, "drawn": 0, "divide": 1,
                "bounds_seconds": 0.05, "deadline": 1e12, "odd": 0, "rows": []}
    return argparse.Namespace(**{**defaults, **more})


class Steps(unittest.TestCase):
    def test_the_most_valuable_come_first(self):
        steps = [(s.section, s.cell.operation, s.cell.m) for s in bench.planned(settings())]
        largest, huge = cells.SHAPES[0][0], ("rows", "matmul_ar", cells.SHAPES[0][0])
        self.assertEqual(steps[:4], [("rows", "ag_matmul", largest), ("rows", "matmul_rs", largest),
                                     ("bounds", "ag_matmul", largest), ("tiny", "ag_matmul", 8)])
        self.assertEqual((len(steps), steps[-1]), (21 + 7 + 1, huge))

    def test_sections_and_labels_choose(self):
        alone = bench.planned(settings(sections=["bounds"]))
        self.assertEqual([(s.section, s.cell.m, s.variants) for s in alone], [("bounds", shape[0], []) for shape in cells.SHAPES])
        peer_read = bench.planned(settings(sections=["rows"], only=["peer-read"], operations=["matmul_rs"], shapes=[(1024, 8192, 8192)]))
        self.assertEqual([v.schedule["all.fuse"] for v in peer_read[0].variants], ["peer-read"] * 3)

    def test_time_is_expected_by_what_was_taken(self):
        first, second, third = bench.planned(settings(sections=["rows"], operations=["matmul_rs"], shapes=cells.SHAPES[:3]))
        self.assertEqual(bench.expected(second, []), 0)
        self.assertEqual(bench.expected(third, [(first, 40), (second, 9)]), 9)
        self.assertEqual(bench.expected(first, [(second, 9), (third, 5)]), 9)
        self.assertEqual(bench.expected(first._replace(section="bounds"), [(second, 9)]), 0)

    def collect(self, seconds, **more):
        """The result of a run with rows and bounds of two shapes, on a mock clock on which each step takes seconds."""
        clock, result = [0.0], {"rows": [], "tiny": None, "bounds": [], "skipped": []}

        def measured(cell, *_):
            clock[0] += seconds
            return a_row(cell.operation, m=cell.m, n=cell.n, k=cell.k, ranks=8, seconds={"prepare": 0, "time": 0})

        def bounded(_, cell, __):
            clock[0] += seconds
            return {**a_bound(), "m": cell.m, "n": cell.n, "k": cell.k, "ranks": 8}

        args = settings(shapes=cells.SHAPES[:2], operations=["matmul_rs"], sections=["rows", "bounds"], no_peers=False, **more)
        peers = mock.Mock(about=None, bounds=bounded)
        with mock.patch.object(bench.time, "monotonic", lambda: clock[0]), mock.patch.object(bench.runs, "measure", measured), \
                mock.patch.object(bench.runs, "Peers", lambda ranks: peers), mock.patch("builtins.print"):
            bench.collect(args, bench.planned(args), result, lambda: None)
        return result

    def test_what_does_not_fit_the_budget_is_listed(self):
        result = self.collect(10, deadline=25)
        self.assertEqual(([r["m"] for r in result["rows"]], [b["m"] for b in result["bounds"]]), ([32768], [32768, 8192]))
        self.assertEqual(result["skipped"], [{"operation": "matmul_rs", "m": 8192, "n": 8192, "k": 8192, "ranks": 8,
                                              "skipped": "5 s were left, and it takes some 10 s"}])
        self.assertIn("skipped", result["bounds"][1])
        text = bench.report({"machine": "none", **result})
        self.assertIn("- matmul_rs 8192, 8192, 8192: 5 s were left, and it takes some 10 s\n", text)
        self.assertIn("- 8192, 8192, 8192: 5 s were left", text)

    def test_runs_in_pieces_are_reported_as_one(self):
        """Merges two runs in any order: the first run has the larger shape and skips the other, and the second run has the other's row."""
        first = {**self.collect(10, deadline=25), "machine": "x"}
        second = {"machine": "x", "rows": [a_row("matmul_rs", m=8192, n=8192, k=8192, ranks=8)], "bounds": [], "tiny": {"us": 1}}
        for results in ([first, second], [second, first]):
            one = bench.merged(results)
            self.assertEqual((one["machine"], sorted(row["m"] for row in one["rows"]), one["skipped"]), ("x", [8192, 32768], []))
            self.assertEqual((["items" in b for b in one["bounds"]], one["tiny"]), ([True, False], {"us": 1}))

    def test_bounds_have_a_limit_of_their_own(self):
        result = self.collect(10, bounds_limit=15)
        self.assertEqual((len(result["rows"]), len(result["skipped"])), (2, 0))
        self.assertEqual(["items" in b for b in result["bounds"]], [True, False])


if __name__ == "__main__":
    unittest.main()
