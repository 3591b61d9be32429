"""CoNLL columns: what real files look like, what is broken in them, and that all of it comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nersery.core.errors import DataError
from nersery.core.sentence import Entity, Sentence
from nersery.core.tags import SCHEMES
from nersery.io import ReadOptions, Source, open_corpus, read, write
from tests.io.strategies import sentences

ADA = (("Ada", "wrote"), ((0, 1, "PER"),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.conll"


def opened(path: Path, text: str, **options: Any) -> Source:
    path.write_bytes(text.encode())
    return open_corpus(path, ReadOptions(**options))


def labels(path: Path, text: str, **options: Any) -> list[tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]]:
    return [(sentence.words, sentence.labels) for sentence in opened(path, text, **options)]


def problems(path: Path, text: str, **options: Any) -> list[str]:
    """What is wrong with a text, each problem with its line but without the file's name."""
    with pytest.raises(DataError) as caught:
        list(opened(path, text, **options))
    return [str(problem).removeprefix(str(path)) for problem in caught.value.issues]


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
def test_layouts_that_say_the_same(path: Path, text: str) -> None:
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
def test_what_is_recognised(path: Path, text: str, description: str) -> None:
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
def test_numbers_and_documents_are_no_words(path: Path, text: str) -> None:
    assert labels(path, text) == [ADA, (("In", "Oslo"), ((1, 2, "LOC"),))]


def test_a_range_of_words_is_reported_where_its_words_follow(path: Path) -> None:
    text = "1\tfin\tO\n2-3\tdel\tO\n2\tde\tO\n3\tel\tO\n4\tNilo\tB-LOC\n"
    for named in ({}, {"word_column": 2, "tag_column": 3}):
        (problem,) = problems(path, text, **named)
        assert (
            problem == ":2 (sentence train:1): 'del' is the words 2-3 together, which follow; expected each word once"
        )
    with pytest.raises(DataError, match=r"--repair extra-rows .*delete the lines of the words if"):
        read(path)
    source = opened(path, f"{text}\n1\tAda\tB-PER\n2\twrote\tO\n", repair="drop-sentence")
    assert [(sentence.words, sentence.labels) for sentence in source] == [ADA]
    assert [reject.reason for reject in source.rejects] == ["range of words"]


def test_ranges_are_left_out_by_name(path: Path) -> None:
    text = "1\tAda\tB-PER\n2-3\tdel\t_\n2\tde\tO\n3\tel\tO\n4\tNilo\t{}\n\n1-2\tal\tO\n1\ta\tO\n2\tel\tO\n2.1\tvan\tO\n"
    source = opened(path, text.format("B-LOC"), repair="extra-rows")
    assert [(sentence.words, sentence.labels) for sentence in source] == [
        (("Ada", "de", "el", "Nilo"), ((0, 1, "PER"), (3, 4, "LOC"))),
        (("a", "el"), ()),
    ]
    assert source.repaired == {"extra-rows": 3}
    (problem,) = problems(path, text.format("X-LOC"), repair="extra-rows")
    assert problem.startswith(":5 (sentence train:1): "), "the line in the file, with that of the range"
    (problem,) = problems(path, text.format("O").replace("4\tNilo", "4\t "), repair="extra-rows")
    assert problem.startswith(":5 (sentence train:1): ")


def test_spaces_as_words_are_left_out_by_name(path: Path) -> None:
    """As in KLUE, whose words are characters."""
    text = "A\tB-PS\n \tI-PS\nB\tI-PS\n\tO\nc\tO\n\n \tO\n"
    with pytest.raises(DataError, match=r"2 .*the word is ' ', expected at least one character") as caught:
        list(opened(path, text))
    assert "--repair blank-words" in caught.value.fix
    source = opened(path, text, repair=("blank-words", "drop-sentence"))
    assert [(s.words, s.labels) for s in source] == [(("A", "B", "c"), ((0, 2, "PS"),))]
    assert source.repaired == {"blank-words": 2, "drop-sentence": 1}
    with pytest.raises(DataError, match=r":5 .*'junk' cannot be read"):
        list(opened(path, text.replace("c\tO", "c\tjunk"), repair=("blank-words",)))


def test_a_word_that_is_not_in_the_text_is_reported(path: Path) -> None:
    text = "1\tAda\tB-PER\n1.1\twrites\tO\n2\tand\tO\n3\treads\tO\n3.1\tit\tO\n"
    assert problems(path, text) == [
        ":2 (sentence train:1): 'writes' with the number 1.1 is no word of the text, expected none",
        ":5 (sentence train:1): 'it' with the number 3.1 is no word of the text, expected none",
    ]
    assert labels(path, "4.1\tAda\tB-PER\n4.2\twrote\tO\n") == [ADA]  # sentence and word


def test_a_range_may_stand_for_its_words(path: Path) -> None:
    assert labels(path, "1\tfin\tO\n2-3\tdel\tO\n4\tNilo\tB-LOC\n")[0][0] == ("fin", "del", "Nilo")
    assert labels(path, "1-1\tAda\tB-PER\n1-2\twrote\tO\n") == [ADA]


def test_a_file_without_entities(path: Path) -> None:
    assert labels(path, "a O\n\nb O\n") == [(("a",), ()), (("b",), ())]


def test_named_columns_and_scheme_win_over_what_is_found(path: Path) -> None:
    text = "1 Ada B-PER O\n2 wrote O B-X\n"
    assert labels(path, text) == [(("Ada", "wrote"), ((1, 2, "X"),))]
    assert labels(path, text, tag_column=3, word_column=2) == [ADA]
    source = opened(path, text, scheme="bilou", tag_column=4)
    assert source.description == "conll, BILOU, 4 columns: word 2, tag 4"


def test_the_number_of_extra_columns_is_known(path: Path) -> None:
    assert opened(path, "1 Ada B-PER me\n", tag_column=3).extra_columns == 2
    assert opened(path, "Ada B-PER\n").extra_columns == 0
    assert opened(path, "").extra_columns is None


@pytest.mark.parametrize("word", ["\u200b", "\u00a0", "\u3000", "\u2028", "\u200d"])
@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_word_of_nothing_but_strange_white_space_is_a_word(path: Path, word: str, separator: str) -> None:
    text = f"a{separator}O\n{word}{separator}B-X\nb{separator}O\n\n{word}{separator}O\n"
    assert labels(path, text) == [(("a", word, "b"), ((1, 2, "X"),)), ((word,), ())]


def test_words_that_begin_with_a_hash_are_no_comments(path: Path) -> None:
    text = "# id t1\n#MH17\tB-X\n#down\tO\n\n#\tO\n\n#\t-LOC\n\n# sent_id = t2\n# a remark\n#\tO\n"
    corpus = list(opened(path, text, repair=["lost-prefix"]))
    assert [sentence.words for sentence in corpus] == [("#MH17", "#down"), ("#",), ("#",), ("#",)]
    assert [sentence.id for sentence in corpus] == ["t1", "train:2", "train:3", "t2"]
    assert corpus[3].comments == ("# sent_id = t2", "# a remark")


def test_a_hash_word_with_too_many_columns_is_reported(path: Path) -> None:
    (problem,) = problems(path, "Ada\tB-PER\nwrote\tO\n\n#MH17\tB-MISC\t\ncrashed\tO\n")
    assert problem.startswith(":4 (sentence train:2): the number of columns is 3, expected 2")


def test_an_id_that_looks_like_a_tag_is_an_id(path: Path) -> None:
    text = "# sent_id = B-12\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n"
    (sentence,) = opened(path, text)
    assert (sentence.id, sentence.words, sentence.labels) == ("B-12", ("EU", "rejects"), ((0, 1, "ORG"),))
    word = Sentence(("#", "a"), columns=(("id", "b"), ("=", "c")))
    write([word], path, separator=" ")
    assert [sentence.words for sentence in read(path)] == [("#", "a")]


def test_a_file_of_hash_words_alone(path: Path) -> None:
    text = "#MH17 O\n\n#Oslo B-LOC\n"
    assert labels(path, text) == [(("#MH17",), ()), (("#Oslo",), ((0, 1, "LOC"),))]


def test_extra_columns_and_comments_go_out_as_they_came_in(path: Path) -> None:
    text = "-DOCSTART- -X- O\n\n# a\nAda\tNNP\tB-PER\nwrote\t\tO\n\n-DOCSTART-\n\nOslo\tNNP\tB-LOC\n\n"
    first, _ = corpus = list(opened(path, text))
    assert first.columns == (("NNP", ""),)
    assert first.comments == ("-DOCSTART- -X- O", "# a")
    write(corpus, path)
    assert path.read_text("utf-8") == text


def test_ids(path: Path) -> None:
    text = "# id 3-a\tdomain=en\na\tO\n\n# newdoc id = d\nb\tO\n\n#sent_id = s 1\nc\tO\n\n# id = z\nd\tO\n\ne\tO\n"
    assert [sentence.id for sentence in opened(path, text)] == ["3-a", "train:2", "s", "z", "train:5"]


@pytest.mark.parametrize(
    ("comment", "id"),
    [
        ("# id: x", "x"),
        ("# id:x y", "x"),
        ("# id x", "x"),
        ("# id x domain=en split=a=b ", "x"),
        ("# id card shown at the door", "train:1"),
        ("# id x a=b and more", "train:1"),
        ("# id =", "train:1"),
    ],
)
def test_what_a_comment_says_of_ids_may_be_no_id(path: Path, comment: str, id: str) -> None:
    assert [sentence.id for sentence in opened(path, f"{comment}\na\tO\n")] == [id]


def test_an_id_of_a_sentence_without_words_is_not_that_of_the_next(path: Path) -> None:
    (sentence,) = opened(path, "# id = 1\n\n# id = 2\n# a remark\nAda B-PER\n")
    assert sentence.id == "2"
    assert sentence.comments == ("# id = 1", "# id = 2", "# a remark")


def test_clashing_ids_name_both_lines(path: Path) -> None:
    text = "# id a\nx\tO\n\n# id train:3\ny\tO\n\nz\tO\n\n# id a\nv\tO\n"
    assert problems(path, text) == [
        ':7 (sentence train:3): the id "train:3" stands in line 5 already; expected another',
        ':10 (sentence a): the id "a" stands in line 2 already; expected another',
    ]
    assert [words for words, _ in labels(path, text, repair=["drop-sentence"])] == [("x",), ("y",)]


def test_all_problems_of_a_file_come_together_with_line_and_sentence(path: Path) -> None:
    text = "a O\nb B_X\n\nc O O\nd O\n\ne -X\nf -\n\ng O\nh I-X\n"
    found = problems(path, text)
    places = [problem.partition("): ")[0] for problem in found]
    assert places == [f":{line} (sentence train:{number}" for line, number in _PLACES]
    assert "'B_X'" in found[0]
    assert "the number of columns is 3, expected 2 (word 1, tag 2): 'c', 'O', 'O'" in found[1]
    with pytest.raises(DataError) as caught:
        read(path)
    for name in ("underscore", "ragged-lines", "lost-prefix", "bare-dash", "orphan-inside", "drop-sentence"):
        assert f"--repair {name} " in caught.value.fix


_PLACES = [(2, 1), (4, 2), (7, 3), (8, 3), (11, 4)]


def test_a_wrong_column_count_on_line_17(path: Path) -> None:
    lines = ["word\tO"] * 30
    lines[16] = "word"
    (problem,) = problems(path, "\n".join(lines))
    assert problem.startswith(":17 ")
    assert "the number of columns is 1, expected 2" in problem


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\tO", "the word is '', expected at least one character"),
        (" \tO", "the word is ' ', expected at least one character"),
        ("word \tO", "the word 'word ' has a space at an end"),
        ("wo\rrd\tO", "there is a carriage return inside the line"),
    ],
)
def test_words_that_cannot_be(path: Path, line: str, message: str) -> None:
    (problem,) = problems(path, f"a\tO\n{line}\nb\tO\n")
    assert problem.startswith(":2 ")
    assert message in problem


@pytest.mark.parametrize(
    "text",
    [
        "Ada B-PER\rwrote O\r\rBob B-PER\r",
        "Ada\tB-PER\rwrote\tO\r\rBob\tB-PER\r",
        "# id 1\rAda B-PER\rwrote O\r",
        "# a remark\r\rAda B-PER\r",
        "Ada B-PER x\rwrote O x\r",
        "Ada B-PER\nwrote O\ry\n",
    ],
)
def test_lines_that_end_at_carriage_returns_alone_are_no_columns(path: Path, text: str) -> None:
    with pytest.raises(DataError, match="carriage return") as caught:
        list(opened(path, text))
    assert r"convert the line ends, e.g. with tr '\r' '\n'" in str(caught.value)
    source = opened(path, f"a O\n\n{text}", repair="drop-sentence", tag_column=2)
    assert [sentence.words for sentence in source][:1] == [("a",)]
    assert len(source.rejects) == 1


def test_a_sentence_that_cannot_be_built_never_vanishes(path: Path) -> None:
    """UTF-7 can write half a surrogate pair, which no sentence can hold."""
    text = "# id +2AA-\na O +2AA-\n\nb O x\n"
    (problem,) = problems(path, text, encoding="utf-7", tag_column=2)
    assert problem.startswith(r":2 (sentence \ud800): ")
    assert "lone surrogate" in problem
    source = opened(path, text, encoding="utf-7", tag_column=2, repair="drop-sentence")
    assert [sentence.words for sentence in source] == [("b",)]
    (reject,) = source.rejects
    assert reject.sentence is not None
    assert (reject.reason, reject.sentence.id, reject.sentence.words) == ("invalid sentence", "?", ("a O ?",))


def test_no_sentence_comes_after_the_first_problem(path: Path) -> None:
    stream = iter(opened(path, "a\tO\n\nb\tI-X\n\nc\tO\n\nd\tB-X\n"))
    assert next(stream).words == ("a",)
    with pytest.raises(DataError):
        next(stream)


def test_problems_are_found_by_reading_everything(path: Path) -> None:
    source = opened(path, "a\tO\n\nb\tI-X\n\nd\tB-X\n")
    with pytest.raises(DataError, match="continues an entity"):
        list(source)


def test_repairs_are_counted_and_dropped_sentences_are_kept_as_rejects(path: Path) -> None:
    text = "a O\nb -X\nc -X\n\nd -\ne B-X\n\nf I-\ng O\n\nh O\ni\n"
    source = opened(path, text, repair=("drop-sentence", "bare-dash", "lost-prefix"))
    for _ in range(2):
        assert [sentence.labels for sentence in source] == [((1, 3, "X"),), ((1, 2, "X"),)]
        assert source.repaired == {"lost-prefix": 2, "bare-dash": 1, "drop-sentence": 2}
        tags, columns = source.rejects
    assert tags.sentence is not None
    assert columns.sentence is not None
    assert (tags.reason, tags.sentence.id, tags.sentence.words) == ("unknown tag", "train:3", ("f", "g"))
    assert tags.sentence.columns == (("I-", "O"),)
    assert f"{path}:8 (sentence train:3): the tag 'I-'" in tags.sentence.comments[0]
    assert (columns.reason, columns.sentence.words) == ("wrong number of columns", ("h O", "i"))


def test_a_sentence_that_is_dropped_counts_for_no_other_repair(path: Path) -> None:
    source = opened(path, "a -\nb I-\nc O\n", repair=("bare-dash", "drop-sentence"))
    assert list(source) == []
    assert source.repaired == {"drop-sentence": 1}


def test_lines_of_another_width_and_spaces_around_words(path: Path) -> None:
    text = (
        "a\tO\nb \tB-X\n\n# _ _ O\nc _ _ B-X\n\n# id 4 domain=ru\nd _ _ I-X \n\n"
        "# text = S-Bahn\ne\tO\n\n# to O\nf\tO \n"
    )
    source = opened(path, text, repair=("ragged-lines", "outer-space", "orphan-inside"))
    assert [(sentence.words, sentence.labels) for sentence in source] == [
        (("a", "b"), ((1, 2, "X"),)),
        (("#", "c"), ((1, 2, "X"),)),
        (("d",), ((0, 1, "X"),)),
        (("e",), ()),
        (("f",), ()),
    ]
    assert source.repaired == {"ragged-lines": 3, "outer-space": 2, "orphan-inside": 1}


def test_a_repair_that_is_not_named_is_not_made(path: Path) -> None:
    path.write_text("a x O\nb B-X\nc y O\n\n d \tz\tO\n", "utf-8")
    with pytest.raises(DataError, match="the number of columns is 2, expected 3"):
        read(path, repair=["outer-space"])


def test_a_hopeless_file_is_not_read_to_its_end(path: Path) -> None:
    found = problems(path, "a\tO\n\n" * 600 + "a\tx\n\n" * 10_200)
    assert len(found) == 10_001
    assert "reading stopped after 10,000 issues" in found[-1]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a b c\nd e f\n", {}, "no column looks like tags .*'a', 'b', 'c'"),
        ("word\n", {}, "no column looks like tags"),
        ("Ada B-PER\nran 0\nto 0\nher 0\n. 0\n", {}, "the letter O, not the digit 0"),
        ("a O\n", {"tag_column": 3}, "no tag column 3: its lines have 2 columns"),
        ("a O\n", {"word_column": 5}, "no word column 5"),
    ],
)
def test_no_columns_to_read(path: Path, text: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(path, text, **options)


def test_a_small_file_with_broken_tags_is_still_recognised(path: Path) -> None:
    assert labels(path, "a -X\nb O\n", repair=["lost-prefix"]) == [(("a", "b"), ((0, 1, "X"),))]
    assert "'X-PER'" in problems(path, "a X-PER\nb O\n")[0]


def test_two_thousand_words_with_an_entity_at_the_end(path: Path) -> None:
    ((words, found),) = labels(path, "w\tO\n" * 1998 + "x\tB-X\ny\tI-X\n")
    assert (len(words), found) == (2000, ((1998, 2000, "X"),))


@pytest.mark.parametrize("separator", ["\t", " "])
@given(data=st.data(), scheme=st.sampled_from(list(SCHEMES)))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, separator: str, data: st.DataObject, scheme: str) -> None:
    columns = data.draw(st.integers(0, 2))
    kind = sentences(forbidden=" " if separator == " " else "", columns=columns)
    written = data.draw(st.lists(kind, max_size=5))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write(written, path, scheme=scheme, separator=separator)
    back = read(path, word_column=1 if columns else None)
    assert [replace(sentence, id="") for sentence in back] == written


@given(
    st.lists(st.sampled_from(["# a", "#", "# sent_id = 5", "# x\ty", "-DOCSTART- -X- O", "-DOCSTART-", "# O"])),
    st.sampled_from(["-DOCSTART-", "#", "# id x", "a"]),
)
@example(["-DOCSTART-"], "-DOCSTART-")
def test_comments_and_words_that_look_like_them_come_back(
    tmp_path_factory: pytest.TempPathFactory, comments: Sequence[str], word: str
) -> None:
    sentence = Sentence((word, "x"), (Entity(1, 2, "X"),), comments=tuple(comments))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write([sentence, Sentence((word,))], path)
    first, second = read(path)
    assert (first.words, first.comments, first.labels) == ((word, "x"), tuple(comments), ((1, 2, "X"),))
    assert (second.words, second.comments) == ((word,), ())


NESTED = (
    "1\tDie\tO\tO\n2\tUni\tB-ORG\tO\n3\tKiel\tI-ORG\tB-ORG\n4\tgab\tO\tO\n\n"
    "1\tDer\tO\tO\n2\tTSV\tB-ORG\tO\n3\tAda\tI-ORG\tO\n4\ttrat\tO\tO\n5\tan\tO\tO\n6\t.\tO\tO\n7\t!\tO\tO\n\n"
)


@pytest.mark.parametrize("separator", ["\t", " "])
def test_the_inner_level_that_was_written_as_the_tag_is_read_as_one(path: Path, separator: str) -> None:
    inner = list(opened(path, NESTED, tag_column=4))
    write(inner, path, separator=separator)
    source = open_corpus(path)
    assert "tag 4; columns 3 and 4 look like tags, 4 is read" in source.description
    assert list(source) == inner
    assert path.read_text("utf-8").count("# nersery: the last column is the tag\n") == 1


def test_predictions_without_entities_are_not_the_extra_columns(path: Path) -> None:
    predicted = [sentence.with_entities(()) for sentence in opened(path, NESTED, tag_column=4)]
    write(predicted, path)
    assert [sentence.labels for sentence in read(path)] == [(), ()]
    assert list(read(path)) == predicted
    assert read(path, tag_column=3)[0].labels == ((1, 3, "ORG"),), "a named column is read all the same"


def test_what_is_read_right_anyway_is_not_marked(path: Path) -> None:
    outer = opened(path, NESTED)
    written = path.with_name("outer.conll")
    write(outer, written)
    assert "nersery" not in written.read_text("utf-8")
    text = "U-Bahn\tU-Bahn\tB-NP\tO\nhalt\thalten\tB-VP\tO\n\nEU\tEU\tB-NP\tB-ORG\n\n"
    write(opened(path, text), path)
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("In\tO\nOslo\tB-LOC\n", 2),
        ("-DOCSTART-\tO\n\nIn\tO\nOslo\tB-LOC\n", 2),
        ("# id = 7\nIn\tO\nOslo\tB-LOC\n", 2),
        ("\nIn\tO\nOslo\tB-LOC\n", 2),
    ],
)
def test_the_byte_order_mark_of_a_joined_file_is_reported(path: Path, second: str, sentence: int) -> None:
    text = f"\ufeffAda\tB-PER\nwrote\tO\n\n\ufeff{second}\nBo\tB-PER\n\n\ufeff"
    found = problems(path, text)
    assert found[0].startswith(f":4 (sentence train:{sentence}): there is a byte order mark (U+FEFF) inside the file")
    with pytest.raises(DataError, match="--repair byte-order-mark"):
        read(path)
    source = opened(path, text, repair="byte-order-mark")
    assert [(s.words, s.labels) for s in source] == [
        ADA,
        (("In", "Oslo"), ((1, 2, "LOC"),)),
        (("Bo",), ((0, 1, "PER"),)),
    ]
    assert source.repaired == {"byte-order-mark": 1}


def test_a_word_may_begin_with_a_byte_order_mark(path: Path) -> None:
    corpus = [Sentence(("\ufeffIn", "\ufeff"), id="train:1"), Sentence(("\ufeff",), id="train:2", comments=("# a",))]
    write(corpus, path)
    assert list(read(path)) == corpus
    assert list(read(path, repair="byte-order-mark")) == corpus


def test_languages_in_front_of_all_words_are_reported_or_removed(path: Path) -> None:
    text = "en:Oslo\tB-LOC\nen::\tO\nen:re:x\tO\n\nzh-yue:北京\tB-LOC\n"
    source = opened(path, text)
    note = '; words begin with a language, as in "en:Oslo": --repair language-prefix'
    assert source.description.endswith(f"word 1, tag 2{note}")
    assert [sentence.words for sentence in source] == [("en:Oslo", "en::", "en:re:x"), ("zh-yue:北京",)]
    source = opened(path, text, repair="language-prefix")
    assert source.description.endswith("word 1, tag 2")
    assert [sentence.words for sentence in source] == [("Oslo", ":", "re:x"), ("北京",)]
    assert source.repaired == {"language-prefix": 4}
    with pytest.raises(DataError, match=r":2 .*the word is '', expected at least one character"):
        list(opened(path, "en:Oslo\tB-LOC\nen:\tO\n", repair="language-prefix"))


def test_the_numbers_behind_all_characters_are_reported_or_removed(path: Path) -> None:
    """As in Weibo, where they are the place of a character in its word."""
    text = "#0\tO\n西0\tB-ORG\n山1\tI-ORG\n\n80\tO\nx10\tO\n"
    note = 'word 1, tag 2; words end with a number, as in "西0": --repair word-digit'
    assert opened(path, text).description.endswith(note)
    source = opened(path, text, repair="word-digit")
    assert source.description.endswith("word 1, tag 2")
    assert [sentence.words for sentence in source] == [("#", "西", "山"), ("8", "x")]
    assert source.repaired == {"word-digit": 5}
    for other in ("A4\tO\nOslo\tB-LOC\n", "4\tO\n80\tB-N\n"):
        assert "number" not in opened(path, other).description
        assert opened(path, other, repair="word-digit").repaired == {}


@pytest.mark.parametrize("text", ["en:Oslo\tB-LOC\nin\tO\n", "11:30\tO\n12:00\tB-T\n", "EN:Oslo\tB-LOC\n", ""])
def test_where_some_word_has_no_language_none_is_removed(path: Path, text: str) -> None:
    source = opened(path, text, repair="language-prefix")
    assert "language" not in opened(path, text).description
    assert [word for sentence in source for word in sentence.words] == [row.split("\t")[0] for row in text.splitlines()]
    assert not source.repaired


def test_words_that_look_like_tags_are_words(path: Path) -> None:
    assert labels(path, "O O\nB-PER O\n") == [(("O", "B-PER"), ())]


def test_a_header_is_named_as_one(path: Path) -> None:
    text = "Token\tTag\nAda\tB-PER\nwrote\tO\n\n"
    with pytest.raises(DataError, match=r"1.*looks like the header of a table.*'Token', 'Tag'") as caught:
        list(opened(path, text))
    assert "delete the line" in str(caught.value)
    assert "bare-type" not in str(caught.value)
    assert labels(path, "token\tO\ntag\tB-X\n\n") == [(("token", "tag"), ((1, 2, "X"),))]


def test_comments_behind_a_header_are_none_of_its_issues(path: Path) -> None:
    """As in the data of HIPE."""
    header, rest = "TOKEN\tNE-COARSE-LIT\tMISC\n", "# hipe:date = 1860\nRIGA\tB-LOC\t_\n,\tO\t_\n\nOct\tO\t_\n"
    with pytest.raises(DataError, match="looks like the header of a table") as caught:
        list(opened(path, header + rest))
    assert [issue.line for issue in caught.value.issues] == [1]
    assert labels(path, rest) == [(("RIGA", ","), ((0, 1, "LOC"),)), (("Oct",), ())]


def test_tags_whose_letter_is_misplaced_or_small_are_read_after_a_repair(path: Path) -> None:
    for text, repair in (
        ("Ada\tPER-B\nL.\tPER-I\nran\tO\n", "letter-behind"),
        ("Ada\tb-PER\nL.\ti-PER\nran\to\n", "small-letter"),
    ):
        with pytest.raises(DataError, match=repair):
            list(opened(path, text))
        with pytest.raises(DataError, match=f"--repair {repair}"):
            list(opened(path, text, tag_column=2))
        assert labels(path, text, tag_column=2, repair=[repair]) == [(("Ada", "L.", "ran"), ((0, 2, "PER"),))]
