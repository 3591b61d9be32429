"""Options of nersery grow."""

from __future__ import annotations

import pytest

from nersery.cli.options import values_by_type
from nersery.core.errors import SettingsError


def test_definitions_are_types_and_words() -> None:
    assert values_by_type("--define", [" GENE = gene, e.g. BRCA1=1 ", "Big City=a town"], "TYPE=WORDS") == {
        "GENE": "gene, e.g. BRCA1=1",
        "Big City": "a town",
    }


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["GENE"], 'is "GENE", expected TYPE=WORDS'),
        (["=gene"], "expected TYPE=WORDS"),
        (["GENE= "], "expected TYPE=WORDS"),
        (["GENE=a", "GENE =b"], "names the type GENE twice"),
        (["GENE=\udcff"], "not UTF-8"),
    ],
)
def test_other_definitions_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        values_by_type("--define", pairs, "TYPE=WORDS")
