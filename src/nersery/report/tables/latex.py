"""A table of a report as LaTeX (booktabs)."""

from __future__ import annotations

import re

from nersery.report.tables.table_columns import ReportTable

_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$",
    "<": "$<$", ">": "$>$", "|": r"\textbar{}",  # the default font has other signs in their places
    "[": "{[}", "*": "{*}",  # at the start of a row, the end of the one before would take them as its argument
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> print(latex_text("[a] p < 0.001 & 48.3 ± 0.6 %"))
    {[}a] p $<$ 0.001 \& 48.3 $\pm$ 0.6 \%
    """
    return re.sub(r"[\\~^−±<>|\[*&%$#_{}]", lambda match: _ESCAPES.get(match[0], "\\" + match[0]), text)


def latex_table(table: ReportTable) -> str:
    """A table whose texts are on the left and whose numbers are on the right."""
    kinds = ["l" if column.kind.is_text else "r" for column in table.columns]
    rows = [[column.heading for column in table.columns], *table.shown]
    lines = [" & ".join(map(latex_text, row)) + r" \\" for row in rows]
    body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
    caption = rf"\caption{{{latex_text(table.caption)}}}"
    columns = "".join(kinds)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n{caption}\n\\end{{table}}\n"
    )
