"""The folder with what the statistical aligner has learnt."""

import json

import pytest
from safetensors.numpy import load_file

from nersery.crosslingual.hmm.lexicon import FACTS, FORMAT, TENSORS, Lexicon, empty_lexicon
from nersery.crosslingual.hmm.texts import SymbolTable


@pytest.mark.parametrize("count", [0, 1, 1000, 1001, 2500])
def test_a_record_written_in_parts_equals_one_written_whole(tmp_path, count):
    prefixes = [f'é"{number}' for number in range(count)]
    facts = {"ignore_case": True, "prefix": 4, "source": SymbolTable(prefixes), "target": SymbolTable(["a"])}
    empty_lexicon().save(tmp_path, facts)
    expected = json.dumps({"format": FORMAT, **facts, "source": prefixes, "target": ["a"]})
    assert (tmp_path / FACTS).read_text("utf-8") == expected


def test_the_names_in_the_file_of_tensors_do_not_change(tmp_path):
    """Lexicons that users have saved stay readable."""
    empty_lexicon().save(tmp_path, {"source": [], "target": []})
    assert {*load_file(tmp_path / TENSORS)} == {
        *("source_null", "target_null", "forward", "backward", "keys", "counts", "source_uses", "target_uses")
    }
    lexicon, _ = Lexicon.load(tmp_path, {})
    assert lexicon.source_null.shape == (0,)
