"""Options of nersery grow."""

from __future__ import annotations

import pytest

from nersery.cli.growing import _definitions
from nersery.core.errors import SettingsError


def test_definitions_are_types_and_words() -> None:
    assert _definitions([" GENE = gene, e.g. BRCA1=1 ", "Big City=a town"]) == {
        "GENE": "gene, e.g. BRCA1=1",
        "Big City": "a town",
    }


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["GENE"], 'is "GENE", expected TYPE=WORDS'),
        (["=gene"], "expected TYPE=WORDS"),
        (["GENE= "], "expected TYPE=WORDS"),
        (["GENE=a", "GENE =b"], "names a type twice"),
        (["GENE=\udcff"], "not UTF-8"),
    ],
)
def test_other_definitions_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        _definitions(pairs)
