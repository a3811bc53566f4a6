"""Tests of pages.py: the rows of pages of measurements."""
import unittest

import pages

MACHINE = "2 x GPU"


def a_row(**more):
    """A row of bench.py: three programs, two peers, and the GEMM and the collective alone."""
    return {"operation": "ag_matmul", "m": 8, "n": 16, "k": 32, "ranks": 2, "flops": 8e6,
            "hirgen": {"get": {"us": [12.0, 10.0, 11.0], "wrong": 0, "calls": 2}, "put": {"us": [9.0] * 3, "wrong": 4},
                       "ring": {"refused": "failed: no memory"}},
            "peers": {"gemm": {"us": [8.0]}, "collective": {"us": [3.0]}, "eager": {"us": [22.0], "wrong": None},
                      "async_tp": {"refused": "one node alone"}}, **more}


class Pages(unittest.TestCase):
    def rows(self, **result):
        return pages.rows({"machine": MACHINE, **result})

    def test_each_side_has_its_fastest_first(self):
        rows = self.rows(rows=[a_row()])["rows"]
        self.assertEqual([(row["case"], row["status"], row.get("peer", False)) for row in rows],
                         [("put", "wrong", False), ("get", "ok", False), ("ring", "failed", False),
                          ("eager (not checked)", "ok", True), ("async_tp", "waived", True)])
        self.assertEqual({row["group"] for row in rows}, {"ag_matmul 8 x 16 x 32"})
        self.assertEqual([row.get("reason") for row in rows], [None, None, "no memory", None, "one node alone"])

    def test_figures_refer_to_halves_and_the_best_peer(self):
        get = self.rows(rows=[a_row()])["rows"][1]
        self.assertEqual((get["median_us"], get["products_us"], get["moves_us"], get["best_peer_by_this"]), (11.0, 8.0, 3.0, 2.0))
        self.assertTrue(10 < get["p10_us"] < 11 < get["p90_us"] < 12)

    def test_the_tiny_call_has_no_gathers(self):
        tiny = a_row(hirgen={"allgather get": {"us": [1.0]}, "ag_matmul get": {"us": [2.0], "wrong": 0}})
        cases = [row["case"] for row in self.rows(rows=[], tiny=tiny)["rows"]]
        self.assertEqual(cases[0], "ag_matmul get")
        self.assertNotIn("allgather get", cases)

    def test_rows_of_hirgen_bench_stay_as_they_are(self):
        result = {"rows": [{"case": "S=1", "status": "ok", "us": [1.0]}]}
        self.assertEqual(pages.rows(result), result)

    def test_layers_say_what_their_products_are(self):
        self.assertEqual(self.rows(rows=[a_row()])["about"], "")
        self.assertIn("without communication", self.rows(rows=[a_row(size="8b")])["about"])


if __name__ == "__main__":
    unittest.main()
