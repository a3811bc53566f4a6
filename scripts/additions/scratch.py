"""A copy of the tree in which a test adds things, with a record of the files that each addition touches."""
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_PRODUCTION = re.compile(r"_test\.go$|^docs/|testdata/|/tests/")


class Scratch:
    """A copy of the files that git has or would add."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                                check=True).stdout.decode().split("\0")
        for name in filter(None, listed):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)

    def run(self, *command, fails=False):
        """Runs a command, which must succeed, or with fails must fail. Returns its stdout and stderr as one text."""
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "GOFLAGS": "-trimpath", "GOWORK": "off"})
        if (done.returncode != 0) != fails:
            raise AssertionError(f"{' '.join(map(str, command))} exits with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def read(self, path):
        return (self.root / path).read_text()

    def changed(self):
        """The production files of the copy that are new or differ from the tree."""
        listed = (p for p in self.root.rglob("*") if p.is_file() and p.relative_to(self.root).parts[0] not in {"build", "out"})
        names = (str(p.relative_to(self.root)) for p in listed)
        return {n for n in names if not NOT_PRODUCTION.search(n)
                and not ((ROOT / n).is_file() and (ROOT / n).read_bytes() == (self.root / n).read_bytes())}


class Addition:
    """The edits for one thing that is added, by its section of CONTRIBUTING.md. `generated` has files that `make gen` writes."""

    def __init__(self, scratch, section, generated=()):
        self.scratch, self.section, self.touched = scratch, section, set(generated)

    def insert(self, path, anchor, text):
        """Inserts lines after the only place that an expression matches."""
        before = self.scratch.read(path)
        found = list(re.finditer(anchor, before, re.MULTILINE))
        if len(found) != 1:
            raise AssertionError(f"{path} has {len(found)} places that match {anchor!r}, after which this test adds {text!r}: "
                                 "tell the test where the addition goes now")
        end = before.index("\n", found[0].end() - 1) + 1
        self.write(path, before[:end] + text + "\n" + before[end:])

    def append(self, path, text):
        self.write(path, self.scratch.read(path) + text)

    def write(self, path, text):
        (self.scratch.root / path).write_text(text)
        self.touched.add(path)

    def limit(self):
        """The number of files that CONTRIBUTING.md allows, and an expression of the paths that it names."""
        page = (ROOT / "CONTRIBUTING.md").read_text()
        section = re.search(rf"^## {re.escape(self.section)}\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
        most = section and re.search(r"At most (\d+) production files", " ".join(section[1].split()))
        if not most:
            raise AssertionError(f"CONTRIBUTING.md has no section {self.section!r} with \"At most N production files\"")
        named = [re.sub("<[a-z]+>", r"\\w+", re.escape(path)) for path in re.findall(r"`([\w./<>]+)`", section[1])]
        return int(most[1]), re.compile("|".join(named))

    def mistakes(self):
        """Messages about touched files that CONTRIBUTING.md does not name, and about more files than it allows."""
        most, named = self.limit()
        wrong = [f"{self.section}: CONTRIBUTING.md does not name {path}" for path in sorted(self.touched) if not named.fullmatch(path)]
        if len(self.touched) > most:
            wrong.append(f"{self.section}: {len(self.touched)} files and not {most}: {sorted(self.touched)}")
        return wrong
