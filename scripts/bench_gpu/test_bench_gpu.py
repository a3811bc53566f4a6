"""Tests of the benchmark's computations: sizes, numbers of calls, tables. python3 -m unittest discover scripts/bench_gpu"""
import contextlib
import pathlib
import re
import socket
import sys
import tempfile
import unittest
from unittest import mock

import bench
import built
import cells
import cost_rows
import drawn
import paced
import programs
import table_of
from stubs import WithoutTorch
import tables
import variants

MACHINES = pathlib.Path(__file__).resolve().parent.parent.parent / "cost" / "machines"


def a_row(operation="ag_matmul", us=100.0, peer_us=130.0, **more):
    """A row with a GEMM of 90 us and a collective of 80 us."""
    row = {"operation": operation, "m": 1024, "n": 512, "k": 256, "ranks": 4, "flops": 2 * 1024 * 512 * 256,
           "peers": {"gemm": {"us": [90.0]}, "collective": {"us": [80.0]}, "eager": {"us": [peer_us, 1000.0, peer_us]},
                     "async_tp": {"refused": "RuntimeError: no"}},
           "hirgen": {"a": {"us": [us], "wrong": 0}, "b": {"us": [us / 2], "wrong": 3}, "c": {"refused": "refused: error HG008"}}}
    return {**row, **more}


def checked(spec, cell):
    """The output of `hirgen check --json` for an example spec at the size of a cell."""
    return programs.checked(built.hirgen(), programs.spec_file(spec), programs.Variant(spec, cell.params, {}).options)


class Cells(unittest.TestCase):
    def test_parameters_are_of_the_whole_problem(self):
        self.assertEqual(cells.Cell("ag_matmul", 1024, 512, 256, 4).params, {"D": 4, "M": 1024, "N": 512, "K": 256})
        self.assertEqual(cells.Cell("matmul_rs", 1024, 512, 256, 4).params, {"D": 4, "M": 1024, "N": 512, "K": 1024})

    def test_a_rank_multiplies_what_the_shape_says(self):
        """The specs of matmul_rs and matmul_ar split K over ranks, as a batched product. The product of ag_matmul is not batched."""
        for cell in cells.cells(4, [(1024, 512, 256)], cells.OPERATIONS):
            says = checked(f"{cell.operation}_p2p", cell)
            products = [op["product"] for op in says["operations"] if "product" in op]
            self.assertEqual(products, [{"m": 1024, "n": 512, "k": 256, "batch": 1 if cell.operation == "ag_matmul" else 4}])
            self.assertEqual(says["ranks"], cell.ranks)

    def test_moved_bytes(self):
        moved = [cells.Cell(operation, 1024, 512, 256, 4).moved_bytes for operation in cells.OPERATIONS]
        self.assertEqual(moved, [1024 * 256 * 2 * 3 / 4, 1024 * 512 * 2 * 3 / 4, 1024 * 512 * 2 * 3 / 2])

    def test_moved_bytes_are_those_of_the_programs(self):
        for cell in cells.cells(4, [(1024, 512, 256)], cells.OPERATIONS):
            says = checked(f"{cell.operation}_p2p", cell)
            self.assertEqual(sum(c["times"] * c["bytes"] for c in says["communications"]), cell.moved_bytes, cell)

    def test_calls_last_as_long_as_asked(self):
        large, small = (cells.Cell("ag_matmul", *shape, 8) for shape in ((32768, 8192, 16384), (1024, 8192, 8192)))
        for cell in (large, small):
            warmup, iters = cell.calls(0.3, 7, 5)
            self.assertGreaterEqual(7 * iters * cell.expected_seconds, 0.3)
            self.assertGreaterEqual(warmup * cell.expected_seconds, 0.1)
            self.assertGreaterEqual(cell.calls(0.1, 7, 5, warm=0.3)[0] * cell.expected_seconds, 0.3)
        self.assertEqual(large.calls(0.01, 7, 5), (3, 5))
        self.assertGreater(small.calls(0.3, 7, 5)[1], 10 * large.calls(0.3, 7, 5)[1])

    def test_checks_hold_whole_tensors(self):
        """On 8 ranks B of a sum at 1024 rows is 2.1 GB, and a check with its repetitions takes almost 20 GB."""
        self.assertEqual(cells.Cell("ag_matmul", 1024, 512, 256, 4).check_bytes, 4 * (1024 * 256 + 256 * 512 + 1024 * 512))
        self.assertEqual(cells.Cell("matmul_rs", 1024, 512, 256, 4).check_bytes, 4 * (1024 * 1024 + 5 * 1024 * 512 + 5 * 1024 * 512))
        self.assertAlmostEqual(cells.Cell("matmul_ar", 1024, 8192, 8192, 8).check_bytes / 1e9, 19.9, 1)

    def test_every_operation_at_every_shape_the_largest_first(self):
        made = cells.cells(8, cells.SHAPES, cells.OPERATIONS)
        self.assertEqual(len(made), 21)
        self.assertEqual([c.operation for c in made[:3]], cells.OPERATIONS)
        self.assertEqual(max(made, key=lambda c: c.flops).m, made[0].m)

    def test_the_tiny_cell_has_a_kilobyte_a_rank(self):
        cell = cells.tiny_cell(8)
        self.assertEqual(cell.m // cell.ranks * cell.k * cells.ELEMENT, 1024)


class Variants(unittest.TestCase):
    def test_specs_parameters_and_labels_are_as_the_specs_say(self):
        for cell in [*cells.cells(8, cells.SHAPES, cells.OPERATIONS), cells.tiny_cell(8)]:
            made = variants.of_cell(cell)
            self.assertEqual(len({v.label for v in made}), len(made), "labels name columns")
            self.assertEqual(len({v.folder_name for v in made}), len(made), "programs are not built twice")
            for variant in made:
                self.assertLessEqual(set(variant.params), set(built.params(variant.spec)), variant.spec)


class CostRows(unittest.TestCase):
    def test_a_drawn_row_has_the_schedule_that_was_chosen(self):
        cell = cells.Cell("matmul_rs", 640, 4608, 2816, 2)
        of = "matmul_rs 640 x 4608 x 2816, bf16, 2 ranks: "
        chosen = {"pipeline": "p2p", "all.via": "ipc-put", "streams": "0"}
        for choice, schedule in [
                (of + "predicted 50.7 us on h200 with pipeline p2p, all.via ipc-put, streams 0, 72.7 us with the default of each field", chosen),
                (of + "predicted 1.53 ms on file.json with preset eager, streams 0", {"preset": "eager", "streams": "0"}),
                (of + "measured 269.1 us with pipeline p2p, all.via ipc-put, streams 0", chosen),
                (of + "predicted 50.7 us on h200 with the default schedule", {})]:
            self.assertEqual(cost_rows.drawn_program(cell, choice), {"spec": "matmul_rs_auto", "params": cell.params, "schedule": schedule})
        self.assertIsNone(cost_rows.drawn_program(cell, "nothing to choose: the default of each field"))

    def test_rows_of_a_drawn_shape(self):
        row = a_row("matmul_ar", hirgen={"auto": {"us": [100.0], "wrong": 0}}, choice="x: predicted 1.0 us on h200 with preset eager, streams 0")
        kinds = [next(key for key in ("gemm", "collective", "spec") if key in one) for one in cost_rows.rows_of_drawn("here", row)]
        self.assertEqual(kinds, ["gemm", "collective", "spec"])
        row["hirgen"]["auto"]["wrong"] = 1
        self.assertEqual(len(cost_rows.rows_of_drawn("here", row)), 2)


class Drawn(unittest.TestCase):
    def test_a_seed_draws_the_same_shapes_everywhere(self):
        self.assertEqual(drawn.shapes(1, 12)[:4], drawn.shapes(1, 4))
        self.assertNotEqual(drawn.shapes(1, 4), drawn.shapes(2, 4))
        self.assertEqual(drawn.shapes(1, 1), [(48, 10752, 8448)])

    def test_extents_are_multiples_in_range(self):
        for m, n, k in drawn.shapes(3, 500):
            self.assertEqual((m % 16, n % 128, k % 128), (0, 0, 0))
            self.assertTrue(16 <= m <= 16384 and 1024 <= n <= 16384 and 1024 <= k <= 16384)

    def test_rows_are_log_uniform(self):
        rows = [m for m, _, _ in drawn.shapes(3, 500)]
        self.assertTrue(all(90 < sum(low <= m < 5.7 * low for m in rows) < 160 for low in (16, 90, 513, 2900)))

    def test_odd_extents_are_no_multiples_of_8(self):
        for ranks in (2, 4, 8):
            made = drawn.odd_shapes(3, 100, ranks)
            self.assertEqual(drawn.odd_shapes(3, 6, ranks), made[:6])
            for m, n, k in made:
                self.assertTrue(m % ranks == 0 and n % 8 and k % 8 and (m % 8 or ranks == 8), (m, n, k))

    def test_every_operation_at_every_shape(self):
        made = drawn.drawn(2, [1, 2, 3], 4, cells.OPERATIONS)
        self.assertEqual(len(made), 36)
        for cell in made[:3]:
            self.assertTrue(programs.spec_file(drawn.of_cell(cell)[0].spec).exists())

    def test_the_choice_is_what_hirgen_says(self):
        cell = cells.Cell("matmul_rs", 1024, 512, 256, 2)
        with tempfile.TemporaryDirectory() as work:
            builder = programs.Builder(built.hirgen(), work)
            program = programs.Program(builder, drawn.of_cell(cell)[0])
            program.emit()
            self.assertEqual(program.failure, "")
            self.assertRegex(drawn.choice(program)["choice"], r"^matmul_rs \d+ x \d+ x \d+, bf16, \d ranks: (measured|predicted) .* with pipeline ")
            machine = pathlib.Path(work) / "own.json"
            machine.write_text((MACHINES / "h200.json").read_text().replace('"h200"', '"mine"', 1))
            calibrated = programs.Program(builder, drawn.of_cell(cell, machine)[0])
            calibrated.emit()
            found = drawn.choice(calibrated)
            self.assertRegex(found["choice"], r": predicted .* on mine with ")
            self.assertGreater(found["predicted_us"], 1)
            self.assertNotEqual(calibrated.folder, program.folder)
            odd = programs.Program(builder, programs.Variant("matmul_rs_auto", {**cell.params, "M": 7}, {}))
            odd.emit()
            self.assertRegex(drawn.choice(odd)["choice"], "^refused: error HG")

    def test_the_report_has_the_source_and_the_least_row(self):
        both = {"auto": {"us": [100.0], "wrong": 0}, "auto, graph": {"us": [90.0], "wrong": 0}}
        row = a_row(hirgen=both, choice="measured somewhere", predicted_us=110.0)
        row["peers"] |= {"eager, graph": {"us": [180.0]}}
        far = a_row(hirgen={"auto": {"us": [100.0], "wrong": 0}}, choice="predicted", predicted_us=80.0)
        text = drawn.markdown([row, far, a_row(hirgen={"auto": {"us": [100.0], "wrong": 0}})])
        self.assertIn("| eager | 0.1300 | 0.1000 | 0.1100 | 10.0 | 1.300 | 0.900 | 2.00 | - | measured somewhere |", text)
        self.assertIn("Predicted within 15% of measured: 1 of 2 rows.", text)
        self.assertIn("In graphs on both sides, peer / hirgen: geometric mean 2.000, least 2.000, 1 of 1 rows at 1 or more.", text)
        self.assertIn("| all | 3 | 1.300 | 0.900 | 0.900 | 1.300 |", text)

    def test_sections_are_planned(self):
        with mock.patch.object(sys, "argv", ["bench.py", "--ranks", "2", "--draw", "1", "3", "--drawn", "2", "--odd", "1"]):
            self.assertEqual([s.section for s in bench.planned(bench.parse())], ["drawn"] * 15)


class Commands(unittest.TestCase):
    def test_the_environment_stays_where_nothing_is_added(self):
        for env in (None, {}, {"HIRGEN_OTHER": "1"}):
            self.assertEqual(programs.quiet(["sh", "-c", "echo ${PATH:+set}"], env=env), (0, "set\n"))


class Peers(WithoutTorch):
    def test_every_operation_has_peers_and_both_halves_alone(self):
        server = self.peers.Server(self.group)
        for operation in cells.OPERATIONS:
            names = server.load(operation, m=1024, n=512, k=256)["peers"]
            self.assertLess(set(tables.ALONE), set(names), operation)

    def test_a_peer_that_refuses_is_an_answer(self):
        server = self.peers.Server(self.group)
        server.calls = {"eager": mock.Mock(side_effect=RuntimeError("no such shape\nat line 1"))}
        self.assertEqual(server.time("eager", 1, 1, 1), {"refused": "RuntimeError: no such shape", "broken": False})

    def test_attention_whose_kernels_all_fail_has_no_name(self):
        layer = mock.Mock(spec=self.layer_peers.Block)
        layer.example = lambda: (mock.Mock(), mock.Mock(), mock.Mock())
        with mock.patch.object(self.layer_peers, "timed", side_effect=RuntimeError("no such shape")):
            self.assertEqual(self.layer_peers.choose_attention(layer, True), "neither kernel: flash and cuDNN failed")
        self.assertEqual(self.layer_peers.choose_attention(mock.Mock(), True), "")


class Tables(unittest.TestCase):
    def test_the_best_is_the_fastest_that_is_right(self):
        self.assertEqual(tables.best(a_row()["hirgen"]), ("a", 100.0))
        self.assertEqual(tables.best(a_row()["peers"], tables.ALONE), ("eager", 130.0))
        self.assertEqual(tables.best({"x": {"refused": "no"}}), (None, None))

    def test_ratios(self):
        d = tables.derived(a_row())
        self.assertAlmostEqual(d["against_peer"], 1.3)
        self.assertAlmostEqual(d["against_floor"], 0.9)
        self.assertAlmostEqual(d["tflops"], 2 * 1024 * 512 * 256 / 100e-6 / 1e12)

    def test_the_faster_allgather_makes_the_floor(self):
        slow_gather = {"gemm": {"us": [50.0]}, "collective": {"us": [80.0]}}
        self.assertEqual(tables.derived(a_row(peers=slow_gather))["floor"], 80.0)
        self.assertEqual(tables.derived(a_row(peers=slow_gather, allgather={"get": {"us": [60.0], "wrong": 0}}))["floor"], 60.0)

    def test_what_was_not_measured_is_a_dash(self):
        row = a_row(peers={})
        self.assertIsNone(tables.derived(row)["against_peer"])
        self.assertIn("| - | - | a | 0.1000 |", tables.main_table([row]))

    def test_geometric_mean(self):
        self.assertAlmostEqual(tables.geometric_mean([1, 4]), 2)
        self.assertIsNone(tables.geometric_mean([]))

    def test_means_are_by_operation_and_of_all(self):
        text = tables.means_table([a_row(), a_row("matmul_rs", us=50.0, peer_us=60.0)])
        self.assertIn("| ag_matmul | 1 | 1.300 | 0.900 | 0.900 | 1.300 |", text)
        self.assertIn("| all | 2 | 1.249 |", text)

    def test_the_report_names_what_is_wrong_and_what_is_refused(self):
        text = tables.markdown({"machine": "none", "rows": [a_row()], "tiny": None})
        self.assertIn("0.0500 (3 wrong)", text)
        self.assertIn("- ag_matmul 1024, 512, 256, async_tp: RuntimeError: no", text)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            self.assertEqual(len({line.count("|") for line in table.splitlines()}), 1, table)


class Measurements(unittest.TestCase):
    def test_the_fastest_right_schedule_of_each_size(self):
        hirgen = {"eager": {"us": [40.0], "wrong": 0}, "get": {"us": [30.0], "wrong": 0}, "put": {"us": [20.0], "wrong": 1},
                  "get, tuned": {"us": [10.0], "wrong": 0}, "collective, S=4": {"us": [10.0], "wrong": 0},
                  "get, 2 streams": {"us": [10.0], "wrong": None}, "get, 2 chunks": {"refused": "no"}}
        row = a_row(hirgen=hirgen, allgather={"allgather get": {"us": [9.0], "wrong": 0}})
        lines = table_of.table([{"machine": "a machine", "rows": [row], "tiny": None}]).splitlines()
        self.assertIn("# a machine", lines)
        get = "pipeline p2p, all.via ipc-get, streams 0, all.signals batched"
        self.assertEqual(lines[-2:], [f"allgather\tbf16\t4\t1024\t1\t256\t9.0\t{get}",
                                      f"ag_matmul\tbf16\t4\t1024\t512\t256\t30.0\t{get}"])

    def test_blocks_are_counted(self):
        row = a_row("matmul_rs", hirgen={"get, peer-read sum, 2 GEMMs": {"us": [5.0], "wrong": 0}})
        line = table_of.table([{"machine": "a machine", "rows": [row], "tiny": None}]).splitlines()[-1]
        self.assertTrue(line.endswith("all.signals batched, all.fuse peer-read, all.block 2"), line)

    def test_within_a_percent_the_plainest_wins(self):
        plain, long = {"preset": "eager"}, {"pipeline": "p2p", "streams": 0}
        self.assertEqual(table_of.best([(100.0, long), (100.9, plain)]), (100.9, plain))
        self.assertEqual(table_of.best([(100.0, long), (101.1, plain)]), (100.0, long))

    def test_a_later_file_wins(self):
        old, new = ({"machine": m, "rows": [a_row(hirgen={"get": {"us": [us], "wrong": 0}})]} for m, us in (("x", 5.0), ("y", 7.0)))
        lines = table_of.table([old, new]).splitlines()
        self.assertEqual((lines[1:3], len(lines)), (["# x", "# y"], 5))
        self.assertIn("\t7.0\t", lines[-1])

    def test_labels_stand_for_one_schedule(self):
        for operation in cells.OPERATIONS:
            lists = (variants.COMMON, variants.SMALL, variants.LARGE, variants.HUGE)
            rows = [row for rows in lists for row in rows[operation]] + variants.ALLGATHER + variants.TINY
            self.assertEqual(len({label for label, *_ in rows}), len({str(row) for row in rows}), operation)


class Programs(unittest.TestCase):
    def test_the_first_error_without_its_place(self):
        output = "warning: x\n/a/spec.yaml:9:13: error HG031: M / D is 7 / 4\n  A: [M/D]\n"
        self.assertEqual(programs.first_error(output), "error HG031: M / D is 7 / 4")

    def test_a_command_that_outlasts_its_limit_is_stopped(self):
        code, output = programs.quiet([sys.executable, "-uc", "import time; print('begun'); time.sleep(60)"], seconds=5)
        self.assertEqual((code, output.split()[0]), (124, "begun"))

    def test_a_command_that_is_not_there(self):
        self.assertEqual(programs.quiet(["/no/such/command"])[0], 127)

    def test_a_program_is_built_once_for_all_its_variants(self):
        with tempfile.TemporaryDirectory() as work, mock.patch.object(programs.Program, "build", autospec=True) as build:
            build.side_effect = lambda program: setattr(program, "failure", "")
            one, two = programs.Variant("ag_matmul", {"D": 2}, {}), programs.Variant("ag_matmul", {"D": 4}, {})
            built = programs.Builder("hirgen", work).build([one, two, one, programs.Variant("ag_matmul", {"D": 2}, {}, label="again")], 2)
            self.assertEqual([p.failure for p in built], [""] * 4)
            self.assertEqual(build.call_count, 2)


class Ports(unittest.TestCase):
    def test_a_reserved_port_is_no_other_programs_and_may_be_listened_on(self):
        with contextlib.ExitStack() as held:
            ports = [held.enter_context(paced.reserved_port()) for _ in range(500)]
            self.assertEqual(len(set(ports)), 500)
            socket.create_server(("127.0.0.1", ports[0])).close()  # sets SO_REUSEADDR, as the runtime does


class PacedProcesses(unittest.TestCase):
    def start(self, code):
        process = paced.Paced([sys.executable, "-c", code])
        self.addCleanup(lambda: (process.stop(), process.process.stdin.close(), process.process.stdout.close()))
        return process

    def test_it_works_when_it_is_asked_to(self):
        process = self.start("print('noise\\n# ready', flush=True)\nwhile True: print('# round', input(), flush=True)")
        process.wait_for("# ready", 20)
        process.say("7")
        self.assertEqual(process.wait_for("# round", 20), "7")

    def test_silence_has_what_it_said(self):
        process = self.start("import sys; sys.exit('out of memory')")
        with self.assertRaisesRegex(paced.Silence, "out of memory"):
            process.wait_for("# ready", 20)

    def test_silence_in_time(self):
        with self.assertRaisesRegex(paced.Silence, "no answer"):
            self.start("input()").wait_for("# ready", 0.1)


if __name__ == "__main__":
    unittest.main()
