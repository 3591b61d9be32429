"""Characters as words, joined into longer words while they are aligned: alone they say little."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from unicodedata import category, normalize

from nersery.core.alignments import Alignment, Link, Pair
from nersery.core.scripts import is_katakana
from nersery.crosslingual.aligners.base import Pairs
from nersery.io.scripts_without_spaces import is_character

SPACE = "▁"
"""Stands for a space in SentencePiece vocabularies."""
OF_FOREIGN_NAMES = frozenset(
    "亚阿艾埃爱奥巴班邦贝本比宾波伯博布查达代戴丹道德登迪蒂丁东杜厄恩尔法凡范菲芬弗夫佛福盖甘戈格根古哈海汉翰"
    "赫亨胡华霍基吉加贾杰金卡凯坎康考科克肯库奎拉莱赖兰朗劳勒雷黎里理利莉立列林琳卢鲁伦罗洛吕马迈麦曼芒毛梅门"
    "蒙孟米密明缪莫默姆木穆那纳娜奈南内尼妮涅宁纽农努诺欧帕潘庞培佩彭皮平珀普其奇契恰强乔切钦琼丘热日荣茹瑞萨"
    "塞森桑瑟沙莎珊山尚舍申圣施史舒斯丝松苏索塔泰坦汤唐陶特腾提田廷通图土托瓦万旺威韦维魏温文翁沃乌伍武西希锡"
    "夏谢辛欣休许逊雅娅扬尧耶叶伊英尤约云赞泽扎詹章芝朱兹宗佐顿汀士多安什堡思诸怀灵吞荷玻蓬易智壤哥邓柯柏俄亥"
    "冈撒冯摩捷喀圭堪挪匈匹芭敦斐谟缅墨腊"
    "亞愛貝賓達東鄧爾範費蓋漢華賈傑凱庫萊賴蘭勞麗盧魯倫羅呂馬邁麥繆納紐寧農諾歐龐齊強喬欽瓊熱榮薩聖師絲蘇鬆湯"
    "騰圖烏維溫韋衛錫謝興許遜婭揚堯葉約贊澤紮張莊裡頓諸懷靈岡馮謨緬臘"
)
"""Characters that write the sounds of foreign names in Chinese, in simplified and traditional forms."""
_BEFORE_PARTICLE = re.compile("[\u30a1-\u30fa\u30fc](?=[\u3041-\u3096])")
"""Katakana before hiragana: vocabularies have words such as *ルの*, which would add a particle to a name."""
Tokenize = Callable[[str], Sequence[str]]
Spans = tuple[tuple[int, ...], ...]
"""For each joined word the words that it is made of."""


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs whose characters are joined as they are read; see `joined_pair`."""

    pairs: Pairs
    tokenize: Tokenize

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return (joined_pair(pair, self.tokenize)[0] for pair in self.pairs)


def joined_pair(pair: Pair, tokenize: Tokenize) -> tuple[Pair, Spans, Spans]:
    """A pair with its characters joined, and the words of each joined word of the source and of the target."""
    source, target = spans(pair.source, tokenize), spans(pair.target, tokenize)
    joined = replace(pair, source=_texts(pair.source, source), target=_texts(pair.target, target))
    return joined, source, target


def _texts(words: Sequence[str], spans: Spans) -> tuple[str, ...]:
    return tuple("".join(words[place] for place in span) for span in spans)


def spans(words: Sequence[str], tokenize: Tokenize) -> Spans:
    """Which words to join: runs of characters of a script without spaces, cut as the vocabulary of a model cuts them.

    But foreign names in Japanese and Chinese stay whole.

    >>> spans(("我", "在", "北", "京", "a"), lambda text: ["▁我", "在", "北京"])
    ((0,), (1,), (2, 3), (4,))
    """
    groups: list[tuple[int, ...]] = []
    for is_run, places in itertools.groupby(range(len(words)), key=lambda place: is_character(words[place])):
        run = list(places)
        groups += _cut(run, words, tokenize) if is_run and len(run) > 1 else [(place,) for place in run]
    return tuple(groups)


def _cut(run: Sequence[int], words: Sequence[str], tokenize: Tokenize) -> list[tuple[int, ...]]:
    texts = [_normalized(words[place]) for place in run]
    text = "".join(texts)
    subwords = [subword.removeprefix(SPACE) for subword in tokenize(text)]
    if "".join(subwords) != text:  # unknown to the vocabulary
        return [(place,) for place in run]
    ends = {end for end in itertools.accumulate(map(len, subwords)) if not is_katakana(text[end - 1 : end + 1])}
    ends |= {len(text), *(match.end() for match in _BEFORE_PARTICLE.finditer(text))}
    groups: list[list[int]] = [[]]
    for place, end in zip(run, itertools.accumulate(map(len, texts)), strict=True):
        groups[-1].append(place)
        if end in ends:
            groups.append([])
    return _with_whole_names([tuple(group) for group in groups if group], words)


def _with_whole_names(groups: Sequence[tuple[int, ...]], words: Sequence[str]) -> list[tuple[int, ...]]:
    """The groups, with lone characters of foreign names joined to those beside them: vocabularies have few such names.

    >>> _with_whole_names([(0, 1), (2,), (3,), (4,)], "亚利桑那州")
    [(0, 1, 2, 3), (4,)]
    """
    joined: list[tuple[int, ...]] = []
    for group in groups:
        around = (*joined[-1:], group)
        if (
            len(around) == 2
            and 1 in map(len, around)
            and OF_FOREIGN_NAMES.issuperset(words[i] for i in itertools.chain(*around))
        ):
            joined[-1] += group
        else:
            joined.append(group)
    return joined


def _normalized(word: str) -> str:
    """A word as SentencePiece normalizes it: Thai *ำ* is two characters, and a zero width space is none."""
    return "".join(character for character in normalize("NFKC", word) if category(character) != "Cf")


def taken_apart(alignment: Alignment, source: Spans, target: Spans) -> Alignment:
    """Links of joined words as links of all the words that they are made of.

    >>> taken_apart((Link(0, 1, 0.5),), ((0,),), ((0,), (1, 2)))
    (Link(source=0, target=1, probability=0.5), Link(source=0, target=2, probability=0.5))
    """
    return tuple(
        sorted(
            Link(left, right, link.probability)
            for link in alignment
            for left in source[link.source]
            for right in target[link.target]
        )
    )
