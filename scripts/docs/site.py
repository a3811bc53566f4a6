"""Hooks of mkdocs: pages that lie outside docs/, links that leave it, and a navigation of folders.

The Markdown of the repository is written for readers of the repository: its links lead from file to file. Here each link
is resolved to the file that it names, which must exist. The new link leads to the file's page or, without a page, to the
file in the repository on the web.
"""

import os
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import commands  # noqa: E402  # these lie beside this file
import gallery  # noqa: E402
import links  # noqa: E402

root = Path(__file__).resolve().parents[2]


def on_config(config):
    """Adds the pages of folders to the navigation, as the folders' indexes list them."""
    config.nav = [expanded(entry) for entry in config.nav]
    return config


def on_files(files, config):
    """Adds the pages and the style sheet that are not files in docs/."""
    for source, page in links.outside.items():
        files.append(File.generated(config, page, abs_src_path=str(root / source)))
    files.append(File.generated(config, "site.css", abs_src_path=str(root / "scripts/docs/site.css")))
    for page, text in (gallery.pages() | {"commands.md": commands.page()}).items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, **_):
    """Changes links between files to links between pages, or to the repository on the web. Generated pages stay as they are, since they
    have no links between files."""
    if page.file.generated_by and page.file.src_uri not in links.outside.values():
        return markdown
    try:
        return links.lead(markdown, page.file.src_uri, root, f"{config.repo_url}/blob/main")
    except links.Missing as missing:
        raise PluginError(str(missing)) from missing


def expanded(entry):
    """An entry of the navigation, with the pages that its index lists below it, grouped by the index's headings if any."""
    if not isinstance(entry, dict):
        return entry
    (title, value), = entry.items()
    if isinstance(value, list):
        return {title: [expanded(below) for below in value]}
    if value == "gallery/index.md":
        return {title: [value] + [{name: f"gallery/{name}.md"} for name in gallery.names()]}
    if value == "design/README.md":
        return {title: [value] + groups(value)}
    return entry


def groups(index):
    """The headings of an index in docs/, each with the pages that are listed below it."""
    found = []
    for line in (root / "docs" / index).read_text().splitlines():
        if line.startswith("## "):
            found.append({line.removeprefix("## "): []})
        elif item := re.match(r"- \[([^]]+)\]\(([^)]+)\)", line):
            next(iter(found[-1].values())).append(os.path.join(os.path.dirname(index), item[2]))
    return found
