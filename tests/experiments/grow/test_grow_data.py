"""Sentences that are read or left out, and the notes about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import nersery
from nersery import Corpus, Entity, Origin, Sentence, io
from nersery.core.counting import in_minutes
from nersery.core.errors import DataError, SettingsError
from nersery.experiments.data.text_profile import (
    data_notes,
    note_of_language,
    note_of_tagger,
    profile,
    refuse_other_language,
)
from nersery.experiments.execution.run_time import RunTime
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.candidates import models_for, systems_for
from nersery.experiments.grow.grow_data import read_data
from nersery.experiments.recipe import parse_recipe
from nersery.experiments.recipe_file.data_files import DataFile
from nersery.experiments.run_state.inputs import input_issues
from tests.standins import sentences


def test_raw_text_is_sampled_and_deduplicated(tmp_path: Path) -> None:
    io.write(sentences(20), tmp_path / "train.conll")
    io.write([*sentences(50, 100), *sentences(5), *sentences(3, 100)], tmp_path / "raw.conll")
    data = read_data([str(tmp_path / "train.conll")], tmp_path / "raw.conll", None, io.ReadOptions(), 30)
    assert len(data.raw) == 30
    known = {sentence.words for sentence in data.gold}
    assert not any(sentence.words in known or sentence.entities for sentence in data.raw)
    assert [note for note in data.notes if "drawn at random" in note or "left out" in note] == [
        "8 raw sentences left out: repeated, or also in train or test",
        "30 of 50 raw sentences were drawn at random: grow uses no more",
    ]


def test_notes_test_sentences_from_train_and_unknown_test_types(tmp_path: Path) -> None:
    io.write(sentences(20), tmp_path / "train.conll")
    io.write([*sentences(3), Sentence(("x",), (Entity(0, 1, "NEW"),), id="x")], tmp_path / "test.conll")
    train, test = (str(tmp_path / f"{name}.conll") for name in ("train", "test"))
    assert read_data([train], None, test, io.ReadOptions(), 30).notes[-2:] == (
        "test has types that do not occur in train, so all their mentions count as missed: NEW (1 mention)",
        "3 of 4 test sentences also occur in train, word for word",
    )


def test_removes_test_sentences_in_another_unicode_form_from_raw_text(tmp_path: Path) -> None:
    train, test, raw = (tmp_path / name for name in ("train.conll", "test.conll", "raw.conll"))
    io.write(sentences(20), train)
    io.write([Sentence(("caf\u00e9", "x"), sentences(1)[0].entities[:1], id="x")], test)
    io.write([Sentence(("cafe\u0301", "x")), *sentences(9, 100)], raw)
    assert len(read_data([str(train)], raw, test, io.ReadOptions(), 30).raw) == 9


def test_removes_known_sentences_split_into_other_words_from_raw_text(tmp_path: Path) -> None:
    train, test, raw = (tmp_path / name for name in ("train.conll", "test.brat", "raw.txt"))
    io.write([*sentences(20), Sentence(("Oslo", "-based", "firms"), (Entity(0, 1, "LOC"),), id="x")], train)
    io.write([Sentence(("Dr.", "Ada", "isn't", "in"), (Entity(1, 2, "PER"),), id="y")], test, format="brat")
    raw.write_text("Oslo-based firms\nDr. Ada isn't in\nDr. Ada is in\n")
    data = read_data([str(train)], raw, str(test), io.ReadOptions(language="xx"), 30)
    assert [sentence.text for sentence in data.raw] == ["Dr. Ada is in"]


def test_raw_sentences_keep_their_language(tmp_path: Path) -> None:
    train, raw = tmp_path / "train.jsonl", tmp_path / "raw.jsonl"
    io.write([replace(sentence, language="de") for sentence in sentences(20)], train)
    io.write([replace(sentence, language="de" if n else "nl") for n, sentence in enumerate(sentences(3, 100))], raw)
    data = read_data([str(train)], raw, None, io.ReadOptions(), 30)
    assert [sentence.language for sentence in data.raw] == ["nl", "de", "de"]


def test_refuses_a_file_without_entities(tmp_path: Path) -> None:
    io.write([Sentence(("Ada", "wrote"), id=str(number)) for number in range(9)], tmp_path / "bare.conll")
    with pytest.raises(DataError, match=r"bare\.conll: no training sentence of 9 has an entity"):
        read_data([str(tmp_path / "bare.conll")], None, None, io.ReadOptions(), 30)


@pytest.mark.parametrize(
    ("text", "script", "english", "cased"),
    [
        ("The firm was bought by a company in the north of England .", "LATIN", True, True),
        ("he lived in the north of england for a year .", "LATIN", True, False),
        (
            "Pt. received heparin 20 mg ; 37.5 ° C ( [ ** 2151-7-19 ** ] ) : * * no evidence of COPD",
            "LATIN",
            True,
            True,
        ),
        ("Der Konzern kaufte gestern eine Firma im Norden von Bayern .", "LATIN", False, True),
        ("NEW!! running shoes compatible with Nike iPhone 13 Pro , Rosé ( Pack of 2 )", "LATIN", True, True),
        ("वह दिल्ली में रहता है", "DEVANAGARI", False, False),
    ],
)
def test_language_and_case_are_detected(text: str, script: str, english: bool, cased: bool) -> None:
    found = profile([Sentence(tuple(text.split()))])
    assert (found.script, found.is_english, found.cased) == (script, english, cased)


@pytest.mark.parametrize(
    ("text", "language", "script"),
    [
        ("The firm was bought by a company in the north", "en", ""),
        ("The firm was bought by a company in the north", "", ""),
        ("The firm was bought by a company in the north", "hi", ""),
        ("Der Konzern kaufte gestern eine Firma", "de", ""),
        ("Der Konzern kaufte gestern eine Firma im Norden von Bayern und verkaufte sie wieder", "en-GB", "Latin"),
        ("अब वह दिल्ली में रहता है", "en", "Devanagari"),
        ("अब वह दिल्ली में रहता है", "hi", ""),
    ],
)
def test_notes_a_declared_language_that_contradicts_the_text(text: str, language: str, script: str) -> None:
    made = [Sentence(tuple(text.split()), language=language)] * 20
    note = note_of_language("train", made)
    assert note == (
        f"the language of train is {language}, but the text looks like another ({script} script)" if script else ""
    )
    assert not note_of_language("train", made[:2]), "too little text"


@pytest.mark.parametrize(
    ("text", "language", "seen"),
    [
        ("अब वह दिल्ली में रहता है", "", "does not look like English (Devanagari script)"),
        ("अब वह दिल्ली में रहता है", "hi", "is in hi"),
        ("Der Konzern kaufte gestern eine Firma", "de", "is in de"),
        ("Der Konzern kaufte gestern eine Firma", "", ""),
        (
            "Der Konzern kaufte gestern eine Firma im Norden von Bayern und verkaufte sie wieder",
            "",
            "does not look like English (Latin script; if it is, give --language en)",
        ),
        (
            "Ta kengar vosh bilden orta " * 20,
            "",
            "has hardly any English function word (if it is English, give --language en)",
        ),
        ("The firm was bought by a company in the north " * 20, "", ""),
        ("sony xperia z5", "en", ""),
        ("😀 12 ...", "", ""),
    ],
)
def test_notes_text_that_the_english_tagger_does_not_cover(text: str, language: str, seen: str) -> None:
    made = [Sentence(tuple(text.split()), language=language)]
    found = note_of_tagger("bundled-ner", made)
    assert (f"bundled-ner covers only English, but the text {seen}: " in found) if seen else not found
    assert not note_of_tagger("bundled-multilingual-ner", made)


@pytest.mark.parametrize(
    ("text", "language", "script"),
    [
        ("ཏཱ་ ལའི་ བླ་ མ་ ལྷ་ ས་ ལ་ བཞུགས་ ཡོད །", "", "Tibetan"),
        ("ᓄᓇᕗᑦ ᒐᕙᒪᖓ ᐃᖃᓗᐃᓐᓂ", "iu", "Canadian Aboriginal"),
        ("ᱫᱨᱚᱣᱯᱚᱫᱤ ᱢᱩᱨᱢᱩ", "sat", "Ol Chiki"),
        ("𝓐𝓭𝓪 𝕷𝖔𝖛𝖊𝖑𝖆𝖈𝖊 3º", "", ""),
        ("山 田 太 郎 は カ", "ja", ""),
        ("𞸀 \ue000 12", "", ""),
    ],
)
def test_notes_a_script_that_the_bundled_taggers_do_not_cover(text: str, language: str, script: str) -> None:
    made = [Sentence(tuple(text.split()), language=language)]
    found = note_of_tagger("bundled-multilingual-ner", made)
    advice = "train a tagger on a model of its language (`nersery train --set model=NAME`)"
    none = "so it finds hardly any name"
    assert found == (
        f"bundled-multilingual-ner knows no word in the {script} script, {none}: {advice}" if script else ""
    )
    if script:
        assert note_of_tagger("bundled-ner", made).endswith(advice)


@pytest.mark.parametrize(("text", "script"), [("วิ ชั ย", "Thai"), ("ភ្នំ ពេ ញ", "Khmer"), ("東 京", "")])
def test_notes_a_script_in_which_the_multilingual_tagger_has_learnt_no_name(text: str, script: str) -> None:
    found = note_of_tagger("bundled-multilingual-ner", [Sentence(tuple(text.split()))])
    assert (f"36 languages, but on no text in the {script} script, so it misses" in found) if script else not found


def test_the_multilingual_tagger_is_not_advised_for_uncovered_languages() -> None:
    made = [Sentence(("Olúṣẹ́gun", "ni", "ààrẹ"), language="yo")]
    assert "bundled-multilingual" not in note_of_tagger("bundled-ner", made)


def test_grow_notes_a_contradicted_language(tmp_path: Path) -> None:
    io.write([Sentence(("वह", "दिल्ली", "में", str(n)), (Entity(1, 2, "LOC"),)) for n in range(40)], tmp_path / "hi.conll")
    notes = read_data([str(tmp_path / "hi.conll")], None, None, io.ReadOptions(language="en"), 30).notes
    assert "the language of train is en, but the text looks like another (Devanagari script)" in notes


@pytest.mark.parametrize(
    ("text", "is_named"), [("sony xperia z5", True), ("It is in the north", False), ("दिल्ली", False)]
)
def test_tells_how_to_declare_english(text: str, is_named: bool) -> None:
    assert ("--language en" in profile([Sentence(tuple(text.split()))]).remedy) == is_named


def test_a_declared_language_wins_over_the_detected_one() -> None:
    assert not profile([Sentence(("The", "man", "of", "the", "year"))], "de").is_english


def test_notes_rare_types() -> None:
    gold = [Sentence(("Ada", "here"), (Entity(0, 1, "PER"),))] * 6 + [Sentence(("Oslo",), (Entity(0, 1, "LOC"),))]
    assert any("LOC (1)" in note for note in data_notes(gold))


def test_all_systems_form_a_valid_recipe() -> None:
    text = profile([Sentence(("The", "man", "of", "the", "Year"))])
    models = models_for(text, "my-model")
    assert models == ["bundled", "my-model", "bundled-multilingual"]
    systems = systems_for(text, ["PER"], models, gold=500, raw=100, stage_steps=50)
    table = {
        "name": "x", "sample": {"folds": 3}, "seeds": [0, 1, 2], "data": {"train": "t", "raw": "r"},
        "tagger": {"model": "bundled"}, "systems": systems,
    }  # fmt: skip
    assert parse_recipe(table)[1] == []


def test_a_slow_machine_raises_estimates() -> None:
    budget = Budget(100)
    before = budget.expected(10)
    budget.learn(10, 30)
    assert budget.expected(10) > 1.5 * before
    for _ in range(20):
        budget.learn(10, 10)
    assert budget.expected(10) == pytest.approx(before, rel=0.01)


def test_run_time_grows_with_steps_and_speed_is_measured_once(tiny_model: str) -> None:
    def seconds(steps: int) -> float:
        table = {
            "name": "x", "data": {"train": "t", "test": "t"}, "tagger": {"model": tiny_model, "steps": steps},
            "systems": [{"method": "mention_replacement"}],
        }  # fmt: skip
        recipe, issues = parse_recipe(table)
        assert recipe, issues
        times = RunTime(recipe, sentences(20), speeds=speeds)
        return times.total(recipe.systems[1])

    speeds: dict[str, object] = {}
    assert 0 < seconds(100) < seconds(1000)
    assert len(speeds) == 1, "the speed of a tagger is measured once"
    assert in_minutes(119) == "2.0 min"


def test_joins_train_files_and_uses_the_last_labels_of_a_text(tmp_path: Path) -> None:
    first, since = sentences(20), [s.with_entities(()) for s in sentences(8, 16)]
    io.write(first, tmp_path / "train.conll")
    io.write(since, tmp_path / "labelled.jsonl")
    files = [str(tmp_path / name) for name in ("train.conll", "labelled.jsonl")]
    data = read_data(files, None, None, io.ReadOptions(), 30)
    assert sorted(s.words for s in data.gold) == sorted(s.words for s in sentences(24))
    labels = {sentence.words: sentence.labels for sentence in data.gold}
    assert all(labels[sentence.words] == () for sentence in since)
    note = "4 sentences left out, because a later train file has the same text: its labels are used"
    assert note in data.notes
    assert read_data([files[0], files[0], files[0]], None, None, io.ReadOptions(), 30).gold.types == ("LOC", "PER")


def test_generated_sentences_get_ids_that_no_method_assigns(tmp_path: Path) -> None:
    gold, more, whole = (str(tmp_path / f"{name}.jsonl") for name in ("gold", "more", "whole"))
    io.write(Corpus(sentences(8)), gold)
    made = nersery.augment(gold, "mention_replacement").corpus
    io.write(made, more)
    io.write([*io.read(gold), *made], whole)
    for train in ([gold, more], [whole]):
        data = read_data(train, None, None, io.ReadOptions(), 9)
        systems = [{"method": "mention_replacement"}]
        recipe, _ = parse_recipe({"name": "x", "data": {"train": "t", "test": "t"}, "systems": systems})
        assert recipe is not None
        assert len(data.gold) == 8 + len(made) > 8
        assert not input_issues(recipe, {DataFile("train", "train.jsonl"): data.gold})


def test_repeats_are_dropped_only_for_a_later_file(tmp_path: Path) -> None:
    repeated = [replace(s, id="") for s in [*sentences(10), *sentences(10)]]
    names = [str(tmp_path / f"{name}.conll") for name in "ab"]
    io.write(repeated, names[0])
    io.write([*repeated[:8], *repeated[10:18]], names[1])
    data = read_data(names, None, None, io.ReadOptions(), 30)
    assert len(data.gold) == 4 + 16
    note = "16 sentences left out, because a later train file has the same text: its labels are used"
    assert note in data.notes
    assert len(read_data(names[:1], None, None, io.ReadOptions(), 30).gold) == 20


def test_files_with_two_sets_of_tags_are_noted(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{name}.conll") for name in "ab"]
    io.write(sentences(10), names[0])
    io.write([s.with_types({"LOC": "Place"}) for s in sentences(10, 20)], names[1])
    notes = read_data(names, None, None, io.ReadOptions(), 30).notes
    assert any(f"(LOC only in {names[0]}; Place only in {names[1]})" in note for note in notes)


def test_refuses_too_few_different_sentences(tmp_path: Path) -> None:
    io.write([Sentence(("Ada", f"wrote{n % 5}"), (Entity(0, 1, "PER"),)) for n in range(9)], tmp_path / "train.conll")
    with pytest.raises(DataError, match="the number of different sentences with entities is 5, expected at least 6"):
        read_data([str(tmp_path / "train.conll")], None, None, io.ReadOptions(), 30)


def test_refuses_a_tag_as_a_type_to_ask_for(tmp_path: Path) -> None:
    train, raw = str(tmp_path / "train.conll"), tmp_path / "raw.txt"
    io.write([one.with_types({"PER": "O"}) for one in sentences(9)], train)
    raw.write_text("She wrote\n")
    assert "O" in read_data([train], None, None, io.ReadOptions(), 30).gold.types
    with pytest.raises(SettingsError, match='train has the type "O", which is the tag of words outside entities'):
        read_data([train], raw, None, io.ReadOptions(), 30)


def test_raw_text_has_its_own_format(tmp_path: Path) -> None:
    io.write([Sentence(("Ada", f"wrote{n}"), (Entity(0, 1, "PER"),)) for n in range(9)], tmp_path / "train.conll")
    (tmp_path / "raw.en").write_text("".join(f"She wrote {n}\n" for n in range(5)))
    options = io.ReadOptions(format="conll", language="en")
    data = read_data([str(tmp_path / "train.conll")], tmp_path / "raw.en", None, options, 30)
    assert [sentence.text for sentence in data.raw] == [f"She wrote {n}" for n in range(5)]


def test_refuses_empty_files_by_name(tmp_path: Path) -> None:
    names = [str(tmp_path / "a.conll"), str(tmp_path / "b.conll")]
    for name in names:
        Path(name).touch()
    for given, message in (
        (names[:1], "a.conll: the file has no usable sentence"),
        (names, "b.conll: the files have no usable sentence"),
    ):
        with pytest.raises(DataError, match=rf"{message}\nFix: give labelled sentences$"):
            read_data(given, None, None, io.ReadOptions(), 30)


def test_later_labels_replace_those_of_every_copy_of_a_text(tmp_path: Path) -> None:
    old = [replace(one, id=f"old/{number}") for number, one in enumerate([*sentences(9), sentences(1)[0]])]
    first = sentences(1)[0]
    io.write(old, tmp_path / "train.jsonl")
    io.write([first.with_entities(())], tmp_path / "since.jsonl")
    files = [str(tmp_path / name) for name in ("train.jsonl", "since.jsonl")]
    data = read_data(files, None, None, io.ReadOptions(), 30)
    assert [one.entities for one in data.gold if one.words == first.words] == [()]


def test_paragraphs_are_noted(tmp_path: Path) -> None:
    words = ("a", "word") * 50
    io.write([Sentence((f"A{n}", *words[1:]), (Entity(0, 1, "PER"),)) for n in range(9)], tmp_path / "p.jsonl")
    (tmp_path / "raw.txt").write_text(f"{' '.join(words)} b\n" * 3 + "a short line\n")
    found = read_data((str(tmp_path / "p.jsonl"),), str(tmp_path / "raw.txt"), None, io.ReadOptions(), 30).notes
    notes = [one for one in found if "which suggests paragraphs" in one]
    assert [one.partition(" words")[0] for one in notes] == ["the sentences of train have 100"]
    assert "split them into sentences" in notes[0], "in CoNLL they have no line of their own"


@pytest.mark.parametrize(
    ("train", "raw", "words", "note"),
    [
        ("Oslo , yes", "Nein, zwei {}", 4, ""),
        ("Oslo, yes", "Nein, zwei {}", 3, ""),
        ("Oslo, yes", "Nein , zwei {}", 4, 'words in labelled sentences, as in "Oslo,", but separate in raw text'),
        ("Oslo , yes", "Nein , zwei {}", 4, ""),
        ("Oslo yes", "Nein, zwei {}", 4, ""),
    ],
)
def test_raw_text_is_split_like_labelled_sentences(tmp_path: Path, train: str, raw: str, words: int, note: str) -> None:
    gold = [Sentence((*train.split(), str(n)), (Entity(0, 1, "LOC"),)) for n in range(12)]
    io.write(gold, tmp_path / "train.jsonl")
    (tmp_path / "raw.txt").write_text("".join(f"{raw.format(n)}\n" for n in range(12)))
    files = [str(tmp_path / "train.jsonl")], tmp_path / "raw.txt"
    data = read_data(*files, None, io.ReadOptions(), 30)
    assert {len(sentence) for sentence in data.raw} == {words}
    notes = [one for one in data.notes if "punctuation" in one]
    assert len(notes) == bool(note)
    assert note in "".join(notes)
    if (train, raw) == ("Oslo , yes", "Nein, zwei {}"):
        notes = "".join(read_data(*files, None, io.ReadOptions(split="spaces"), 30).notes)
        assert (
            'words in raw text, as in "Nein,", but separate in the labelled sentences: split both the same way' in notes
        )


@pytest.mark.parametrize(
    ("train", "raw", "note"),
    [
        ("東京 へ", "京都へ行く", 'words of the labelled sentences are longer, as in "東京"'),
        ("東 京 へ", "京都 へ 行く", 'words of raw text are longer, as in "京都"'),
        ("བློ་བཟང་ ལ་", "ལ་བློ་བཟང་", "each character or syllable of raw text is a word"),
        ("東京 へ", "京都 へ 行く", ""),
        ("東 京 へ", "京都へ行く", ""),
        ("Oslo 東京", "Rome", ""),
    ],
)
def test_words_and_characters_are_told_apart(tmp_path: Path, train: str, raw: str, note: str) -> None:
    gold = [Sentence((*train.split(), str(n)), (Entity(0, 1, "LOC"),)) for n in range(12)]
    io.write(gold, tmp_path / "train.jsonl")
    (tmp_path / "raw.txt").write_text("".join(f"{raw}{n}\n" for n in range(12)), "utf-8")
    data = read_data([str(tmp_path / "train.jsonl")], tmp_path / "raw.txt", None, io.ReadOptions(), 30)
    notes = [one for one in data.notes if "each character" in one]
    assert len(notes) == bool(note)
    assert note in "".join(notes)


def test_raw_text_ids_differ_from_those_of_labelled_sentences(tmp_path: Path) -> None:
    """Sentences of an earlier job may be reviewed and used as train."""
    io.write([replace(one, id=f"raw/{number}") for number, one in enumerate(sentences(9))], tmp_path / "train.jsonl")
    io.write(sentences(5, 100), tmp_path / "raw.conll")
    data = read_data([str(tmp_path / "train.jsonl")], tmp_path / "raw.conll", None, io.ReadOptions(), 30)
    assert sorted(data.raw.by_id) == [f"raw2/{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ([], "test.jsonl: the file has no usable sentence"),
        ([Sentence(("Ada", "wrote"), id="1")], "test.jsonl: no sentence of 1 has an entity"),
        (
            [Sentence(("Ada",), (Entity(0, 1, "GENE"),), id="1")],
            r"the types of train \(LOC, PER\) do not occur, only GENE",
        ),
    ],
)
def test_refuses_a_test_file_that_cannot_be_scored(test: list[Sentence], message: str, tmp_path: Path) -> None:
    io.write(sentences(9), tmp_path / "train.jsonl")
    io.write(test, tmp_path / "test.jsonl")
    with pytest.raises(DataError, match=message):
        read_data([str(tmp_path / "train.jsonl")], None, tmp_path / "test.jsonl", io.ReadOptions(), 30)


def test_refuses_empty_raw_text(tmp_path: Path) -> None:
    io.write(sentences(9), tmp_path / "train.jsonl")
    (tmp_path / "raw.txt").touch()
    with pytest.raises(DataError, match=r"raw\.txt: the file has no usable sentence"):
        read_data([str(tmp_path / "train.jsonl")], tmp_path / "raw.txt", None, io.ReadOptions(), 30)


def test_kana_and_kanji_are_the_same_script() -> None:
    labelled, raw = (profile([Sentence((text,))]) for text in ("東京都庁舎", "ここではきものをぬぐ"))
    assert labelled.script == raw.script == "CJK"
    refuse_other_language(labelled, raw)


def test_raw_text_may_mix_english_and_another_language_differently(tmp_path: Path) -> None:
    mixed = "BCCI walo ne yaar refund nahi diya aur main kya karun bhai match dekha tha kal".split()
    labelled = [Sentence((*mixed, "the", str(number)), [Entity(0, 1, "ORG")]) for number in range(9)]
    io.write(labelled, tmp_path / "train.jsonl")
    (tmp_path / "raw.txt").write_text("".join(f"{' '.join(mixed[number:])}\n" for number in range(9)), "utf-8")
    data = read_data([str(tmp_path / "train.jsonl")], tmp_path / "raw.txt", None, io.ReadOptions(), 30)
    assert profile(data.gold).is_english
    assert not data.text.is_english


def test_a_declared_language_may_have_several_scripts() -> None:
    named = (("Београд", "sr"), ("Novi", "srp-Latn"))
    labelled, raw = (profile([Sentence((text,))], language) for text, language in named)
    refuse_other_language(labelled, raw)
    with pytest.raises(DataError, match="same language"):
        refuse_other_language(*(profile([Sentence((text,))]) for text in ("Београд", "Novi")))


@pytest.mark.parametrize(
    ("definitions", "message"),
    [({"PER": " "}, "definitions has no text for PER"), ({"PRE": "a person"}, 'type PRE, .* did you mean "PER"')],
)
def test_refuses_empty_definitions_and_those_of_unknown_types(
    definitions: dict[str, str], message: str, tmp_path: Path
) -> None:
    io.write(sentences(9), tmp_path / "train.jsonl")
    with pytest.raises(SettingsError, match=message):
        read_data([str(tmp_path / "train.jsonl")], None, None, io.ReadOptions(), 30, definitions)


@pytest.mark.parametrize("raw", ["raw.txt", None])
def test_refuses_plain_text_as_a_labelled_file(
    raw: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    io.write(sentences(9), "train.jsonl")
    for name in ("raw.txt", "more.txt"):
        Path(name).write_text("Ada went to Oslo\n")
    with pytest.raises(DataError, match=r"more\.txt: this is plain text, which has no labels\nFix: .*with `raw`"):
        read_data(["train.jsonl", "more.txt"], raw, None, io.ReadOptions(), 30)


def test_a_labelled_file_may_have_no_entity(tmp_path: Path) -> None:
    io.write(sentences(9), tmp_path / "train.jsonl")
    io.write([Sentence(("Nobody", "wrote"), id="1")], tmp_path / "more.jsonl")
    names = [str(tmp_path / name) for name in ("train.jsonl", "more.jsonl")]
    data = read_data(names, None, None, io.ReadOptions(), 30)
    assert len(data.gold) == 10
    assert any(f"no sentence of {names[1]} has an entity" in note for note in data.notes)


def test_new_ids_also_replace_parent_ids_of_the_same_file(tmp_path: Path) -> None:
    gold = [replace(s, id=str(number)) for number, s in enumerate(sentences(9, 100))]
    made = [replace(s, words=("new", *s.words[1:]), id=f"{s.id}~x-1", origin=Origin("x", (s.id,))) for s in gold]
    names = [str(tmp_path / name) for name in ("train.jsonl", "more.jsonl")]
    io.write([replace(s, id=str(number)) for number, s in enumerate(sentences(9))], names[0])
    io.write([*gold, *made], names[1])
    joined = read_data(names, None, None, io.ReadOptions(), 30).gold
    origins = {sentence.id: sentence.origin.parents for sentence in joined if sentence.origin}
    assert origins == {f"more/{s.id}~x-1": (f"more/{s.id}",) for s in gold}


def test_a_text_with_two_labellings_is_noted_once(tmp_path: Path) -> None:
    first, *others = sentences(20)
    other_labels = [replace(first, id=f"again-{number}", entities=()) for number in range(2)]
    for repeats, noted in ([replace(first, id="same")], False), (other_labels, True):
        io.write([first, *others, *repeats], tmp_path / "train.jsonl")
        notes = read_data([str(tmp_path / "train.jsonl")], None, None, io.ReadOptions(), 30).notes
        assert any("train labels 1 text in several ways, such as" in note for note in notes) == noted


def test_sentences_that_a_file_marks_as_unusable_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    spans = [{"start": 2, "end": 6, "label": "LOC"}]
    answers = ["accept"] * 6 + ["reject"] * 2
    rows = [{"text": f"{n} Oslo", "spans": spans, "answer": answer} for n, answer in enumerate(answers)]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = read_data([str(path)], None, path, io.ReadOptions(), 30)
    assert len(data.gold) == 6
    for label in (str(path), "test"):
        assert f"{label}: 2 texts left out, as marked in the file: answered reject 2" in data.notes
