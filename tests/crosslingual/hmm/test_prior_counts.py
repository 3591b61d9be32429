"""The commonest word of each prefix."""

import pytest

from nersery.crosslingual.hmm import prior_counts
from nersery.crosslingual.hmm.prior_counts import WordCounts
from nersery.crosslingual.hmm.vocabulary import Vocabulary


@pytest.mark.parametrize("known", [1, 1 << 14])
def test_finds_the_commonest_word_of_each_prefix(monkeypatch, known):
    monkeypatch.setattr(prior_counts, "MAX_CACHED", known)
    vocabulary, words = Vocabulary(), WordCounts()
    vocabulary.add(("Earlier",))
    for sentence in (("houses", "House", "tree"), ("House", "tree", "river"), ("Trees", "Tree", "Tree")):
        vocabulary.add(sentence)
        words.update(sentence)
    assert [*words.commonest(vocabulary)] == ["earl", "House", "tree", "river"], "of equals the last"
