from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import augment
from nersery.augment.code_mixing import CodeMixing
from nersery.core.errors import DataError, MissingResourceError, NerseryError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.settings.file_settings import content_hashes


def sentence(language: str, text: str, id: str = "") -> Sentence:
    """Parse entities in brackets, followed by their type: ``[Ada Lovelace]PER wrote``."""
    words: list[str] = []
    entities = []
    for part in text.replace("[", "\t[").replace("]", "\t]").split("\t"):
        inside, (type_, _, rest) = part.startswith("["), part.lstrip("]").partition(" ")
        if inside:
            words += part[1:].split()
            start = len(words) - len(part[1:].split())
        elif part.startswith("]"):
            entities.append(Entity(start, len(words), type_))
            words += rest.split()
        else:
            words += part.split()
    return Sentence(tuple(words), tuple(entities), language=language, id=id)


GOLD = Corpus(
    [
        sentence("en", "[Ada Lovelace]PER left [Delhi]LOC for [London]LOC today", "en1"),
        sentence("en", "nobody came", "en2"),
        sentence("hi", "[राम]PER [दिल्ली]LOC में [नई दिल्ली]LOC है ।", "hi1"),
        sentence("hi", "[सीता शर्मा]PER [लंदन]LOC गई", "hi2"),
        sentence("zh", "[小明]PER 去 [北京]LOC 和 [伦 敦]LOC 。", "zh1"),
        sentence("zh", "[微软]ORG 很 大", "zh2"),
    ]
)
VECTORS = {
    "en": {"Ada": (0, 1, 0.2), "lovelace": (0, 1, 0), "Delhi": (1, 0, 0), "London": (1, 0, 1), "left": (9, 9, 9)},
    "hi": {"राम": (0, 1, 1), "शर्मा": (0, 1, 0), "दिल्ली": (1, 0.1, 0), "नई": (1, 0.6, 0), "लंदन": (1, 0.1, 1)},
    "zh": {"小明": (0, 1, 0), "北京": (1, 0, 0.1), "伦": (1, 0, 0.8), "敦": (1, 0, 0.9), "微软": (1, 1, 1)},
}


def write(folder: Path, vectors: Mapping[str, Mapping[str, tuple[float, ...]]] = VECTORS) -> dict[str, str]:
    paths = {}
    for language, words in vectors.items():
        lines = [" ".join(map(str, (word, *row))) for word, row in words.items()]
        path = folder / f"{language}.vec"
        path.write_text("\n".join([f"{len(words)} 3", *lines, ""]), "utf-8")
        paths[language] = str(path)
    return paths


@pytest.fixture
def vectors(tmp_path: Path) -> dict[str, str]:
    return write(tmp_path)


@pytest.fixture
def ess(vectors: dict[str, str]) -> CodeMixing:
    return fitted(vectors=vectors)


def fitted(gold: Any = GOLD, **settings: Any) -> CodeMixing:
    method = CodeMixing(**settings)
    method.fit(gold)
    return method


def drawn(method: CodeMixing, parent: Sentence, times: int = 3000, entity: int = 0) -> Counter[str]:
    rng = random.Random(0)
    counts: Counter[str] = Counter()
    for _ in range(times):
        new = method.generate(parent, rng)
        assert isinstance(new, Sentence)
        assert [each.type for each in new.entities] == [each.type for each in parent.entities]
        counts[" ".join(new.mention(new.entities[entity]))] += 1
    return counts


def test_two_codes_of_one_language_are_not_mixed(tmp_path: Path) -> None:
    other = [replace(s, language={"en": "eng", "hi": "hin"}.get(s.language, s.language)) for s in GOLD]
    named = {"eng": "en", "hi": "hi", "zho": "zh"}
    paths = write(tmp_path, {code: VECTORS[language] for code, language in named.items()})
    for method in (fitted(other, similarity="random"), fitted(other, vectors=paths)):
        assert "London" not in drawn(method, GOLD[0], 300, entity=2)
    with pytest.raises(DataError, match="needs gold sentences in two languages or more, but all 2 are in en"):
        fitted([GOLD[0], other[1]], similarity="random")


@pytest.mark.parametrize("similarity", ["ess", "random"])
def test_the_ending_after_an_apostrophe_is_kept_and_harmonized(similarity: Any, tmp_path: Path) -> None:
    gold = [sentence("tr", "[Londra'da]LOC kaldı", "tr1"), sentence("en", "[Delhi]LOC and [London]LOC", "en1")]
    vectors = write(tmp_path, {"en": VECTORS["en"], "tr": {"Londra": (1, 0, 1)}}) if similarity == "ess" else {}
    method = fitted(gold, similarity=similarity, vectors=vectors)
    assert set(drawn(method, gold[0], 50)) == ({"London'da"} if vectors else {"Delhi'de", "London'da"})
    unseen = sentence("tr", "[Londra'ya]LOC git")
    assert set(drawn(method, unseen, 50)) == ({"London'a"} if vectors else {"Delhi'ye", "London'a"})
    assert set(drawn(method, gold[1], 50)) == {"Londra"}


class TestSimilaritySearch:
    def test_takes_the_nearest_mention_of_an_evenly_drawn_language(self, ess: CodeMixing) -> None:
        for entity, expected in enumerate([("सीता शर्मा", "小明"), ("दिल्ली", "北京"), ("लंदन", "伦 敦")]):
            counts = drawn(ess, GOLD[0], entity=entity)
            assert set(counts) == set(expected)
            assert counts[expected[0]] / 3000 == pytest.approx(0.5, abs=0.03)
        assert set(drawn(ess, GOLD[4], entity=1)) == {"Delhi", "दिल्ली"}

    def test_other_words_and_the_language_are_kept(self, ess: CodeMixing) -> None:
        new = ess.generate(GOLD[0], random.Random(3))
        assert isinstance(new, Sentence)
        assert new.language == "en"
        assert new.words[new.entities[0].end] == "left"
        assert new.words[new.entities[1].end] == "for"
        assert new.words[-1] == "today"

    def test_an_entity_is_the_mean_of_its_words(self, tmp_path: Path) -> None:
        gold = [sentence("en", "[a b]X"), sentence("hi", "[p]X [q]X [p r]X")]
        rows: dict[str, tuple[float, ...]] = {"p": (1, 0.2, 0), "q": (0, 1, 0), "r": (0, 0.6, 0)}
        paths = write(tmp_path, {"en": {"a": (2, 0, 0), "b": (0, 2, 0)}, "hi": rows})
        assert set(drawn(fitted(gold, vectors=paths), gold[0], 9)) == {"p r"}

    def test_an_unknown_mention_is_kept_and_never_inserted(self, tmp_path: Path, capsys: Any) -> None:
        known = {language: dict(words) for language, words in VECTORS.items()}
        del known["en"]["Delhi"], known["zh"]["小明"]
        method = fitted(vectors=write(tmp_path, known))
        assert set(drawn(method, GOLD[0], entity=1)) == {"Delhi"}
        assert set(drawn(method, GOLD[0], entity=0)) == {"सीता शर्मा"}
        notes = capsys.readouterr().err
        assert "en.vec has no word of 1 of the 3 different mentions in en" in notes
        assert "zh.vec has no word of 1 of the 4 different mentions in zh" in notes
        assert "hi.vec" not in notes

    def test_a_sentence_with_only_unknown_mentions_is_rejected(self, tmp_path: Path) -> None:
        gold = [*GOLD, sentence("hi", "[गीता]PER आई")]
        method = fitted(gold, vectors=write(tmp_path))
        assert method.generate(gold[-1], random.Random(0)) == Reject("no known word in its mentions")

    def test_words_that_cancel_out_are_as_good_as_unknown(self, tmp_path: Path) -> None:
        gold = [sentence("en", "[a b]X und [a]X"), sentence("hi", "[p]X")]
        paths = write(tmp_path, {"en": {"a": (1, 0, 0), "b": (-1, 0, 0)}, "hi": {"p": (1, 0, 0)}})
        method = fitted(gold, vectors=paths)
        assert set(drawn(method, gold[0], 9)) == {"a b"}
        assert set(drawn(method, gold[1], 9)) == {"a"}

    def test_an_entity_with_the_same_words_is_not_a_candidate(self, tmp_path: Path) -> None:
        gold = [sentence("en", "[Delhi]LOC [Pune]LOC [Goa]ORG"), sentence("de", "[Delhi]LOC [Bonn]LOC [Goa]ORG")]
        words = {"Delhi": (1.0, 0.0, 0.0), "Pune": (0.9, 0.1, 0.0), "Bonn": (0.0, 1.0, 0.0), "Goa": (0.0, 0.0, 1.0)}
        for settings in ({"vectors": write(tmp_path, {"en": words, "de": words})}, {"similarity": "random"}):
            method = fitted(gold, **settings)
            assert set(drawn(method, gold[0], 9)) == {"Bonn"}
            assert set(drawn(method, gold[1], 9)) == {"Pune"}
            assert set(drawn(method, gold[0], 9, entity=2)) == {"Goa"}
            lone = sentence("en", "[Goa]ORG")
            assert method.generate(lone, random.Random(0)) == Reject("no entity of its types in another language")

    def test_rejects_a_type_that_only_one_language_has(self, ess: CodeMixing) -> None:
        assert ess.generate(GOLD[5], random.Random(0)) == Reject("no entity of its types in another language")


class TestUnseen:
    """Sentences that `fit` has not seen."""

    def test_unseen_mentions_are_searched_on_demand(self, tmp_path: Path) -> None:
        known = {language: dict(words) for language, words in VECTORS.items()}
        known["en"] |= {"Kyiv": (1, 0, 0), "York": (1, 0, 0.9)}
        method = fitted(vectors=write(tmp_path, known))
        new = sentence("en", "[KYIV]LOC [Kyiv]LOC and [New York]LOC or [Unknown]PER")
        assert set(drawn(method, new, 9)) == {"KYIV"}
        assert set(drawn(method, new, 99, entity=1)) == {"दिल्ली", "北京"}
        assert set(drawn(method, new, 99, entity=2)) == {"लंदन", "伦 敦"}
        assert set(drawn(method, new, 9, entity=3)) == {"Unknown"}

    def test_a_mention_of_gold_is_found_the_same_way(self, ess: CodeMixing) -> None:
        seen = {place: dict(found) for place, found in ess._nearest.items()}
        ess._nearest.clear()
        assert ess._search_unseen(GOLD) == {place: found for place, found in seen.items() if place != ("zh", "ORG")}

    def test_a_file_is_read_once_by_fit(self, ess: CodeMixing, monkeypatch: pytest.MonkeyPatch) -> None:
        from nersery.models.embeddings import word_vectors

        read: list[object] = []
        lines = word_vectors._lines
        monkeypatch.setattr(word_vectors, "_lines", lambda *of: (read.append(of), lines(*of))[1])
        new = [sentence("en", f"[London {number}]LOC or [Ada {number}]PER", f"n{number}") for number in range(9)]
        result = augment(Corpus(new), refusing_to_fit(ess), batch_size=2)
        assert result.tally.written == 9
        assert not read, "fit has read it"

    def test_handles_a_language_that_is_not_in_gold(self, vectors: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "ta.vec").write_text("டெல்லி 1 0 0\n", "utf-8")
        with_tamil = fitted(vectors={**vectors, "ta": str(tmp_path / "ta.vec")})
        assert set(drawn(with_tamil, sentence("ta", "[டெல்லி]LOC"), 99)) == {"Delhi", "दिल्ली", "北京"}
        without = fitted(vectors=vectors).generate(sentence("ta", "[டெல்லி]LOC"), random.Random(0))
        assert without == Reject("no vectors for its language, ta")
        at_random = fitted(similarity="random")
        assert len(drawn(at_random, sentence("ta", "[டெல்லி]LOC"), 500)) == 7

    def test_sentences_without_replaceable_mentions_are_rejected(self, ess: CodeMixing) -> None:
        for method in (ess, fitted(similarity="random")):
            reasons = [method.generate(each, random.Random(0)) for each in (
                sentence("en", "nobody"), sentence("", "[Ada]PER"), sentence("en", "[Ada]NEW"),
            )]  # fmt: skip
            assert reasons == [
                Reject("no entities"), Reject("no language"), Reject("no entity of its types in another language"),
            ]  # fmt: skip

    def test_a_broken_line_for_an_unseen_mention_is_named(self, tmp_path: Path) -> None:
        paths = write(tmp_path)
        with Path(paths["en"]).open("a", encoding="utf-8") as stream:
            stream.write("Kyiv 1 2\n")
        method = fitted(vectors=paths)
        with pytest.raises(NerseryError, match=r"^\S+en\.vec:7: the vector of 'Kyiv' has 2 values, expected 3"):
            augment(Corpus([sentence("en", "[Kyiv]LOC")]), refusing_to_fit(method))


def refusing_to_fit(method: CodeMixing) -> CodeMixing:
    """Return the fitted method, which cannot be fitted again."""
    method.fit = lambda *_: None  # type: ignore[method-assign]
    return method


class TestRandom:
    def test_languages_are_drawn_evenly_and_then_their_entities(self) -> None:
        counts = drawn(fitted(similarity="random"), GOLD[0], 6000, entity=1)
        assert set(counts) == {"दिल्ली", "नई दिल्ली", "लंदन", "北京", "伦 敦"}
        for mention in ("दिल्ली", "नई दिल्ली", "लंदन"):
            assert counts[mention] / 6000 == pytest.approx(1 / 6, abs=0.02)
        for mention in ("北京", "伦 敦"):
            assert counts[mention] / 6000 == pytest.approx(1 / 4, abs=0.02)

    def test_a_frequent_entity_is_not_drawn_more_often(self) -> None:
        gold = [*GOLD, *(sentence("hi", "[राम]PER") for _ in range(20))]
        counts = drawn(fitted(gold, similarity="random"), sentence("en", "[Ada]PER"), 4000)
        assert counts["राम"] / 4000 == pytest.approx(1 / 4, abs=0.03)

    def test_rate_is_the_share_of_mentions_replaced(self) -> None:
        counts = drawn(fitted(similarity="random", rate=0.3), GOLD[0], entity=2)
        assert counts["London"] / 3000 == pytest.approx(0.7, abs=0.03)

    def test_sentences_without_a_drawn_mention_are_unchanged(self) -> None:
        result = augment(GOLD, CodeMixing(similarity="random", rate=0.0))
        assert result.tally.reasons == {
            "unchanged": 4,
            "no entities": 1,
            "no entity of its types in another language": 1,
        }

    def test_reads_no_file_of_vectors(self, vectors: dict[str, str]) -> None:
        method = CodeMixing(similarity="random", vectors=vectors)
        Path(vectors["hi"]).write_text("broken")
        method.fit(GOLD)
        assert method.generate(GOLD[0], random.Random(0)) != GOLD[0]


class TestModel:
    def test_an_encoder_can_replace_vectors(self, tiny_model: str) -> None:
        method = fitted(model=tiny_model)
        counts = drawn(method, GOLD[0], 200, entity=1)
        assert len(counts) == 2
        assert set(counts) <= {"दिल्ली", "नई दिल्ली", "लंदन", "北京", "伦 敦"}
        result = augment(GOLD, CodeMixing(model=tiny_model), copies=3)
        assert result.tally.written == 12

    def test_finds_mentions_that_are_not_in_gold(self, tiny_model: str) -> None:
        method = fitted(model=tiny_model)
        assert len(drawn(method, sentence("ta", "[டெல்லி]LOC"), 60)) == 3
        seen = {place: dict(found) for place, found in method._nearest.items()}
        method._nearest.clear()
        assert method._search_unseen(GOLD) == {place: found for place, found in seen.items() if place != ("zh", "ORG")}

    def test_the_bundled_model_finds_similar_words_and_notes_its_languages(self, capsys: Any) -> None:
        gold = [
            sentence("en", "[hospital]X [winter storm]X"),
            sentence("de", "[clinic]X [snow]X [Oktoberfest]X"),
            sentence("ja", "[東京 は 日本 の 首都]Y"),
        ]
        method = fitted(gold, model="bundled")
        assert set(drawn(method, gold[0], 5)) == {"clinic"}
        assert set(drawn(method, gold[0], 5, entity=1)) == {"snow"}
        notes = capsys.readouterr().err
        assert "made for other languages than ja" in notes
        assert "made for other languages than de: it covers only English" in notes
        assert "than en" not in notes


class TestBadInput:
    @pytest.mark.parametrize("gold", [[], [sentence("en", "[Ada]PER left")]])
    def test_one_language_is_too_few(self, gold: list[Sentence]) -> None:
        with pytest.raises(DataError, match="two languages") as error:
            CodeMixing(similarity="random").fit(gold)
        assert "--language" in error.value.fix
        assert "JSONL" in error.value.fix

    def test_refuses_a_sentence_without_a_language(self) -> None:
        with pytest.raises(DataError, match="2 of 8 sentences do not name their language") as error:
            CodeMixing(similarity="random").fit([*GOLD, sentence("", "x", "lost"), sentence("", "y")])
        assert error.value.issues[0].sentence == "lost"
        assert "recipe" in error.value.fix

    @pytest.mark.parametrize(
        "gold",
        [
            [sentence("en", "nobody"), sentence("hi", "कोई")],
            [sentence("en", "[Ada]PER"), sentence("hi", "[दिल्ली]LOC")],
            [sentence("en", "[Ada]PER"), sentence("hi", "कोई")],
        ],
    )
    def test_refuses_gold_without_a_type_in_two_languages(self, gold: list[Sentence], vectors: dict[str, str]) -> None:
        for settings in ({"similarity": "random"}, {"vectors": vectors}):
            with pytest.raises(DataError, match="no type has entities in two of the languages en, hi"):
                fitted(gold, **settings)

    def test_refuses_files_without_any_mention(self, tmp_path: Path) -> None:
        other = {language: {"other": (1.0, 2.0, 3.0)} for language in VECTORS}
        with pytest.raises(DataError, match="with a word that has a vector") as error:
            fitted(vectors=write(tmp_path, other))
        assert "check the files" in error.value.fix

    def test_a_language_without_vectors_is_named_before_a_file_is_read(self, vectors: dict[str, str]) -> None:
        for path in vectors.values():
            Path(path).write_text("broken")
        del vectors["zh"]
        with pytest.raises(SettingsError, match=r'in zh, but there are vectors only for en, hi.*\{"zh": ') as error:
            fitted(vectors=vectors)
        assert "setting vectors" in str(error.value)

    def test_a_language_without_entities_needs_no_vectors(self, vectors: dict[str, str]) -> None:
        fitted([*GOLD, sentence("ta", "யாரும் இல்லை")], vectors=vectors)

    def test_refuses_vectors_of_different_dimensions(self, vectors: dict[str, str]) -> None:
        Path(vectors["hi"]).write_text("राम 1 2\n", "utf-8")
        for refuse in (CodeMixing(vectors=vectors).check, lambda: fitted(vectors=vectors)):
            with pytest.raises(DataError) as error:
                refuse()
            for part in ("en.vec has vectors of 3", "hi.vec of 2", "aligned"):
                assert part in str(error.value)

    def test_check_finds_a_bad_model_device_or_file(self, vectors: dict[str, str], tiny_model: str) -> None:
        for settings in ({"vectors": vectors}, {"model": tiny_model}, {"similarity": "random"}):
            CodeMixing(**settings).check()
        with pytest.raises(MissingResourceError, match="no model folder"):
            CodeMixing(model="./none").check()
        with pytest.raises(SettingsError, match="cannot be used"):
            CodeMixing(model=tiny_model, device="abacus").check()
        Path(vectors["zh"]).write_text("", "utf-8")
        with pytest.raises(DataError, match=r"zh\.vec:1: the file holds no vector"):
            CodeMixing(vectors=vectors).check()

    def test_a_broken_line_for_a_word_of_a_mention_is_named(self, vectors: dict[str, str]) -> None:
        path = Path(vectors["hi"])
        path.write_text(path.read_text("utf-8").replace("0.6 0", "0.6"), "utf-8")
        with pytest.raises(DataError, match=r"hi\.vec:5: the vector of 'नई' has 2 values"):
            fitted(vectors=vectors)

    def test_notes_a_file_that_is_cut_off(self, vectors: dict[str, str], capsys: Any) -> None:
        path = Path(vectors["en"])
        path.write_text(path.read_text("utf-8").replace("5 3\n", "200000 3\n"), "utf-8")
        fitted(vectors=vectors)
        assert "en.vec: its first line announces 200000 words, but 199995 are missing" in capsys.readouterr().err

    def test_settings_that_do_not_fit_together(self, vectors: dict[str, str], tiny_model: str) -> None:
        assert CodeMixing().model == "bundled-multilingual"
        assert not CodeMixing(vectors=vectors).model
        with pytest.raises(SettingsError, match="both are given"):
            CodeMixing(vectors=vectors, model=tiny_model)
        with pytest.raises(SettingsError, match="expected 'ess' or 'random'"):
            CodeMixing(similarity="nearest")  # type: ignore[arg-type]
        with pytest.raises(MissingResourceError, match=r"none\.vec does not exist"):
            CodeMixing(vectors={**vectors, "hi": "none.vec"})
        with pytest.raises(SettingsError, match=r"vectors\.hi is empty"):
            CodeMixing(vectors={**vectors, "hi": ""})

    def test_a_fit_that_failed_leaves_the_method_as_it_was(self, vectors: dict[str, str]) -> None:
        method = fitted(vectors=vectors)
        expected = method.generate(GOLD[0], random.Random(1))
        with pytest.raises(DataError):
            method.fit(GOLD[:2])
        assert method.generate(GOLD[0], random.Random(1)) == expected


def test_a_run_notices_that_a_file_has_changed(vectors: dict[str, str]) -> None:
    before = content_hashes(CodeMixing, {"vectors": vectors})
    Path(vectors["hi"]).write_text("राम 1 2 3\n", "utf-8")
    after = content_hashes(CodeMixing, {"vectors": vectors})
    assert {name for name in before if before[name] != after[name]} == {"vectors.hi"}


def test_settings_come_from_the_command_line_as_a_table(vectors: dict[str, str]) -> None:
    from nersery.core import registry
    from nersery.experiments.recipe_file.overrides import settings_from

    table = ", ".join(f'{language} = "{path}"' for language, path in vectors.items())
    method = registry.create("augment", "code_mixing", settings_from([f"vectors={{{table}}}", "rate=0.5"]))
    assert (method.vectors, method.rate) == (vectors, 0.5)
