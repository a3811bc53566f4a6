"""Tests of scripts/verify_overlap.py on a small trace."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import verify_overlap  # noqa: E402


def a_slice(rank, track, kind, statement, begin, end):
    """An event with a duration, in the format of traces."""
    return {"ph": "X", "pid": rank, "tid": track, "cat": kind, "ts": begin, "dur": end - begin, "args": {"statement": statement}}


EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}},
    a_slice(0, 1, "gemm", "Matmul of C_s", 10.0, 20.0),
    a_slice(0, 2, "gemm", "Matmul of C_s", 15.0, 30.0),  # overlaps the first GEMM: counted once
    a_slice(1, 1, "gemm", "Matmul of C_s", 0.0, 100.0),
    a_slice(0, 3, "nccl", "gather: Allgather of A_s", 0.0, 40.0),
    a_slice(0, 3, "nccl", "gather: Allgather of A_s", 40.0, 50.0),
    a_slice(0, 3, "event wait", "Wait(gather)", 10.0, 20.0),
    a_slice(1, 4, "copy", "receive: receive of A_s", 90.0, 110.0),
]


class Overlap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "trace.json"

    def run_main(self, *options, events=None):
        """(exit code, output)."""
        self.path.write_text(json.dumps({"otherData": {"program": "p", "calls": 1}, "traceEvents": EVENTS if events is None else events}))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            return verify_overlap.main([str(self.path), *options]), out.getvalue()

    def test_time_beside_gemms_of_the_same_rank_counts_once(self):
        found = verify_overlap.communications(EVENTS)
        self.assertEqual(found, {"gather: Allgather of A_s": (2, 50.0, 20.0), "receive: receive of A_s": (1, 20.0, 10.0)})

    def test_less_than_the_limit_is_a_failure(self):
        code, text = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("| gather: Allgather of A_s | 1 | 25.0 | 10.0 | 0.40 |", text)
        self.assertIn("Less than 0.5 of gather: Allgather of A_s", text)
        self.assertNotIn("Less than 0.5 of receive", text)

    def test_the_limit_and_what_is_judged_are_options(self):
        self.assertEqual(self.run_main("--limit", "0.4")[0], 0)
        self.assertEqual(self.run_main("--only", "receive")[0], 0)
        self.assertEqual(self.run_main("--only", "receive", "gather")[0], 1)

    def test_a_trace_without_communications_proves_nothing(self):
        self.assertEqual(self.run_main("--only", "scatter")[0], 1)
        self.assertEqual(self.run_main(events=EVENTS[:4])[0], 1)

    def test_what_is_no_trace_is_an_error(self):
        self.assertEqual(self.run_main(events=[{"ph": "X"}])[0], 2)


if __name__ == "__main__":
    unittest.main()
