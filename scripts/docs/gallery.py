"""The gallery of specs: a page for each of testdata/specs, made by bin/hirgen when the site is built."""

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

root = Path(__file__).resolve().parents[2]
specs = root / "testdata/specs"


@cache
def names():
    """The specs, in the order of their names."""
    return sorted(path.parent.name for path in specs.glob("*/spec.yaml"))


def pages():
    """{path in the site: text} of all pages, in Markdown, and all timelines, in HTML."""
    made = {"gallery/index.md": index()}
    for name in names():
        made[f"gallery/{name}.md"], made[f"gallery/timelines/{name}.html"] = page(name)
    return made


def hirgen(*args):
    """The output of a command of hirgen. If the command fails, the build of the site ends."""
    return subprocess.run([root / "bin/hirgen", *args], cwd=root, check=True, capture_output=True, text=True).stdout


def index():
    rows = "\n".join(f"| [{name}]({name}.md) | {first_sentence(about(name))} |" for name in names())
    return f"""# Gallery

Every spec of `testdata/specs`, with what follows from it: the communications that were derived, a predicted timeline, and
the host program. All of them are emitted, compiled with nvcc and checked on the CPU device by the tests. To try one:

    hirgen emit testdata/specs/ag_matmul/spec.yaml -o out -p M=256 -p N=256 -p K=256
    hirgen run out --device cpu

| spec | what it shows |
|---|---|
{rows}
"""


def page(name):
    """(page of a spec in Markdown, page of its timeline in HTML). The first shows the second in a frame."""
    spec = f"testdata/specs/{name}/spec.yaml"
    with tempfile.TemporaryDirectory() as folder:
        trace, drawn = Path(folder, f"{name}.json"), Path(folder, "page.html")
        checked = hirgen("check", spec, "--trace", trace)
        hirgen("timeline", trace, "--spec", spec, "-o", drawn)
        timeline = drawn.read_text()
    lowered = hirgen("lower", spec)
    markdown = f"""# {name}

{escaped(about(name))}

```yaml title="{spec}"
{body(name)}
```

## A call on H200, as predicted

<iframe class="timeline" src="timelines/{name}.html" title="Timeline of a call, as predicted"></iframe>

[The timeline alone](timelines/{name}.html){{target=_blank}}

What `hirgen check` says:

```text
{checked.strip()}
```

## Its host program

What each rank's process issues, by `hirgen lower`, without the lines that declare tensors and the oracle:

```text
{statements(lowered)}
```
"""
    return markdown, timeline


def statements(lowered):
    """The statements of the host programs in an output of hirgen lower, without positions in the spec."""
    kept = [line for line in lowered.splitlines() if not re.match(r"(program|param|mesh|streams|choices|tensor|reference)\b", line)]
    return re.sub(r" @\d+:\d+", "", re.sub(r"\n{2,}", "\n\n", "\n".join(kept))).strip()


@cache
def text(name):
    return (specs / name / "spec.yaml").read_text()


def about(name):
    """The comment that a spec begins with, as one paragraph."""
    lines = []
    for line in text(name).splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def body(name):
    """A spec without the comment that it begins with."""
    lines = text(name).splitlines()
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return "\n".join(lines)


def first_sentence(paragraph):
    return escaped(re.split(r"(?<=[.:;])\s", paragraph, maxsplit=1)[0].rstrip(":;.") + ".").replace("|", "\\|")


def escaped(paragraph):
    """Prose of a spec with a backslash before characters of Markdown: * _ < > [ ]."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", paragraph)
