"""The page of commands, made from their --help when the site is built."""

import re
import subprocess
from pathlib import Path

root = Path(__file__).resolve().parents[2]


def page():
    """Markdown with a section for each command: its short description, and its help as printed."""
    top = help_of()
    sections = [f"# Commands\n\n{block(top)}"]
    for name, short in commands(top):
        sections.append(f"## hirgen {name}\n\n{short}.\n\n{block(help_of(name))}")
    return "\n".join(sections)


def commands(top):
    """(name, short description) of each command in the help of hirgen, except cobra's own commands."""
    listed = re.search(r"^Available Commands:\n((?:  .*\n)+)", top, re.M)
    found = re.findall(r"^  (\S+) +(.*)$", listed[1] if listed else "", re.M)
    return [(name, short) for name, short in found if name not in ("help", "completion")]


def help_of(*names):
    return subprocess.run([root / "bin/hirgen", *names, "--help"], check=True, capture_output=True, text=True).stdout


def block(text):
    return f"```text\n{text.strip()}\n```\n"
