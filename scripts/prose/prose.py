#!/usr/bin/env python3
"""Checks the English of the repository: the number of places in a file that are hard to read must not rise.

    scripts/prose/prose.py                  check all files against limits.tsv
    scripts/prose/prose.py --list PATH...   print the places of some files, to reread them
    scripts/prose/prose.py --update         lower the limits to what there is now; refuses to raise one

A place is a sentence of more than 32 words, or a phrase that matches one of RULES. Read it again, and if it is unclear, write a
sentence that states who does what. The script reads Markdown with its tables, comments, docstrings, sentences in strings of Go, and
the text of templates. A file that is not in limits.tsv may have 3 places per 1,000 words.
"""
import argparse
import ast
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = pathlib.Path(__file__).with_name("limits.tsv")
LONGEST = 32  # words of a sentence
RATE = 3.0  # places per 1,000 words that a new file may have

#: Each kind of place, and an expression that finds it.
RULES = {
    "a clause in place of a noun": r"\b(?:of|with|by|for|from|in|to|at|and|than|as|is|are|was|that|on|into|over) what (?!happens|for\b|if\b|kind|to\b)\w+",
    "a sentence that begins with a clause": r"(?:^|[.:;] )What (?!(?:is|are|does|do|did|can|happens)\b[^.]*\?)\w+ [^.?]*\.",
    "a pronoun in place of the noun": r"\b(?:that|those) (?:of|which|who|whose|in|for|behind|before)\b|\b(?:the|an)? ?(?:other|latter|former|same|another) ones?\b",
    "somebody who is nobody": r"\bnobody\b|\bno one\b|\bnothing (?:is|of|that|may|here|has|can)\b|\bnone (?:is|has|of)\b",
    "an object that is told or says": r"\b(?:is|are|was|were|be) (?:told|asked|given to know)\b|\b(?:spec|file|page|text|table|line|note|kernel|buffer)s? (?:says?|tells?|asks?|knows?)\b",
    "a place in place of a time": r"\bbehind (?:it|them|that|each|the|a|an|one|those|all)\b|\bin front of (?:it|them|that|each|the|a|an)\b",
    "beside, for next to or in addition to": r"\bbeside\b",
    "of its own": r"\bof (?:its|their|one's|his|her) own\b",
    "a stiff phrase": r"\bfurther (?!than\b|down\b|away\b)\w+|\bso many\b|\bat a time\b|\bas it (?:stands|lies)\b|\bas they (?:stand|lie)\b|\bhas it not\b|\b\w+ by (?:this|that) one\b|\bin turn(?:s)?\b|\bfor good\b|\bnot \w+ either\b",
}

KINDS = {".md": "markdown", ".go": "go", ".py": "python", ".sh": "hash", ".yaml": "hash", ".yml": "hash", ".cmake": "hash", ".tmpl": "template",
         ".cpp": "slashes", ".hpp": "slashes", ".cu": "slashes", ".cuh": "slashes", ".h": "slashes", ".c": "slashes"}
SKIPPED = re.compile(r"(^|/)(generated|\.tools|third_party)/|^testdata/(?!specs/|new/|layers/)|/testdata/|/want/|_test\.go$|^LICENSE|^scripts/prose/|/tests/")


def files(paths):
    """The paths of the repository's files to read, among the given paths."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.splitlines()
    return [f for f in listed if pathlib.Path(f).suffix in KINDS and not SKIPPED.search(f) and (ROOT / f).is_file()]


def texts(kind, source):
    """(line, text) of each comment, paragraph, cell of a table or string that is prose."""
    return {"markdown": markdown, "go": go, "python": python, "hash": lambda s: comments(s, r"#"),
            "slashes": lambda s: comments(s, r"//+"), "template": template}[kind](source)


def joined(lines):
    """(line, text) of paragraphs, from lines [(line, text)]. An empty text or None ends a paragraph."""
    run, first = [], 0
    for number, text in [*lines, (0, None)]:
        if text:
            first = first if run else number
            run.append(text)
        elif run:
            yield first, " ".join(run)
            run = []


def markdown(source):
    lines, fenced, cells = [], False, []
    for number, line in enumerate(source.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        text = line.strip()
        if fence or fenced or line.startswith("    ") or not text or text.startswith(("<", "![")):
            lines.append((number, None))
        elif text.startswith("|"):
            cells += [(number, cell.strip()) for cell in text.strip("|").split("|") if re.search(r"[a-z]{3}", cell)]
            lines.append((number, None))
        elif re.match(r"#|[-*] |\d+\. ", text):
            lines += [(number, None), (number, re.sub(r"^(#+|[-*]|\d+\.) ", "", text))] + ([(number, None)] if text.startswith("#") else [])
        else:
            lines.append((number, text))
    yield from joined(lines)
    yield from cells


def comments(source, mark):
    """(line, text) of comments that begin with a mark. Adjacent comment lines form one text; a comment after code is a separate text."""
    lines = []
    for number, line in enumerate(source.split("\n"), 1):
        whole = re.match(rf"\s*{mark}\s?(?!!|nolint|go:|clang-|NOLINT)(.*)", line)
        end = None if whole else re.search(rf"\s\s?{mark} (.*)$", line)
        lines.append((number, whole[1].strip() if whole and re.search("[a-z]", whole[1]) else None))
        if end:
            yield number, end[1]
    yield from joined(lines)


def go(source):
    yield from comments(source, r"//")
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`([^`]*)`', re.sub(r"(?m)^\s*//.*$|\s// .*$", "", source)):
        text = found[1] if found[1] is not None else found[2]
        for paragraph in text.replace("\\n", "\n").split("\n\n"):
            if len(re.findall(r"\b[a-z]{2,}\b", paragraph)) >= 4 and not re.search(r"[{}<>;]|^\s*[-#]", paragraph):
                yield source.count("\n", 0, found.start()) + 1, " ".join(paragraph.split())


def python(source):
    lines = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != lines[-1][0] + 1:
                lines.append((0, None))
            lines.append((token.start[0], token.string.lstrip("#:! ")))
    yield from joined(lines)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            for paragraph in text.split("\n\n"):
                yield node.body[0].lineno, " ".join(paragraph.split())


def template(source):
    """The prose of a template: comments of C++ and CMake, or lines of Markdown."""
    source = re.sub(r"\{\{-? ?/\*.*?\*/ ?-?\}\}", lambda m: "\n" * m[0].count("\n"), source, flags=re.S)
    source = re.sub(r"\{\{.*?\}\}", "X", source)
    yield from (markdown(source) if "\n## " in source else comments(source, r"(?://+|#)"))


def places(text):
    """(kind, excerpt) of each place in a text."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "X", text))
    for sentence in re.split(r"(?<=[.?!])\s+", text):
        if len(sentence.split()) > LONGEST:
            yield f"a sentence of more than {LONGEST} words", sentence
    for kind, pattern in RULES.items():
        for found in re.finditer(pattern, text):
            yield kind, text[max(0, found.start() - 50):found.end() + 50]


def read(path):
    """([(line, kind, excerpt)] of the places of a file, the number of its words)."""
    found, words = [], 0
    for line, text in texts(KINDS[pathlib.Path(path).suffix], (ROOT / path).read_text()):
        words += len(text.split())
        found += [(line, *place) for place in places(text)]
    return found, words


def limits():
    if not LIMITS.exists():
        return {}
    return {path: int(most) for path, most in (line.split("\t") for line in LIMITS.read_text().splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the places")
    parser.add_argument("--update", action="store_true", help="lower the limits")
    parser.add_argument("paths", nargs="*")
    args = parser.parse_args()
    known, now, total, words, risen = limits(), {}, 0, 0, []
    for path in files(args.paths):
        found, count = read(path)
        total, words = total + len(found), words + count
        most = known.get(path, int(RATE * count / 1000) if known else len(found))
        if len(found) > most:
            risen.append(f"{path}: {len(found)} hard places, {most} allowed; see scripts/prose/prose.py --list {path}")
        if now_allowed := min(most, len(found)):
            now[path] = now_allowed
        for line, kind, excerpt in found if args.list else []:
            print(f"{path}:{line}: {kind}: {excerpt}")
    print(f"{total} hard places in {words} words: {1000 * total / max(words, 1):.1f} per 1,000")
    if risen:
        sys.exit("\n".join(risen))
    if args.update:
        LIMITS.write_text("".join(f"{path}\t{most}\n" for path, most in sorted(now.items())))


if __name__ == "__main__":
    main()
