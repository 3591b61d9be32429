"""The folder with what the statistical aligner has learnt."""

import json

import pytest

from nersery.crosslingual.hmm.lexicon import FACTS, FORMAT, empty_lexicon
from nersery.crosslingual.hmm.texts import TextNumbers


@pytest.mark.parametrize("count", [0, 1, 1000, 1001, 2500])
def test_a_record_written_in_parts_equals_one_written_whole(tmp_path, count):
    stems = [f'é"{number}' for number in range(count)]
    facts = {"lower": True, "prefix": 4, "source": TextNumbers(stems), "target": TextNumbers(["a"])}
    empty_lexicon().save(tmp_path, facts)
    expected = json.dumps({"format": FORMAT, **facts, "source": stems, "target": ["a"]})
    assert (tmp_path / FACTS).read_text("utf-8") == expected
