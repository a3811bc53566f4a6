"""Tests of spread.py and traces.py: the evaluation of repeats, samples and traces."""
import json
import pathlib
import tempfile
import unittest

import spread
import traces


def a_repeat(begin, us, phase="warm"):
    """A repeat of two ranks."""
    return {"side": "hirgen", "phase": phase, "begin": begin, "end": begin + 0.03, "us": us, "by_rank": [us - 10, us]}


def a_sample(t, sm, watts=600.0):
    """A sample of two GPUs."""
    return {"t": t, "gpus": [{"sm": sm, "mem": 3201, "watts": watts, "celsius": 60, "reasons": 4}] * 2}


def a_trace(folder, name, gemm):
    """A trace of two calls of one rank: a GEMM and a wait."""
    def event(category, begin, us):
        return {"ph": "X", "pid": 0, "tid": 1, "cat": category, "ts": begin, "dur": us, "args": {"statement": f"a {category}"}}
    events = [{"ph": "M"}, event("gemm", 0, gemm), event("flag wait", gemm, 5), event("gemm", gemm + 5, gemm)]
    file = pathlib.Path(folder) / name
    file.write_text(json.dumps({"traceEvents": events, "otherData": {"calls": 2}}))
    return {"us": traces.call_us(json.loads(file.read_text())), "file": str(file)}


class Spread(unittest.TestCase):
    def test_a_repeat_has_the_samples_beside_it_or_the_nearest(self):
        entries = [a_repeat(1.0, 100), a_repeat(2.0, 110)]
        spread.join(entries, [a_sample(1.01, 1900), a_sample(1.02, 1800), a_sample(1.7, 1500)])
        self.assertEqual([e["sm"] for e in entries], [[1850, 1850], [1500, 1500]])

    def test_slow_repeats_at_low_clocks_show(self):
        entries = [a_repeat(i, 100 + 10 * i) for i in range(8)]
        spread.join(entries, [a_sample(i + 0.01, 1980 - 50 * i, 500 + i) for i in range(8)])
        row = spread.line("mlp", "hirgen", "warm", entries)
        self.assertEqual(row[9:11], ["-1.00", "1.00"])
        self.assertEqual(row[11:13], ["1955/1955", "1655/1655"])
        self.assertEqual(row[-1], "125/135")
        self.assertEqual(row[7], "70.0")

    def test_without_samples_there_are_times_alone(self):
        found = {"layer": "mlp", "m": 8, "n": 8, "k": 8, "program": "get", "repeats": [a_repeat(0, 100), a_repeat(1, 100, "warming")]}
        text = spread.markdown({"layers": [found]})
        self.assertIn("| mlp 8, 8, 8 | hirgen | warm | 1 | 0.1000 |", text)
        self.assertNotIn("warming", text)


class Traces(unittest.TestCase):
    def test_the_fastest_is_compared_with_the_slowest(self):
        with tempfile.TemporaryDirectory() as folder:
            taken = [a_trace(folder, f"{gemm}.json", gemm) for gemm in (30, 20, 25)]
            self.assertEqual(taken[0]["us"], 32.5)
            text = traces.compared(taken)
        self.assertIn("3 starts: a call took 22 to 32 us, 28 in the median.", text)
        self.assertIn("| 0 | a gemm | gemm | 20.0 | 30.0 | 1.500 |", text)
        self.assertNotIn("wait", text)


if __name__ == "__main__":
    unittest.main()
