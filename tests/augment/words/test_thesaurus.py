import random
from pathlib import Path

import pytest

from nersery import Sentence
from nersery.augment.words.thesaurus import PARTS_OF_SPEECH, Thesaurus, read_table, read_wordnet
from nersery.core import registry
from nersery.core.errors import DataError, MissingResourceError

LICENCE = "  1 This software and database is being provided to you, the LICENSEE, by  \n"
NOUNS = (
    "00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 | that which is perceived  \n"
    "02958343 06 n 05 car 0 auto 0 automobile 0 machine 6 motor_vehicle 0 012 @ 03791235 n 0000 | car  \n"
    "02959942 06 n 02 car 1 railcar 0 002 @ 04524313 n 0000 | a wheeled vehicle  \n"
    "14641397 27 n 04 iodine 0 iodin 0 I 1 atomic_number_53 0 001 @ 14622893 n 0000 | an element  \n"
    "08302724 14 n 02 World_Health_Organization 0 WHO 0 001 @ 08294696 n 0000 | a United Nations agency  \n"
    "08975902 15 n 02 Greece 0 Hellas 0 002 @i 08168978 n 0000 | a republic  \n"
    "09917593 18 n 02 Hellas 0 hellas 1 001 @ 00001740 n 0000 | not in WordNet  \n"
)
ADJECTIVES = "00014358 00 s 02 abounding 0 galore(ip) 0 001 & 00013887 a 0000 | in great numbers  \n"


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    for name, text in {"noun": NOUNS, "verb": "", "adj": ADJECTIVES, "adv": ""}.items():
        (tmp_path / f"data.{name}").write_text(LICENCE + text)
    return tmp_path


def test_synonyms_of_all_senses_are_sorted_without_the_word(wordnet: Path):
    synonyms = read_wordnet(wordnet)
    assert synonyms["car"] == ("auto", "automobile", "machine", "motor vehicle", "railcar")
    assert synonyms["railcar"] == ("car",)
    assert synonyms["hellas"] == ("Greece",)


def test_the_mark_of_an_adjective_is_cut_off(wordnet: Path):
    assert read_wordnet(wordnet)["abounding"] == ("galore",)
    assert read_wordnet(wordnet)["galore"] == ("abounding",)


def test_words_without_synonyms_and_phrases_are_not_entries(wordnet: Path):
    assert not {"entity", "motor vehicle", "motor_vehicle"} & set(read_wordnet(wordnet))


def test_symbols_and_function_words_are_left_out(wordnet: Path):
    synonyms = read_wordnet(wordnet)
    assert not {"i", "who"} & set(synonyms)
    assert synonyms["iodine"] == ("atomic number 53", "iodin")


@pytest.mark.parametrize(
    "line",
    [
        "garbage",
        "02958343 06 n 05 car 0 auto 0 012 @ 03791235 n 0000",
        "02958343 06 n 00 car 0 012 @ 03791235 n 0000",
        "02958343 06 n 01 c\xe4r 0 012 @ 03791235 n 0000",
        "",
    ],
)
def test_a_broken_line_is_named(wordnet: Path, line: str):
    with (wordnet / "data.adv").open("a", encoding="latin-1") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DataError, match=r"data\.adv:2: this is not a line of a WordNet data file"):
        read_wordnet(wordnet)


def test_a_missing_file_is_named(wordnet: Path):
    (wordnet / "data.adv").unlink()
    with pytest.raises(MissingResourceError, match=r"data\.adv"):
        read_wordnet(wordnet)


def test_reads_the_wordnet_of_debian():
    if not Path("/usr/share/wordnet/data.noun").exists():
        pytest.skip("Debian's package wordnet-base is not installed")
    synonyms = read_wordnet("/usr/share/wordnet")
    assert len(synonyms) > 60_000
    assert "metropolis" in synonyms["city"]
    assert "United States of America" in synonyms["america"]
    assert not {"a", "in", "he", "who", "be"} & set(synonyms)
    assert all("" not in text.split(" ") for texts in synonyms.values() for text in texts)


def write(folder: Path, text: str) -> Path:
    path = folder / "table.tsv"
    path.write_bytes(text.encode())
    return path


def test_reads_a_table(tmp_path: Path):
    path = write(tmp_path, "\ufeffGroß\twichtig\tvon Rang\r\n\r\nकार\tगाड़ी\ngroß\tweit\tGROSS\nallein\tallein\n")
    assert read_table(path) == {"groß": ("GROSS", "von Rang", "weit", "wichtig"), "कार": ("गाड़ी",)}


def test_how_accents_are_encoded_does_not_matter(tmp_path: Path):
    composed, decomposed = "caf\u00e9", "Cafe\u0301"
    path = write(tmp_path, f"{decomposed}\tbar\n{composed}\t{decomposed}\tkiosk\nzoo\tpark\n")
    thesaurus = Thesaurus(read_table(path))
    assert thesaurus.of(composed) == thesaurus.of(decomposed) == ("bar", "kiosk")
    assert Thesaurus(read_table(path), frozenset([composed])).of(decomposed) == ()


def test_a_turkish_capital_finds_its_small_letter(tmp_path: Path):
    thesaurus = Thesaurus(read_table(write(tmp_path, "iyi\tgüzel\nışık\tnur\nIsparta\til\n")))
    assert thesaurus.of("İyi") == thesaurus.of("İYİ".lower()) == ("güzel",)
    assert [thesaurus.of(word) for word in ("Işık", "IŞIK", "Isparta", "isik")] == [("nur",), ("nur",), ("il",), ()]
    assert Thesaurus(thesaurus.synonyms, frozenset(["ışık"])).of("Işık") == ()
    both = Thesaurus({"sinir": ("nerve",), "sınır": ("border",)})
    assert [both.of("SINIR", language) for language in ("tr", "az", "en", "")] == [("border",)] * 2 + [("nerve",)] * 2


def test_synonyms_are_lowercased_in_a_turkish_sentence_without_capitals(tmp_path: Path):
    thesaurus, rng = Thesaurus(read_table(write(tmp_path, "kent\tİstanbul Ilgaz\n"))), random.Random(0)
    for language, synonym in (("tr", ["istanbul", "ılgaz"]), ("de", ["istanbul", "ilgaz"])):
        assert thesaurus.draw_like("kent", rng, Sentence(("kent",), language=language)) == synonym


@pytest.mark.parametrize(("word", "language"), [("Isparta", "tr"), ("Işık", ""), ("Işık", "tr"), ("ABD", "")])
def test_an_inserted_synonym_does_not_take_the_capitals_of_its_word(word: str, language: str, tmp_path: Path):
    thesaurus = Thesaurus(read_table(write(tmp_path, "Isparta\til\nışık\til\nabd\til\n")))
    sentence = Sentence((word,), language=language)
    assert thesaurus.draw_like(word, random.Random(0), sentence, is_inserted=True) == ["il"]


def test_a_synonym_gets_a_turkish_capital(tmp_path: Path):
    thesaurus, rng = Thesaurus(read_table(write(tmp_path, "ev\tiş yeri\n"))), random.Random(0)
    sentences = [Sentence(("Ev",), language=language) for language in ("tr", "az-Latn", "TR", "tur", "tru", "de")]
    assert [thesaurus.draw_like("Ev", rng, each)[0] for each in sentences] == [*["İş"] * 4, "Iş", "Iş"]
    assert thesaurus.draw_like("EV", rng, sentences[0]) == ["İŞ", "YERİ"]


def test_synonyms_take_the_capitals_of_the_word_and_of_the_sentence():
    thesaurus, rng = Thesaurus({"news": ("fresh tidings",), "us": ("United States",)}), random.Random(0)
    mixed, small = Sentence(("NEWS", "of", "US")), Sentence(("news", "of", "us"))
    drawn = [thesaurus.draw_like(word, rng, mixed) for word in ("NEWS", "News", "news", "US", "us")]
    assert [" ".join(words) for words in drawn] == [
        "FRESH TIDINGS", "Fresh tidings", "fresh tidings", "United States", "United States"
    ]  # fmt: skip
    assert thesaurus.draw_like("us", rng, small) == ["united", "states"]


def test_stop_words_are_not_synonyms():
    thesaurus = Thesaurus({"car": ("THE", "auto"), "an": ("the",)}, frozenset(["the"]))
    assert thesaurus.of("car") == ("auto",)
    assert thesaurus.of("an") == ()


@pytest.mark.parametrize("method", ["synonym_replacement", "eda"])
@pytest.mark.parametrize(("languages", "table", "expected"), [
    (("", "en", "EN-gb"), "", ""), (("hi", "en", "de"), "", "there is text in de, hi"), (("de",), "table.tsv", ""),
])  # fmt: skip
def test_notes_that_wordnet_covers_only_english(
    method: str, languages: tuple[str, ...], table: str, expected: str, tmp_path: Path, capsys
):
    for part in PARTS_OF_SPEECH:
        (tmp_path / f"data.{part}").touch()
    write(tmp_path, "die\tb\n")
    settings = {"wordnet": str(tmp_path), "table": table and str(tmp_path / table)}
    sentences = [Sentence(("die",), language=language) for language in languages]
    registry.create("augment", method, settings).fit(sentences)
    warning = capsys.readouterr().err
    assert expected in warning
    assert bool(warning) == bool(expected)


def test_only_line_feeds_and_tabs_divide_a_table(tmp_path: Path):
    assert read_table(write(tmp_path, "a\u2028b\tc\u2029d\u3000e\n")) == {"a\u2028b": ("c\u2029d\u3000e",)}


def test_all_broken_lines_of_a_table_are_named(tmp_path: Path):
    path = write(tmp_path, "a\tb\nalone\n\tb\na\tb  c\na\t b\na\tb\t\na\tb\x0bc\n")
    with pytest.raises(DataError) as error:
        read_table(path)
    assert [issue.line for issue in error.value.issues] == [2, 3, 4, 5, 6, 7]
    assert "word<TAB>synonym" in str(error.value)


def test_refuses_a_table_in_latin_1(tmp_path: Path):
    path = tmp_path / "table.tsv"
    path.write_bytes("a\tb\ngroß\tweit\nweit\tgroß\n".encode("latin-1"))
    with pytest.raises(DataError) as error:
        read_table(path)
    assert [issue.line for issue in error.value.issues] == [2, 3]


def test_a_key_of_several_words_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match=r"table\.tsv:2: 'motor vehicle' is several words"):
        read_table(write(tmp_path, "a\tb\nmotor vehicle\tcar\n"))


def test_refuses_an_empty_table(tmp_path: Path):
    with pytest.raises(DataError, match="empty"):
        read_table(write(tmp_path, "\n\n"))
