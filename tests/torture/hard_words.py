"""Sentences of hard scripts, and of words that look like a model's own tokens."""

from __future__ import annotations

import random

from nersery import Corpus, Entity, Sentence

SCRIPTS = {
    "Devanagari": "श्रीमान् क्ष‍मा नई‌दिल्ली ज़िन्दगी कृष्ण ऋषि ॐ १२३ दिल्ली में ।",
    "Tamil": "ஸ்ரீ கண்ணன் சென்னை க்ஷேத்திரம் ௧௨ நேற்று சென்றார் ।।",
    "Yoruba": "Ọ̀yọ́ Adébáyọ̀ ọmọ\u0323́ ń e\u0323\u0301 Ìbàdàn ṣé s\u0323e\u0301 gbọ́ɲ",
    "Chinese": "北京 王小明 上海 去了 𠮷野家 的 ㈱ 龍 。 「東京」",
    "right to left": "ירושלים القاهرة مدينةً بِسْمِ \u200fאבג\u200f لا‌یه می‌خواهم ، ؟ \u202bعربي\u202c ﷺ",
    "emoji": "👩‍👩‍👧‍👦 ❤️ 🇮🇳 🏳️‍🌈 👍🏽 1️⃣ 🧑🏿‍🚀 a😀b ☃︎ 🫠",
    "invisible": "\u200b a\u200bb \u2060 \ufeff \u00ad soft\u00adhyphen \u200d \u200c x\u200e \u034f \ufe0f \u180e",
    "odd": "ﬁx İstanbul ılık straße ǅ № ½ ① \ufffd \U0010fffd e\u0301\u0327\u0323 Å Å " + "o" * 300,
}
TOKENS = {
    "BERT": "[MASK] [CLS] [SEP] [UNK] [PAD] [unused1] ##ing ## # [MASK]. mask [mask]",
    "RoBERTa": "<s> </s> <mask> <unk> <pad> Ġ Ġthe Ċ Ċ Ä <|endoftext|> <|im_start|>",
    "SentencePiece": "▁ ▁the ▁▁ _ <0x0A> <extra_id_0> en_XX <2de> ａ </w> @@",
    "tags": "<B-PER> <I-PER> B-PER O </B-PER> <O> I-LOC <PER> PER|LOC -DOCSTART- gap <gap> <b:PER>",
    "markup": "<script> &amp; &lt; {{x}} {x} %s $1 \\n \\ \" ' `x` ${HOME} -- --help 0-0 | # // NULL nan inf",
}
WORDS = {kind: tuple(text.split(" ")) for kind, text in (SCRIPTS | TOKENS).items()}
KNOWN = {"PER": (("Ada", "Lovelace"), ("Grace",)), "LOC": (("Oslo",), ("New", "York"))}
"""Mentions that a tagger can learn; all other words of a sentence are unrelated to its entities."""


def hard_sentences(count: int, seed: int = 0) -> list[Sentence]:
    """Sentences of hard words, mostly of one kind, with entities of hard and of known words.

    A column repeats the words, so that tests notice if words and labels get out of step.
    """
    return [_sentence(random.Random(f"{seed} {number}"), f"s{number}") for number in range(count)]


def _sentence(rng: random.Random, id: str) -> Sentence:
    kinds = rng.sample(sorted(WORDS), 2)
    words: list[str] = []
    entities = []
    for _ in range(rng.randint(1, 5)):
        words += [rng.choice(WORDS[rng.choice(kinds)]) for _ in range(rng.randint(0, 3))]
        if rng.random() < 0.5:
            type_ = rng.choice(sorted(KNOWN))
            mention = rng.choice(KNOWN[type_])
        else:
            type_ = "creative work"
            mention = tuple(rng.choice(WORDS[kinds[0]]) for _ in range(rng.randint(1, 3)))
        entities.append(Entity(len(words), len(words) + len(mention), type_))
        words += mention
    return Sentence(tuple(words), tuple(entities), id=id, columns=(tuple(words),))


def corpus(count: int = 1000, seed: int = 0) -> Corpus:
    """A corpus of `hard_sentences`."""
    return Corpus(hard_sentences(count, seed))


def text(sentences: Corpus) -> list[str]:
    """Lines for the trainer of a tokenizer, so that many of these words are subwords."""
    return [sentence.text for sentence in sentences]
