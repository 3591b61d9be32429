"""CoNLL columns: layouts of real files, and what is recognised in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.sentence import Sentence
from nersery.io import read, write
from tests.io.conll_texts import ADA, labels, opened


@pytest.mark.parametrize(
    "text",
    [
        "Ada\tB-PER\nwrote\tO\n\n",
        "Ada B-PER\nwrote O",
        "Ada  B-PER  \nwrote    O\n",
        "\ufeffAda\tB-PER\r\nwrote\tO\r\n\r\n",
        "\n\n \t\nAda\tB-PER\nwrote\tO\n \n\t\n\n",
        "Ada NNP B-NP B-PER\nwrote VBD B-VP O\n",
        "1\tAda\tB-PER\t-\tme\n2\twrote\tO\t-\t-\n",
        "Ada\t0\t3\tB-PER\nwrote\t4\t9\tO\n",
        "B-PER\tAda\nO\twrote\n",
        "-DOCSTART- -X- O O\n\nAda NNP B-NP B-PER\nwrote VBD B-VP O\n",
        "-DOCSTART-\n\nAda B-PER\nwrote O\n",
        "-DOCSTART- O\nAda B-PER\nwrote O\n",
        "# id 7\tdomain=en\nAda\tB-PER\nwrote\tO\n",
        "# text = Ada wrote\n# more\nAda\tB-PER\nwrote\tO\n",
        "Ada\tS-PER\nwrote\tO\n",
        "Ada\tU-PER\nwrote\tO\n",
        "Ada\tI-PER\nwrote\tO\n",
    ],
)
def test_reads_equivalent_layouts_alike(path: Path, text: str) -> None:
    assert labels(path, text) == [ADA]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("Ada NNP x I-PER\n", "conll, IOB1, 4 columns: word 1, tag 4"),
        ("1\tAda\tB-PER\t-\t-\n2\twrote\tO\t-\t-\n", "conll, IOB2, 5 columns: word 2, tag 3"),
        ("Ada\tB-PER\nLovelace\tE-PER\n", "conll, BIOES, 2 columns: word 1, tag 2"),
        ("Ada\tB-PER\nLovelace\tL-PER\n", "conll, BILOU, 2 columns: word 1, tag 2"),
        (
            "1\tSchartau\tB-PER\tO\n" + "".join(f"{n}\tsagte\tO\tO\n" for n in range(2, 9)),
            "conll, IOB2, 4 columns: word 2, tag 3; columns 3 and 4 look like tags, 3 is read: --tag-column",
        ),
        (
            "Ada B-NP B-PER O\n" + "saw B-VP O O\n" * 9 + "Bo B-NP B-PER O\n" * 9 + "saw O O B-PER\n",
            "conll, IOB2, 4 columns: word 1, tag 3; columns 2, 3 and 4 look like tags, 3 is read: --tag-column",
        ),
        (
            "Ada B-NP B-PER\n" + "saw B-VP O\n" * 19,
            "conll, IOB2, 3 columns: word 1, tag 3; columns 2 and 3 look like tags, 3 is read: --tag-column",
        ),
        (
            "a B-NP B-PER\n" + "b B-NP O\n" * 4 + "c O O\n" * 15,
            "conll, IOB2, 3 columns: word 1, tag 3; columns 2 and 3 look like tags, 3 is read: --tag-column",
        ),
        ("", "conll, empty"),
        ("\n \n", "conll, empty"),
        ("# only a comment\n", "conll, empty"),
        ("-DOCSTART-\n", "conll, empty"),
    ],
)
def test_recognises_scheme_and_columns(path: Path, text: str, description: str) -> None:
    assert opened(path, text).description == description


@pytest.mark.parametrize("text", ["", " \n\n", "# nothing\n", "-DOCSTART- -X- O\n"])
def test_an_empty_file_is_an_empty_corpus(path: Path, text: str) -> None:
    assert labels(path, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "0\tAda\tB-PER\n1\twrote\tO\n\n0\tIn\tO\n1\tOslo\tB-LOC\n",
        "1\tAda\tB-PER\n2\twrote\tO\n\n3\tIn\tO\n4\tOslo\tB-LOC\n",
        "doc1 0 Ada B-PER\ndoc1 1 wrote O\n\ndoc1 0 In O\ndoc1 1 Oslo B-LOC\n",
    ],
)
def test_does_not_read_numbers_and_documents_as_words(path: Path, text: str) -> None:
    assert labels(path, text) == [ADA, (("In", "Oslo"), ((1, 2, "LOC"),))]


def test_reads_a_range_in_place_of_its_words(path: Path) -> None:
    assert labels(path, "1\tfin\tO\n2-3\tdel\tO\n4\tNilo\tB-LOC\n")[0][0] == ("fin", "del", "Nilo")
    assert labels(path, "1-1\tAda\tB-PER\n1-2\twrote\tO\n") == [ADA]


def test_a_file_without_entities(path: Path) -> None:
    assert labels(path, "a O\n\nb O\n") == [(("a",), ()), (("b",), ())]


def test_given_columns_and_scheme_override_detection(path: Path) -> None:
    text = "1 Ada B-PER O\n2 wrote O B-X\n"
    assert labels(path, text) == [(("Ada", "wrote"), ((1, 2, "X"),))]
    assert labels(path, text, tag_column=3, word_column=2) == [ADA]
    source = opened(path, text, scheme="bilou", tag_column=4)
    assert source.description == "conll, BILOU, 4 columns: word 2, tag 4"


@pytest.mark.parametrize("word", ["\u200b", "\u00a0", "\u3000", "\u2028", "\u200d"])
@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_word_of_nothing_but_strange_white_space_is_a_word(path: Path, word: str, separator: str) -> None:
    text = f"a{separator}O\n{word}{separator}B-X\nb{separator}O\n\n{word}{separator}O\n"
    assert labels(path, text) == [(("a", word, "b"), ((1, 2, "X"),)), ((word,), ())]


def test_does_not_read_words_with_a_hash_as_comments(path: Path) -> None:
    text = "# id t1\n#MH17\tB-X\n#down\tO\n\n#\tO\n\n#\t-LOC\n\n# sent_id = t2\n# a remark\n#\tO\n"
    corpus = list(opened(path, text, repair=["lost-prefix"]))
    assert [sentence.words for sentence in corpus] == [("#MH17", "#down"), ("#",), ("#",), ("#",)]
    assert [sentence.id for sentence in corpus] == ["t1", "train:2", "train:3", "t2"]
    assert corpus[3].comments == ("# sent_id = t2", "# a remark")


def test_an_id_that_looks_like_a_tag_is_an_id(path: Path) -> None:
    text = "# sent_id = B-12\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n"
    (sentence,) = opened(path, text)
    assert (sentence.id, sentence.words, sentence.labels) == ("B-12", ("EU", "rejects"), ((0, 1, "ORG"),))
    word = Sentence(("#", "a"), columns=(("id", "b"), ("=", "c")))
    write([word], path, separator=" ")
    assert [sentence.words for sentence in read(path)] == [("#", "a")]


def test_reads_a_file_of_only_hash_words(path: Path) -> None:
    text = "#MH17 O\n\n#Oslo B-LOC\n"
    assert labels(path, text) == [(("#MH17",), ()), (("#Oslo",), ((0, 1, "LOC"),))]


def test_reads_ids_from_comments(path: Path) -> None:
    text = "# id 3-a\tdomain=en\na\tO\n\n# newdoc id = d\nb\tO\n\n#sent_id = s 1\nc\tO\n\n# id = z\nd\tO\n\ne\tO\n"
    assert [sentence.id for sentence in opened(path, text)] == ["3-a", "train:2", "s 1", "z", "train:5"]


@pytest.mark.parametrize(
    ("comment", "id"),
    [
        ("# id: x", "x"),
        ("# id:x y", "x y"),
        ("# sent_id = my file.txt 7  ", "my file.txt 7"),
        ("# id = x y domain=en", "x y"),
        ("# id = x\tdomain en", "x"),
        ("# id x", "x"),
        ("# id x domain=en split=a=b ", "x"),
        ("# id card shown at the door", "train:1"),
        ("# id x a=b and more", "train:1"),
        ("# id =", "train:1"),
    ],
)
def test_reads_only_valid_ids_from_comments(path: Path, comment: str, id: str) -> None:
    assert [sentence.id for sentence in opened(path, f"{comment}\na\tO\n")] == [id]


def test_id_of_an_empty_sentence_does_not_pass_to_the_next(path: Path) -> None:
    (sentence,) = opened(path, "# id = 1\n\n# id = 2\n# a remark\nAda B-PER\n")
    assert sentence.id == "2"
    assert sentence.comments == ("# id = 1", "# id = 2", "# a remark")


def test_reads_a_sentence_of_two_thousand_words(path: Path) -> None:
    ((words, found),) = labels(path, "w\tO\n" * 1998 + "x\tB-X\ny\tI-X\n")
    assert (len(words), found) == (2000, ((1998, 2000, "X"),))


def test_words_that_look_like_tags_are_words(path: Path) -> None:
    assert labels(path, "O O\nB-PER O\n") == [(("O", "B-PER"), ())]
