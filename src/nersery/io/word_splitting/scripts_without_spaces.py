"""Scripts that are written without spaces between words, such as Thai, Burmese, Tibetan, Chinese and Japanese."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from unicodedata import category

from nersery.core.text.scripts import is_katakana
from nersery.core.text.spacing import FULL_WIDTH, NO_SPACES, lacks_spaces

STACKERS = (
    "\N{MYANMAR SIGN VIRAMA}\N{KHMER SIGN COENG}\N{TAI THAM SIGN SAKOT}\N{JAVANESE PANGKON}\N{BALINESE ADEG ADEG}"
)
"""Marks that put the next letter under the one before them."""
SPACING_MARKS = "\N{THAI CHARACTER SARA AM}\N{LAO VOWEL SIGN AM}\uff9e\uff9f"
"""Marks that Unicode calls letters: *ำ* of Thai and Lao, and the voice marks of half-width kana."""
SYLLABLE_ENDS = "\u0f0b\u0f0c"
"""The point after each syllable of Tibetan, and its variant at which no line breaks."""
LETTERLIKE_SIGNS = "ๆฯໆຯៗ"
"""Signs of Thai, Lao and Khmer that repeat or shorten the word before them; Unicode calls them letters."""
IN_SYLLABLE = re.compile(
    "[\u0f40-\u0fbc][\u0f40-\u0f6c]|[\u1000-\u103f\u1050-\u109f].\u1037?[\u1039\u103a]"
    "|[\u0e4d\u0ecd][\u0e32\u0eb2]|(?<=[\u0e4d\u0ecd])[\u0e48-\u0e4b\u0ec8-\u0ecb][\u0e32\u0eb2]"
)
"""A Tibetan letter and the one after it; a Burmese character and a letter that ends its syllable, the *န်* of *ရန်*;
both parts of *ำ* in Thai and Lao if they are typed apart, maybe with the tone between them."""
_BURMESE_ENDS = "၊။"
_ENDS_OF_PHRASES = re.compile(f"[。、，！？；：{_BURMESE_ENDS}]")
"""Punctuation that is a separate word in text that is split into words."""
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
MAX_MEAN_LENGTH = 6
"""The longest mean length of words in letters of these scripts. In split text, it is 2 in Chinese and 4 in Thai."""
MIN_SHARE = 0.05
"""The minimum share of words in these scripts, so that a name among words of another script shows nothing."""
MAX_STANDALONE_SHARE = 0.9
"""The highest share of single characters among split words. In Chinese, half of them are, elsewhere fewer."""


def has_letter_or_digit(word: str) -> bool:
    """Whether a word has a letter or digit. Signs that stand for other words do not count.

    >>> has_letter_or_digit("(4)"), has_letter_or_digit("ๆ"), has_letter_or_digit("।")
    (True, False, False)
    """
    return any(category(character)[0] in "LN" for character in word.strip(LETTERLIKE_SIGNS))


def runs_on(words: Sequence[str], longest: int = MAX_MEAN_LENGTH) -> bool:
    """Whether words look like whole phrases of a script without spaces: they are long, or contain punctuation.

    Args:
        longest: The longest mean length of words, in letters of these scripts.

    >>> runs_on(["王小明在北京工作很多年"]), runs_on(["王小明", "在", "北京", "工作"])
    (True, False)
    >>> runs_on(["我在", "Google", "工作。"]), runs_on(["我", "在", "Google", "工作", "。"])
    (True, False)
    """
    letters = [itertools.filterfalse(is_mark, NO_SPACES.findall(word)) for word in words]
    counts = [count for characters in letters if (count := sum(1 for _ in characters))]
    if len(counts) <= MIN_SHARE * len(words):
        return False
    ends = [*filter(_ENDS_OF_PHRASES.search, words)]
    attached = sum(lacks_spaces(word.strip(_BURMESE_ENDS)) for word in ends)
    return sum(counts) > longest * len(counts) or 2 * attached > len(ends)


def is_character(word: str) -> bool:
    """Whether a word is one character, with its marks and letters under it, or one syllable of Tibetan or Burmese.

    >>> [is_character(word) for word in ("京", "ភ្នំ", "བོད་", "ရန်", "北京", "ရန်ကုန်", "a")]
    [True, True, True, True, False, False, False]
    """
    return bool(NO_SPACES.match(word)) and all(continues_word(word, place) for place in range(1, len(word)))


def continues_word(text: str, place: int) -> bool:
    """Whether a character belongs to the one before it, to its vowel or, in Tibetan and Burmese, to its syllable.

    >>> [continues_word(text, 1) for text in ("北京", "บา", "น้", "བད", "་ད", "ရန်", "မန")]
    [False, False, True, True, False, True, False]
    """
    return is_mark(text[place]) or text[place - 1] in STACKERS or IN_SYLLABLE.match(text, place - 1) is not None


def stands_alone(character: str) -> bool:
    """Whether a character is of a script without spaces and not a digit. The digits of a number stay together."""
    return NO_SPACES.match(character) is not None and not character.isdecimal()


def with_whole_loanwords(words: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """The span ``[start, end)``, extended if it cuts katakana whose characters are separate words.

    >>> with_whole_loanwords("北ウェールズ議会", 3, 7)
    (1, 7)
    """
    while start > 0 and _is_in_loanword(words[start - 1]) and _is_in_loanword(words[start]):
        start -= 1
    while end < len(words) and _is_in_loanword(words[end - 1]) and _is_in_loanword(words[end]):
        end += 1
    return start, end


def _is_in_loanword(word: str) -> bool:
    return not word.isascii() and is_character(word) and is_katakana(word)


def in_characters(words: Iterable[str]) -> bool:
    """Whether nearly all words of scripts without spaces are single characters.

    >>> in_characters("東京へ"), in_characters(["東京", "へ"]), in_characters(["Oslo"])
    (True, False, False)
    """
    alone = [is_character(word) for word in words if stands_alone(word[0])]
    return sum(alone) > MAX_STANDALONE_SHARE * len(alone)


def split_in_characters(words: Collection[str]) -> bool | None:
    """Whether text is split `in_characters`; None if few of its words are of a script without spaces."""
    unspaced = [word for word in words if stands_alone(word[0])]
    return in_characters(unspaced) if len(unspaced) > MIN_SHARE * len(words) else None


def follows_without_space(word: str) -> bool:
    """Whether a word begins with a character of a script without spaces, or with its punctuation.

    >>> follows_without_space("京都"), follows_without_space("。"), follows_without_space("서울")
    (True, True, False)
    """
    return bool(NO_SPACES.match(word) or FULL_WIDTH.match(word))


@lru_cache(maxsize=10_000)
def is_mark(character: str) -> bool:
    """Whether a character only changes or joins the one before it."""
    return category(character) in ("Mn", "Mc", "Me", "Cf") or character in SPACING_MARKS + SYLLABLE_ENDS
