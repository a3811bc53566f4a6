"""Finds the file of the repository that a page of the site shows, and the targets of links between pages."""

import posixpath
import re

# Files outside docs/, each with the page made from it.
outside = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "runtime_cpp/cpu/README.md": "cpu-device.md",
}

# A block of code, or the target of a link in text, with its anchor.
fence_or_link = re.compile(r"^(?P<fence>```|~~~).*?^(?P=fence)|\]\((?P<target>[^()#\s]+)(?P<anchor>#[^()\s]*)?\)", re.M | re.S)


class Missing(Exception):
    """A link to a file that is not there."""


def lead(markdown, page, root, web):
    """The text of a page with new targets of links to files of the repository, which is in the folder root. A link leads to the file's page
    or, without a page, to the file below the address web. A missing file raises Missing."""
    here = source_of(page)

    def led(match):
        target, anchor = match["target"], match["anchor"] or ""
        if target is None or re.match(r"[a-z]+:", target):
            return match[0]
        named = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        if not (root / named).exists():
            raise Missing(f"{here}: there is no {target}")
        shown = page_of(named, root)
        if shown is None:
            return f"]({web}/{named}{anchor})"
        return f"]({posixpath.relpath(shown, posixpath.dirname(page) or '.')}{anchor})"

    return fence_or_link.sub(led, markdown)


def source_of(page):
    """The file of the repository from which a page is made."""
    return next((source for source, shown in outside.items() if shown == page), f"docs/{page}")


def page_of(named, root):
    """The path in the site of the page, or other file, that shows a file of the repository; None if nothing shows it."""
    if named in outside:
        return outside[named]
    if found := re.fullmatch(r"testdata/specs/(\w+)/spec\.yaml", named):
        return f"gallery/{found[1]}.md"
    if named == "testdata/specs":
        return "gallery/index.md"
    if named.startswith("docs/") and (root / named).is_file():
        return named.removeprefix("docs/")
    return None
