"""A hook for MkDocs that adds pages from outside ``docs/`` to the site, and links to them. Run ``make site``."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{
        f"models/{path.parent.name}/README.md": f"models/{path.parent.name}.md"
        for path in ROOT.glob("models/*/README.md")
    },
}
"""Files of the repository, with the page that each becomes."""
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)#\s:]+)([^)\s]*)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and the pictures of the model cards."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    for picture in ROOT.glob("models/*/*.svg"):
        files.append(File.generated(config, picture.relative_to(ROOT).as_posix(), abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links to files of the repository at their pages. A link to a file without a page becomes plain text."""
    sources = {target: source for source, target in PAGES.items()}
    own = page.file.src_uri
    folder = PurePosixPath(sources.get(own, f"docs/{own}")).parent.as_posix()
    here = PurePosixPath(own).parent.as_posix()

    def moved(match: re.Match[str]) -> str:
        target = normpath(f"{folder}/{match[2]}")
        if target not in PAGES and not target.startswith("docs/"):
            return match[1]
        found = PAGES.get(target, target.removeprefix("docs/"))
        return f"[{match[1]}]({relpath(found, here)}{match[3]})"

    return LINK.sub(moved, markdown)
