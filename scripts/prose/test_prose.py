"""python3 -m unittest discover -s scripts/prose"""
import unittest

import prose


class Places(unittest.TestCase):
    def kinds(self, text):
        return [kind for kind, _ in prose.places(text)]

    def test_each_rule_finds_its_example(self):
        examples = {
            "a clause in place of a noun": "It waits for what the other rank sends.",
            "a sentence that begins with a clause": "What nothing reads is dropped.",
            "a pronoun in place of the noun": "The size is that of the buffer.",
            "somebody who is nobody": "Nothing is printed, and nobody waits.",
            "an object that is told or says": "The kernel is told of its rows.",
            "a place in place of a time": "It runs behind the gather.",
            "beside, for next to or in addition to": "It stands beside the library.",
            "of its own": "Each has a stream of its own.",
            "a stiff phrase": "There is no further event.",
        }
        self.assertEqual(set(prose.RULES), set(examples))
        for kind, text in examples.items():
            self.assertIn(kind, self.kinds(text), text)

    def test_plain_sentences_have_no_place(self):
        for text in ("The pass drops waits that other waits imply.", "What is a rank? One process with one GPU.", "Install it with `pip`, then run `make demo`.",
                     "hirgen check reports all errors in a spec, each with line, column and code."):
            self.assertEqual([], self.kinds(text), text)

    def test_long_sentences(self):
        self.assertEqual([], self.kinds("word " * 31 + "word."))
        self.assertEqual(["a sentence of more than 32 words"], self.kinds("word " * 32 + "word."))

    def test_what_is_read_of_each_kind_of_file(self):
        for kind, source, want in (
            ("markdown", "# Title\n\ntwo\nlines\n\n    code\n\n| name | text |\n|---|---|\n", ["Title", "two lines", "name", "text"]),
            ("go", '// one\n// comment\nvar a = "what a user reads in an error"\nvar b = "no prose" // end\n', ["end", "one comment", "what a user reads in an error"]),
            ("python", '"""A docstring.\n\nOf two."""\n# a\n# comment\nx = 1  # end\n', ["a comment end", "A docstring.", "Of two."]),
            ("hash", "# a\n# comment\nx: 1  # end\n", ["end", "a comment"]),
            ("slashes", "/// shape\nint x;  // rows\n", ["rows", "shape"]),
            ("template", "{{- /* hidden */ -}}\n// shown {{ .Name }}\n", ["shown X"]),
        ):
            self.assertEqual(want, [text for _, text in prose.texts(kind, source)], kind)


if __name__ == "__main__":
    unittest.main()
