"""Tests of the modules that make the site, without mkdocs: links, texts of the gallery, names of commands."""

import unittest

import commands
import gallery
import links


class Links(unittest.TestCase):
    def lead(self, text, page):
        return links.lead(text, page, gallery.root, "https://web")

    def test_to_pages(self):
        self.assertEqual(self.lead("[a](docs/spec.md#fields)", "index.md"), "[a](spec.md#fields)")
        self.assertEqual(self.lead("[a](../ARCHITECTURE.md)", "spec.md"), "[a](architecture.md)")
        self.assertEqual(self.lead("[a](../../ARCHITECTURE.md)", "design/README.md"), "[a](../architecture.md)")
        self.assertEqual(self.lead("[a](../testdata/specs/llama_mlp/spec.yaml)", "spec.md"), "[a](gallery/llama_mlp.md)")

    def test_to_the_web(self):
        self.assertEqual(self.lead("[a](../../lowering/pipeline)", "design/edges.md"), "[a](https://web/lowering/pipeline)")

    def test_left_alone(self):
        for text in ("[a](https://example.org/x.md)", "[a](#here)", "```\n[a](nowhere.md)\n```"):
            self.assertEqual(self.lead(text, "spec.md"), text)

    def test_missing(self):
        with self.assertRaises(links.Missing):
            self.lead("[a](nowhere.md)", "spec.md")


class Gallery(unittest.TestCase):
    def test_every_spec_says_what_it_shows(self):
        self.assertGreater(len(gallery.names()), 0)
        for name in gallery.names():
            self.assertNotEqual(gallery.about(name), "", name)
            self.assertTrue(gallery.body(name).startswith("hirgen: 1"), name)

    def test_statements(self):
        lowered = "program p\nparam D = 2\ntensor A: x\n\nA = Allocate @1:2\nFor s in S: @3:4  # why\n  C = Matmul(A, B) @5:6\n"
        self.assertEqual(gallery.statements(lowered), "A = Allocate\nFor s in S:  # why\n  C = Matmul(A, B)")

    def test_first_sentence(self):
        self.assertEqual(gallery.first_sentence("C = a_b x B: the rest. More."), "C = a\\_b x B.")


class Commands(unittest.TestCase):
    def test_listed(self):
        top = "Usage:\n  hirgen\n\nAvailable Commands:\n  check       Check a spec\n  completion  Generate\n  export-go   Print a Go program\n\nFlags:\n  -h, --help\n"
        self.assertEqual(commands.commands(top), [("check", "Check a spec"), ("export-go", "Print a Go program")])


if __name__ == "__main__":
    unittest.main()
