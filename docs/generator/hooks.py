"""What mkdocs calls: adds the pages that are made from the code and from the READMEs of the distributions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import directory
import reference

ROOT = Path(__file__).resolve().parent.parent.parent
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?://|#|mailto:)(?P<target>[^)#]+)(?P<anchor>#[^)]*)?\)")
_MARK = re.compile(r"^(?P<fence>```\w+) \w+$", re.MULTILINE)


def generated_pages() -> dict[str, str]:
    """Every page that no file holds, by its path in the site."""
    plugins = {
        f"plugins/{directory.page_name(folder.relative_to(ROOT).as_posix())}": _read(folder / "README.md")
        for folder in directory.projects(ROOT)
    }
    home = {"index.md": _home(), "contributing.md": _read(ROOT / "CONTRIBUTING.md")}
    known = {"plugins/index.md": directory.directory_page(ROOT)}
    return {**home, **known, **plugins, **reference.pages(ROOT)}


def _home() -> str:
    """The README, whose paths start from the root, for the folder of documents."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return _without_outside_links(text.replace("](CONTRIBUTING.md)", "](contributing.md)"), ROOT / "docs")


def _read(file: Path) -> str:
    return _without_outside_links(file.read_text(encoding="utf-8"), None)


def _without_outside_links(text: str, folder: Path | None) -> str:
    """The text of links that lead to no page, such as to source files, without the link."""

    def replace(match: re.Match[str]) -> str:
        target = match["target"]
        is_page = target == "contributing.md" or (folder is not None and (folder / target).is_file())
        return match[0] if is_page else match["text"]

    return _LINK.sub(replace, text)


def on_config(config: Any) -> Any:
    """Put the generated pages into the navigation."""
    names = sorted(name for name in generated_pages() if name.startswith(("reference/", "plugins/")))
    sections = {title: pages for entry in config.nav if isinstance(entry, dict) for title, pages in entry.items()}
    for title in ("Reference", "Plugins"):
        pages = sections[title]
        pages += [name for name in names if name.startswith(f"{title.lower()}/") and name not in pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name, text in generated_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take off the marks that tell the tests what to do with a block."""
    return _MARK.sub(r"\g<fence>", markdown)
