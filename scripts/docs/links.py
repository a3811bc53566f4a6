"""Which file of the repository a page of the site shows, and where a link in one leads."""

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
    """The text of a page with every link to a file of the repository, in the folder root, leading to that file's page or,
    where it has none, to the file below the address web."""
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
    """The file of the repository that a page is made of."""
    return next((source for source, shown in outside.items() if shown == page), f"docs/{page}")


def page_of(named, root):
    """The page, or other file of the site, that shows a file of the repository; None where none does."""
    if named in outside:
        return outside[named]
    if found := re.fullmatch(r"testdata/specs/(\w+)/spec\.yaml", named):
        return f"gallery/{found[1]}.md"
    if named == "testdata/specs":
        return "gallery/index.md"
    if named.startswith("docs/") and (root / named).is_file():
        return named.removeprefix("docs/")
    return None
