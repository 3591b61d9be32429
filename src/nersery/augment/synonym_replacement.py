"""Synonym replacement: words give way to words of the same meaning."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from nersery.augment.base import Augmenter, check_rate, unfitted
from nersery.augment.words.thesaurus import Thesaurus, check_wordnet, warn_of_foreign
from nersery.augment.words.word_lists import check_file
from nersery.core.outcome import Reject
from nersery.core.registry import FileName
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training


@dataclass
class SynonymReplacement(Augmenter):
    """Replaces words by synonyms from WordNet (English) or from a table of your own.

    Each word, inside and outside entities, gives way with probability ``rate`` to one of its synonyms, each
    as likely as the next. Upper and lower case do not matter when a word is looked up; a capital first letter
    is kept. An entity grows with a synonym of several words. A word without synonyms stays; a sentence of
    such words alone is rejected.

    Args:
        rate: Probability in [0, 1] with which a word that has synonyms is replaced.
        wordnet: Folder of WordNet's ``data.*`` files; Debian's package ``wordnet-base`` fills the default.
            Entries of one or two characters and those spelled like a function word are passed over.
        table: File with lines of ``word<TAB>synonym[<TAB>synonym …]``; if it is given, WordNet is not read.
        stop_words: File with one word a line; these words, in any case, are not replaced. Empty: none.

    Reference:
        Xiang Dai and Heike Adel (2020). An Analysis of Simple Data Augmentation for Named Entity Recognition.
        COLING, section 3, "synonym replacement". George A. Miller (1995). WordNet: A Lexical Database for
        English. Communications of the ACM 38(11).

    Departures:
        - The code looks up base forms through NLTK (``cars`` becomes ``automobile``, a singular). We look up
          what is written, so inflected words stay rather than lose their ending.
        - The code skips NLTK's English stop words. We skip English function words with WordNet, and with a
          table only what ``stop_words`` holds.
        - The code splits synonyms at hyphens too; we keep ``self-made`` one word.
        - The default rate is that of the code, 0.3.
    """

    rate: float = 0.3
    wordnet: FileName = "/usr/share/wordnet"
    table: FileName = ""
    stop_words: FileName = ""
    _thesaurus: Thesaurus | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.rate)
        check_file(self.stop_words)
        check_file(self.table) if self.table else check_wordnet(self.wordnet)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Read the synonyms; of the sentences only the languages matter, for a note.

        Raises:
            DataError: When a file is broken.
            MissingResourceError: When there is neither WordNet nor a table.
        """
        self._thesaurus = Thesaurus.read(self.wordnet, self.table, self.stop_words)
        warn_of_foreign(sentences, self.table)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """The sentence with some words replaced."""
        if self._thesaurus is None:
            raise unfitted(self)
        words = sentence.words
        places = [place for place in range(len(words)) if rng.random() < self.rate]
        drawn = [(place, self._thesaurus.draw_like(words[place], rng)) for place in places]
        edits = [(place, place + 1, synonym) for place, synonym in drawn if synonym]
        if not edits and not any(map(self._thesaurus.of, words)):
            return Reject("no synonyms")
        return sentence.replace_spans(edits)
