"""Sentences that a language model writes. The client is tested in tests/models/llm."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, augment
from nersery.augment.llm_sentences import LlmSentences
from nersery.core.outcome import Reject
from nersery.models.llm.chat_client import ChatClient
from nersery.models.llm.prompt import Completion, Prompt
from tests.llm_server import serving

ADA = Sentence(("Ada", "Lovelace", "met", "U.S", ".", "visitors"), (Entity(0, 2, "PER"), Entity(3, 5, "LOC")), id="a")
GOLD = [ADA, *(Sentence((f"Name{n}", "spoke"), (Entity(0, 1, "PER"),), id=f"g{n}") for n in range(8))]


def made(monkeypatch: pytest.MonkeyPatch, content: Any, sentence: Sentence = ADA, **settings: Any) -> Any:
    """Return the words and labels of an answer, or the reason for its rejection."""
    text = content if isinstance(content, str) else json.dumps(content)
    monkeypatch.setattr(ChatClient, "ask", lambda client, prompts, *_, **quiet: [Completion(text) for _ in prompts])
    method = LlmSentences("m", server="http://localhost", **settings)
    method.fit(GOLD)
    outcome = method.generate(sentence, random.Random(1))
    return outcome.reason if isinstance(outcome, Reject) else (outcome.text, outcome.labels)


def test_given_entities_keep_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"sentence": "In the U.S., Ada Lovelace was born."}
    expected = ("In the U.S . , Ada Lovelace was born .", ((2, 4, "LOC"), (5, 7, "PER")))
    assert made(monkeypatch, answer) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Ada met U.S. visitors.", "an entity is not in the sentence"),
        ("ada lovelace met U.S. visitors.", "an entity is not in the sentence"),
        ("Ada Lovelaces met U.S. visitors.", "an entity is not in the sentence"),
        ("Ada Lovelace (PER) met U.S . [loc] visitors.", "the answer has the name of a type in brackets"),
        ("Ada Lovelace ने U.S . का दौरा किया", "the answer is in another script (Devanagari)"),
        ("Ada Lovelace met U.S. visitors" + " and so on" * 70, "the answer has more than 200 words"),
        ("", "the answer has no JSON of the expected form"),
        (7, "the answer has no JSON of the expected form"),
    ],
)
def test_a_sentence_without_the_entities_is_rejected(
    text: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(monkeypatch, {"sentence": text}) == reason


def test_markup_around_entities_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"sentence": "The **U.S** . saw **Ada Lovelace** at 2 ** 3 ."}
    assert made(monkeypatch, answer)[0] == "The U.S . saw Ada Lovelace at 2 ** 3 ."
    text, labels = made(monkeypatch, {"entities": ["**Grace Hopper**", '"Oslo"']}, write="entities")
    assert (text, labels) == ("Grace Hopper met Oslo visitors", ((0, 2, "PER"), (3, 4, "LOC")))


def test_a_type_in_brackets_is_allowed_if_gold_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    titled = Sentence(("Dune", "(", "per", ")"), (Entity(0, 4, "PER"),), id="t")
    monkeypatch.setattr("tests.augment.test_llm_sentences.GOLD", [*GOLD, titled])
    assert made(monkeypatch, {"entities": ["Alien (PER)", "Oslo"]}, write="entities")[0].startswith("Alien ( PER )")
    reason = "the answer has the name of a type in brackets"
    assert made(monkeypatch, {"entities": ["Alien", "Oslo (LOC)"]}, write="entities") == reason


def test_types_that_only_the_sentence_has_are_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Sentence(("Dune", "sold"), (Entity(0, 1, "WORK"),), id="w")
    reason = "the answer has the name of a type in brackets"
    assert made(monkeypatch, {"entities": ["Alien（WORK）"]}, other, write="entities") == reason
    titled = Sentence(("Dune", "(", "work", ")", "sold"), (Entity(0, 4, "WORK"),), id="w")
    assert made(monkeypatch, {"entities": ["Alien (work)"]}, titled, write="entities")[0] == "Alien ( work ) sold"


def test_allows_the_script_of_entities_without_letters_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    score = Sentence(("Oslo", "3", "-", "2", "Bergen"), (Entity(0, 1, "LOC"), Entity(4, 5, "LOC")), id="s")
    monkeypatch.setattr(f"{__name__}.GOLD", [score])
    assert made(monkeypatch, {"sentence": "Oslo beat Bergen"}, score)[0] == "Oslo beat Bergen"


def test_acronyms_are_of_every_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.GOLD", [CHARACTERS])
    answer = {"entities": ["NHK", "上海"]}
    assert made(monkeypatch, answer, CHARACTERS, write="entities")[0].startswith("NHK 在 上 海")
    answer = {"entities": ["Ada", "上海"]}
    reason = "the answer is in another script (Latin)"
    assert made(monkeypatch, answer, CHARACTERS, write="entities") == reason


def test_scripts_of_gold_and_of_the_sentence_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    hindi = Sentence(("Ada", "ने", "कहा"), (Entity(0, 1, "PER"),), id="h", language="hi")
    monkeypatch.setattr(LlmSentences, "_prompt", lambda *_: Prompt((), {}))
    assert made(monkeypatch, {"sentence": "Ada said so"}, hindi) == "the answer is in another script (Latin)"
    assert made(monkeypatch, {"sentence": "कल Ada ने लिखा"}, hindi)[0] == "कल Ada ने लिखा"
    assert made(monkeypatch, {"sentence": "Ada 5 !"}, hindi)[0] == "Ada 5 !"
    for name in ("Grace", "ग्रेस"):
        assert made(monkeypatch, {"entities": [name]}, hindi, write="entities")[0] == f"{name} ने कहा"


def test_an_answer_drops_the_offsets_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = replace(ADA, document="d", offsets=tuple((10 * n, 10 * n + 9) for n in range(len(ADA))))
    text = "Today Ada Lovelace left the U.S ."
    assert made(monkeypatch, {"sentence": text}, placed)[0] == text


@pytest.mark.parametrize(
    ("write", "answer"), [("sentences", "Ada Lovelace saw the U.S . \0"), ("entities", ["Grace", "Os\0lo"])]
)
def test_words_that_no_file_can_store_are_rejected(write: str, answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    key = write.removesuffix("s") if write == "sentences" else write
    assert made(monkeypatch, {key: answer}, write=write) == "word that no file can hold"


def test_an_entity_that_occurs_twice_is_labelled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    text, labels = made(monkeypatch, {"sentence": "Ada Lovelace is Ada Lovelace , U.S ."})
    assert [(start, end) for start, end, type_ in labels if type_ == "PER"] == [(0, 2), (3, 5)]
    assert text.endswith("U.S .")


def test_entities_are_replaced_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"entities": ["Grace Brewster Hopper", "Oslo"]}
    expected = ("Grace Brewster Hopper met Oslo visitors", ((0, 3, "PER"), (4, 5, "LOC")))
    assert made(monkeypatch, answer, write="entities") == expected


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (["Grace"], "the answer has another number of entities"),
        (["Grace", " "], "a new entity has no word, or more than 15"),
        (["Grace", "a " * 20], "a new entity has no word, or more than 15"),
        (["Grace", "..."], "a new entity has no letter or digit"),
        (["N/A", "Oslo"], "a new entity is a placeholder such as N/A"),
        (["Grace", '"Unknown"'], "a new entity is a placeholder such as N/A"),
        (["Grace", "Oslo (LOC)"], "the answer has the name of a type in brackets"),
        (["Grace", "北京大学"], "the answer is in another script (Chinese or Japanese)"),
        (["Grace", 1], "the answer has no JSON of the expected form"),
        ("Grace", "the answer has no JSON of the expected form"),
    ],
)
def test_malformed_answers_are_rejected(answer: object, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, {"entities": answer}, write="entities") == reason


def test_emoji_with_joiners_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    family = "👩‍👩‍👧‍👦"
    sentence = Sentence((family, "laughs"), (Entity(0, 1, "PER"),), id="f")
    assert made(monkeypatch, {"sentence": f"See {family}!"}, sentence) == (f"See {family} !", ((1, 2, "PER"),))


def test_a_sentence_without_entities_is_rejected_without_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, {}, Sentence(("so", "what"), id="s")) == "no entities"


def test_rejects_the_same_words_with_two_types_in_a_new_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = Sentence(("Lima", "saw", "Lima"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id="l")
    reason = "entities of the same words and different types"
    assert made(monkeypatch, {"sentence": "In Lima sleeps Lima"}, sentence) == reason
    answer = {"entities": ["Ada", "Oslo"]}
    assert made(monkeypatch, answer, sentence, write="entities") == ("Ada saw Oslo", sentence.labels)


def test_long_gold_sentences_add_types_but_are_not_examples(capsys: pytest.CaptureFixture[str]) -> None:
    long = Sentence(("Ada",) + ("so",) * 99, (Entity(0, 1, "PER"),), id="long")
    method = LlmSentences("m", server="http://localhost", definitions={"PERR": "king"})
    method.fit([long])
    messages = method._prompt(ADA, random.Random(0)).messages
    assert "- PER: " in messages[0][1]
    assert len(messages) == 2, "no example"
    assert "definitions has PERR, which no sentence has" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Prompt] = []

    def ask(client: ChatClient, prompts: list[Prompt], *_: Any, **quiet: bool) -> list[Completion]:
        asked.extend(prompts)
        return [Completion("") for _ in prompts]

    monkeypatch.setattr(ChatClient, "ask", ask)
    monkeypatch.setattr(LlmSentences, "check", lambda method: None)
    runs = []
    for seed, size in ((1, 3), (1, 100), (2, 100)):
        augment(Corpus(GOLD), "llm_sentences", model="m", copies=3, seed=seed, batch_size=size)
        runs.append(asked.copy())
        asked.clear()
    assert runs[0] == runs[1] != runs[2]
    assert len({prompt.key() for prompt in runs[0]}) == 3 * len(GOLD), "each copy has a prompt of its own"
    shown = [text for role, text in runs[0][0].messages if role == "assistant"]
    assert ADA.text not in "".join(shown), "the answer is not shown"


@pytest.mark.parametrize("write", ["sentences", "entities"])
def test_works_with_a_server(write: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    gold = Corpus(Sentence((f"PER.{n}", "o.1"), (Entity(0, 1, "PER"),)) for n in range(20))
    with serving(tmp_path / "server") as server:
        settings = {"model": "tiny", "server": server.url, "cache": str(tmp_path), "write": write, "split": "spaces"}
        result = augment(gold, "llm_sentences", copies=2, **settings)
    assert result.tally.written > 30
    assert all(sentence.labels for sentence in result.corpus)


CHARACTERS = Sentence((*"王小明在北京工作。",), (Entity(0, 3, "PER"), Entity(4, 6, "LOC")), id="zh", language="zh")
WORDS = Sentence(
    ("王小明", "在", "北京", "工作", "。"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id="zh", language="zh"
)


def test_an_answer_is_split_into_characters_like_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.GOLD", [CHARACTERS, *GOLD])
    text, labels = made(monkeypatch, {"sentence": "昨天王小明去了北京大学。"}, CHARACTERS)
    assert text == "昨 天 王 小 明 去 了 北 京 大 学 。"
    assert labels == ((2, 5, "PER"), (7, 9, "LOC"))
    answer = {"entities": ["李华", "上海"]}
    assert made(monkeypatch, answer, CHARACTERS, write="entities")[0] == "李 华 在 上 海 工 作 。"


def test_the_reject_of_an_answer_without_spaces_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.GOLD", [WORDS, *GOLD])
    reason = 'the answer has no spaces between words (the split "characters" cuts it)'
    assert made(monkeypatch, {"sentence": "昨天王小明去了北京大学。"}, WORDS) == reason
    assert made(monkeypatch, {"sentence": "王小明 去了 北京 。"}, WORDS)[0] == "王小明 去了 北京 。"
