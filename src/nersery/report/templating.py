"""Templates that escape every expression, for HTML or for Markdown."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from nersery.core import counting
from nersery.core.errors import printable
from nersery.report import number_format
from nersery.report.highlight import Segment, compared
from nersery.report.tables.table_columns import ReportTable

SHADE_FULL = 0.1
"""The difference in F1 from gold only, as a fraction, at which a cell has its full shade."""
FEW_MENTIONS = 30
"""With fewer gold mentions, the scores of a type vary strongly by chance."""


def html_template(name: str) -> Template:
    """Load a template that escapes every expression for HTML."""
    return _html().get_template(name)


def markdown_template(name: str) -> Template:
    """Load a template that escapes every expression for Markdown."""
    return _markdown().get_template(name)


def markdown_text(value: Any) -> Any:
    r"""Escape text so that Markdown shows it literally, on one line. `Markup` stays unchanged.

    >>> print(markdown_text("a|b *c* <i>"), markdown_text("# x #"), markdown_text("1. x"), markdown_text("."))
    a\|b \*c\* &lt;i&gt; \# x \# 1\. x .
    >>> print(markdown_text("red \x1b[31m"))
    red \\x1b\[31m
    """
    if value is None or isinstance(value, Markup):
        return value or ""
    text = printable(re.sub(r"[\t\r\n\x85\u2028\u2029]+", " ", str(value)).lstrip())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    text = re.sub(r"(?<=\s)(?=#+$)", r"\\", text)  # it would close a heading
    return re.sub(r"^(\d+)(?=[.)](\s|$))|^(?=[#+=-]+(\s|$))", r"\1\\", text)


def markdown_sentence(segments: Sequence[Segment]) -> Markup:
    """Format a sentence: entities as ``⟨words · TYPE⟩``, changed words in bold."""
    shown = []
    for segment in segments:
        runs = [(markdown_text(run.text), run.changed) for run in segment.runs]
        text = " ".join(f"**{words}**" if changed else words for words, changed in runs)
        shown.append(text if segment.type is None else f"⟨{text} · {markdown_text(segment.type)}⟩")
    return Markup(" ".join(shown))


def markdown_table(table: ReportTable) -> Markup:
    """A table in Markdown, with numbers aligned on the right."""
    is_text = [index == 0 or column.kind.is_text for index, column in enumerate(table.columns)]
    rows = [[number_format.unbroken(column.heading) for column in table.columns], *table.shown]
    lines = ["| " + " | ".join(str(markdown_text(cell)) for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + "|".join(":--" if text else "--:" for text in is_text) + "|")
    return Markup("\n".join(lines))


def data_url(csv: str) -> str:
    """A CSV file as a data URL, so that the page needs no other file."""
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(csv.encode()).decode()


def relative_url(path: str) -> str:
    """The URL of a file, relative to the page. A colon in its name is not read as a URL scheme.

    >>> relative_url("seed-0/a: b?/x.jsonl")
    './seed-0/a%3A%20b%3F/x.jsonl'
    """
    return "./" + quote(path.encode("utf-8", "surrogateescape"))


def confusion_shade(count: int, row: Sequence[Any]) -> float:
    """The strength of a cell's shade by its share of the row. The shade is full from a quarter on.

    >>> confusion_shade(1, ["LOC", 7, 1])
    0.5
    """
    total: int = sum(row[1:])
    return round(min(1.0, 4 * count / total), 2)


def shade(gap: float | None) -> float:
    """The strength of a cell's shade, in [0, 1], by its difference from gold only.

    >>> shade(-0.05), shade(0.3), shade(None)
    (0.5, 1.0, 0.0)
    """
    return round(min(1.0, abs(gap or 0.0) / SHADE_FULL), 2)


@cache
def _html() -> Environment:
    environment = _environment(autoescape=True)
    environment.filters |= {"data_url": data_url, "relative_url": relative_url}
    environment.filters["breakable"] = lambda text: escape(text).replace("_", Markup("_<wbr>"))
    return environment


@cache
def _markdown() -> Environment:
    environment = _environment(autoescape=False, finalize=markdown_text)
    environment.filters["runs"] = markdown_sentence
    environment.filters["indented"] = _indented
    environment.filters["table"] = markdown_table
    return environment


def _indented(text: str) -> Markup:
    """Text as a code block, which Markdown shows literally."""
    return Markup("\n".join(f"    {line}" for line in re.split(r"\r\n|\r|\n", text)))


def _environment(**options: Any) -> Environment:
    environment = Environment(
        loader=PackageLoader("nersery.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    environment.filters |= {
        "percent": number_format.percent,
        "signed": number_format.signed,
        "number": counting.count,
        "numbers": number_format.counts,
        "plural": counting.plural,
        "unbroken": number_format.unbroken,
        "json": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    }
    environment.globals |= {"compared": compared, "shade": shade, "confusion_shade": confusion_shade}
    environment.globals |= {"FEW_MENTIONS": FEW_MENTIONS, "MISSING": counting.MISSING}
    return environment
