"""Characters as words, which are joined for alignment."""

import pytest

from nersery.io.word_splitting.tokenization import splitter
from nersery.models.subwords.joined_characters import word_groups

TEXTS = {  # with subwords as multilingual E5 has them
    "Thai": ("เขาทำงาน", ["▁เขา", "ท\u0e4d\u0e32งาน"], ["เขา", "ทำงาน"]),
    "Lao": ("ນ້ຳຕົກ", ["▁", "ນ້\u0ecd\u0eb2", "ຕົກ"], ["ນ້ຳ", "ຕົກ"]),
    "half width": ("東京ﾊﾞｽ", ["▁", "東京", "バス"], ["東京", "ﾊﾞｽ"]),
    "foreign names in Chinese": ("在亚利桑那州", ["▁在", "亚利", "桑", "那", "州"], ["在", "亚利桑那", "州"]),
    "with commoner characters": ("在马其顿的", ["▁在", "马其", "顿", "的"], ["在", "马其顿", "的"]),
    "and in traditional signs": ("在瓊斯的", ["▁在", "瓊", "斯", "的"], ["在", "瓊斯", "的"]),
    "words beside each other": ("华尔街日报", ["▁华尔街", "日报"], ["华尔街", "日报"]),
    "foreign names": ("ウェールズ・リバ", ["▁ウ", "ェール", "ズ", "・リ", "バ"], ["ウェールズ", "・リバ"]),
    "particles after them": ("パルの状況", ["▁", "パ", "ルの", "状況"], ["パル", "の", "状況"]),
    "zero width spaces": ("ភាសា\u200bខ្មែរ\u200b", ["▁ភាសា", "ខ្មែរ"], ["ភាសា", "ខ្មែរ"]),
    "letters below": ("នៅភ្នំពេញ", ["▁នៅ", "ភ្នំពេញ"], ["នៅ", "ភ្នំពេញ"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_characters_are_joined_although_the_vocabulary_normalizes_them(name: str) -> None:
    text, subwords, joined = TEXTS[name]
    words = splitter("characters")(text)
    assert len(words) > len(joined)
    assert ["".join(words[position] for position in span) for span in word_groups(words, lambda _: subwords)] == joined


def test_unknown_characters_are_not_joined() -> None:
    assert word_groups(("北", "京"), lambda _: ["▁", "<unk>"]) == ((0,), (1,))


def test_zero_width_spaces_at_words_are_not_subwords() -> None:
    *words, last = splitter("characters")("ភាសា")
    assert word_groups([*words, f"{last}\u200b"], lambda _: ["▁ភាសា"]) == (tuple(range(len(words) + 1)),)
