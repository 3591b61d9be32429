"""Finds names in plain text, and their kinds from the text itself.

A name is a run of capitalized words. Its kind follows from a noun beside it (``the film Titanic``, ``Titanic , a 1997
film``, ``films such as Titanic``), from its last word (``Hudson River``), from lists of names, or else from other
sentences with the name. Names without any such evidence stay without a kind.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from examples import ANY, FIGURE, MAX_TEXT_LENGTH, Kinds, Mention, Text, words_of
from terms import COVERS as TERM_COVERS
from terms import Terms

from nersery.augment.words.thesaurus import FUNCTION_WORDS

JOINING = frozenset(("of", "the", "de", "van", "von", "&", "'s", "al", "du", "del", "la"))
_TITLES = "mr mrs ms dr sir lord lady president king queen prince princess senator professor captain"
TITLES = frozenset(_TITLES.split())
_NOT_NAMES = """
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
i i'm mr mrs figure table chapter section
"""
NOT_NAMES = frozenset(_NOT_NAMES.split())
CUE_WORDS = 9
"""The most words between a name and the noun after it that describes it."""
MIN_SHARE = 0.8
COVERS = ("person", "place", "organization", "misc")


class Run(NamedTuple):
    """The words ``[start, end)`` that look like a name, and the kind that follows from the sentence itself."""

    start: int
    end: int
    kind: str


class Miner:
    """Finds names and their kinds.

    Args:
        gold: Texts with marked names. Their persons and places are then known.
        common: Words that are not meaningful as a name on their own.
    """

    def __init__(self, kinds: Kinds, gold: Sequence[Text], common: frozenset[str]) -> None:
        self.kinds = kinds
        named: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for text in gold:
            for mention in text.mentions:
                named[text.words[mention.start : mention.end]][mention.kind] += 1
        known = {name: counts.most_common(1)[0] for name, counts in named.items()}
        self.known = {
            name: kind
            for name, (kind, count) in known.items()
            if kind in ("person", "place") and count > MIN_SHARE * named[name].total() and name[0][:1].isupper()
        } | kinds.by_name
        self.known = {name: kind for name, kind in self.known.items() if len(name) > 1 or name[0].lower() not in common}
        self.first_names = frozenset(
            text.words[mention.start]
            for text in gold
            for mention in text.mentions
            if mention.kind == "person" and mention.end - mention.start > 1
        )

    def runs(self, words: Sequence[str]) -> list[Run]:
        """The names of a sentence."""
        found: list[Run] = []
        place = 0
        while place < len(words):
            end = self._run_end(words, place)
            start = place
            if start == 0 and end and (words[0].lower() in FUNCTION_WORDS or end == 1):
                start = 1 if tuple(words[:end]) not in self.known else 0
            if end > start and not (end == start + 1 and words[start].lower() in NOT_NAMES | FUNCTION_WORDS):
                if words[start].lower().rstrip(".") in TITLES and end > start + 1:
                    found.append(Run(start + 1, end, "person"))
                else:
                    found.append(Run(start, end, self.kind(words, start, end)))
            place = max(end, place + 1)
        return found

    def _run_end(self, words: Sequence[str], start: int) -> int:
        """The end of the run of capitalized words that begins at a word; 0 if there is none."""
        if not words[start][:1].isupper():
            return 0
        end = start + 1
        while end < len(words):
            ahead = end
            while ahead < len(words) and words[ahead] in JOINING and ahead - end < 2:
                ahead += 1
            if ahead < len(words) and words[ahead][:1].isupper() and words[ahead].lower() not in NOT_NAMES:
                end = ahead + 1
            elif words[end].isdigit() and len(words[end]) < 4:
                end += 1
            else:
                break
        return end

    def kind(self, words: Sequence[str], start: int, end: int) -> str:
        """The kind of a name that follows from its sentence."""
        name = tuple(words[start:end])
        if name in self.known:
            return self.known[name]
        if end > start + 1 and words[end - 1] in self.kinds.by_ending:
            return self.kinds.by_ending[words[end - 1]]
        before = words[start - 1].lower() if start else ""
        if before in self.kinds.by_noun and (start > 1 and words[start - 2] not in (",", "and")):
            return self.kinds.by_noun[before]
        if kind := self._such_as(words, start):
            return kind
        if kind := self._noun_behind(words, end):
            return kind
        if len(name) in (2, 3) and name[0] in self.first_names:
            return "person"
        return ANY

    def _such_as(self, words: Sequence[str], start: int) -> str:
        """The kind named before ``such as``, ``like`` or ``including``; empty if there is none."""
        before = [word.lower() for word in words[max(0, start - 4) : start]]
        if before[-2:] == ["such", "as"]:
            before = before[:-2]
        elif before[-1:] in (["like"], ["including"]):
            before = before[:-1]
        else:
            return ""
        noun = next((word for word in reversed(before) if word.isalpha()), "")
        noun = noun[:-3] + "y" if noun.endswith("ies") and noun != "series" else noun.removesuffix("s")
        return self.kinds.by_noun.get(noun, "")

    def _noun_behind(self, words: Sequence[str], end: int) -> str:
        """The kind named by ``is a …`` or ``, a …`` after the name; empty if there is none."""
        behind = [word.lower() for word in words[end : end + CUE_WORDS + 3]]
        if behind[:1] and behind[0] in ("is", "was", ",") and behind[1:2] and behind[1] in ("a", "an", "the"):
            for place, word in enumerate(behind[2:], start=2):
                following = behind[place + 1] if place + 1 < len(behind) else "."
                if word in (",", ".", "(", "that", "which", "who", "of", "by"):
                    return ""
                if word in self.kinds.by_noun and (following in FUNCTION_WORDS or not following.isalpha()):
                    return self.kinds.by_noun[word]
        return ""


def sentences_of(path: Path) -> list[tuple[str, ...]]:
    """The sentences of a text file, without the markup of WikiText and without similar sentences."""
    found = dict[str, tuple[str, ...]]()
    for line in path.read_text("utf-8").splitlines():
        for mark, plain in ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), ("``", '"'), ("''", '"')):
            line = line.replace(mark, plain)
        if line.startswith(" = "):
            continue
        for sentence in re.split(r"(?<=[a-z0-9)\"][.!?]) +(?=[A-Z\"])|(?<= [.!?]) +(?=[A-Z\"])", line):
            words = tuple(words_of(sentence.strip()))
            if 5 <= len(words) <= MAX_TEXT_LENGTH and "<" not in words:
                found.setdefault(" ".join(sorted(word for word in words if word[:1].isupper())) + str(words[:2]), words)
    return list(found.values())


def mine(sentences: Sequence[tuple[str, ...]], miner: Miner, terms: Terms) -> list[Text]:
    """The sentences with at least one name or term of a known kind."""
    runs = [miner.runs(words) for words in sentences]
    told: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for words, found in zip(sentences, runs, strict=True):
        for run in found:
            if run.kind != ANY:
                told[words[run.start : run.end]][run.kind] += 1
    kinds = {}
    for name, counts in told.items():
        kind, count = counts.most_common(1)[0]
        if count >= MIN_SHARE * counts.total() and (len(name) > 1 or count > 1):
            kinds[name] = kind
    texts = []
    for words, found in zip(sentences, runs, strict=True):
        mentions = [
            Mention(run.start, run.end, kinds.get(words[run.start : run.end], ANY) if run.kind == ANY else run.kind)
            for run in found
        ]
        text = terms.add(with_things(Text(words, tuple(mentions), COVERS), miner.kinds), TERM_COVERS)
        if any(mention.kind != ANY and FIGURE not in miner.kinds.line(mention.kind) for mention in text.mentions):
            texts.append(text)
    return texts


def with_things(text: Text, kinds: Kinds) -> Text:
    """The text with its words for things marked, too."""
    taken = {word for mention in text.mentions for word in range(mention.start, mention.end)}
    mentions = list(text.mentions)
    for place, word in enumerate(text.words):
        kind = kinds.by_thing.get(word)
        if kind is None or place in taken:
            continue
        if mentions and mentions[-1].end == place and mentions[-1].kind == kind and text.words[place - 1].islower():
            mentions[-1] = Mention(mentions[-1].start, place + 1, kind)
        else:
            mentions.append(Mention(place, place + 1, kind))
    return Text(text.words, tuple(mentions), text.covers, text.asked)


def common_words(sentences: Iterable[Sequence[str]], least: int) -> frozenset[str]:
    """Words that occur in lower case in ``least`` sentences or more."""
    counts = Counter(word for words in sentences for word in set(words) if word.islower())
    return frozenset(word for word, count in counts.items() if count >= least)


def pools(texts: Iterable[Text], kinds: Kinds) -> dict[str, list[tuple[str, ...]]]:
    """Names of each kind. Names of unknown kind are under `ANY`."""
    found: dict[str, dict[tuple[str, ...], None]] = {
        kind: dict.fromkeys(kinds.kinds[kind].names) for kind in kinds.kinds
    }
    found[ANY] = {}
    for kind, node in kinds.kinds.items():
        found[kind].update(dict.fromkeys((thing,) for thing in sorted(node.things)))
    for text in texts:
        for mention in text.mentions:
            name = text.words[mention.start : mention.end]
            if (
                mention.kind in found
                and name[0][:1].isupper()
                and (len(name) > 1 or mention.kind in ("person", "place"))
            ):
                found[mention.kind][name] = None
    return {kind: list(names) for kind, names in found.items()}


def balanced(texts: Sequence[Text], most: int, seed: int) -> list[Text]:
    """At most ``most`` texts for each kind, where a text counts for its rarest kind."""
    counts = Counter(mention.kind for text in texts for mention in text.mentions)
    groups: dict[str, list[Text]] = defaultdict(list)
    for text in texts:
        groups[min((m.kind for m in text.mentions if m.kind != ANY), key=lambda kind: counts[kind])].append(text)
    chance = random.Random(seed)
    return [text for kind in sorted(groups) for text in chance.sample(groups[kind], min(most, len(groups[kind])))]


def refined(text: Text, kinds: Kinds, miner: Miner) -> Text:
    """The text with more specific kinds for its names, if the words beside them allow it."""
    mentions = []
    for mention in text.mentions:
        kind = miner.kind(text.words, mention.start, mention.end)
        is_finer = kind != ANY and mention.kind in kinds.line(kind)
        mentions.append(mention._replace(kind=kind) if is_finer else mention)
    return Text(text.words, tuple(mentions), text.covers)
