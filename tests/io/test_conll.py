"""CoNLL columns: what real files look like, what is broken in them, and that all of it comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nersery.data import Entity, Sentence
from nersery.errors import DataError
from nersery.io import ReadOptions, open_corpus, read, write, writer
from nersery.tags import SCHEMES
from tests.io.strategies import sentences


Labels = list[tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.conll"


def labels(path: Path, text: str, **options: Any) -> Labels:
    """What is read from a text."""
    path.write_bytes(text.encode())
    return [(sentence.words, sentence.labels) for sentence in read(path, **options)]


def problems(path: Path, text: str, **options: Any) -> list[str]:
    """What is wrong with a text, each with its line."""
    path.write_bytes(text.encode())
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return [str(problem).removeprefix(str(path)) for problem in caught.value.problems]


ADA = (("Ada", "wrote"), ((0, 1, "PER"),))


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
def test_layouts_that_say_the_same(corpus, text) -> None:
    assert labels(corpus(text)) == [ADA]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("Ada NNP x I-PER\n", "conll, IOB1, 4 columns: word 1, tag 4"),
        ("1\tAda\tB-PER\t-\t-\n2\twrote\tO\t-\t-\n", "conll, IOB2, 5 columns: word 2, tag 3"),
        ("Ada\tB-PER\nLovelace\tE-PER\n", "conll, BIOES, 2 columns: word 1, tag 2"),
        ("Ada\tB-PER\nLovelace\tL-PER\n", "conll, BILOU, 2 columns: word 1, tag 2"),
        ("", "conll, empty"),
        ("\n \n", "conll, empty"),
        ("# only a comment\n", "conll, empty"),
    ],
)
def test_what_is_recognised(corpus, text, description) -> None:
    assert open_corpus(corpus(text)).description == description


def test_an_empty_file_is_an_empty_corpus(corpus) -> None:
    assert len(read(corpus(""))) == 0


def test_named_columns_and_scheme_win_over_what_is_found(corpus) -> None:
    path = corpus("1 Ada B-PER O\n2 wrote O B-X\n")
    assert labels(path) == [(("Ada", "wrote"), ((1, 2, "X"),))]
    assert labels(path, tag_column=3, word_column=2) == [ADA]
    assert (
        open_corpus(path, ReadOptions(scheme="bilou")).description == "conll, BILOU, 4 columns: word 2, tag 4"
    )


@pytest.mark.parametrize("word", ["\u200b", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\x0b", "\u200d"])
@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_word_of_nothing_but_strange_white_space_is_a_word(corpus, word, separator) -> None:
    path = corpus(f"a{separator}O\n{word}{separator}B-X\nb{separator}O\n\n{word}{separator}O\n")
    assert labels(path) == [(("a", word, "b"), ((1, 2, "X"),)), ((word,), ())]


def test_words_that_begin_with_a_hash_are_no_comments(corpus) -> None:
    path = corpus("# id t1\n#MH17\tB-X\n#down\tO\n\n#\tO\n\n#\t-LOC\n\n# sent_id = t2\n# a remark\n#\tO\n")
    corpus_ = read(path, repair=["lost-prefix"])
    assert [sentence.words for sentence in corpus_] == [("#MH17", "#down"), ("#",), ("#",), ("#",)]
    assert [sentence.id for sentence in corpus_] == ["t1", "train:2", "train:3", "t2"]
    assert corpus_[3].comments == ("# sent_id = t2", "# a remark")


def test_a_file_of_hash_words_alone(corpus) -> None:
    assert labels(corpus("#MH17 O\n\n#Oslo B-LOC\n")) == [(("#MH17",), ()), (("#Oslo",), ((0, 1, "LOC"),))]


def test_extra_columns_and_comments_go_out_as_they_came_in(corpus, tmp_path) -> None:
    text = "-DOCSTART- -X- O\n\n# a\nAda\tNNP\tB-PER\nwrote\t\tO\n\n-DOCSTART-\n\nOslo\tNNP\tB-LOC\n\n"
    path, copy = corpus(text), tmp_path / "copy.conll"
    sentence = read(path)[0]
    assert sentence.columns == (("NNP", ""),)
    assert sentence.comments == ("-DOCSTART- -X- O", "# a")
    write(read(path), copy)
    assert copy.read_text("utf-8") == text


def test_ids(corpus) -> None:
    path = corpus(
        "# id 3-a\tdomain=en\na\tO\n\n# newdoc id = d\nb\tO\n\n#sent_id = s 1\nc\tO\n\n# id = z\nd\tO\n"
    )
    assert [sentence.id for sentence in read(path)] == ["3-a", "train:2", "s", "z"]


def test_clashing_ids_name_both_lines(corpus) -> None:
    path = corpus("# id a\nx\tO\n\n# id train:3\ny\tO\n\nz\tO\n\n# id a\nv\tO\n")
    assert problems(path) == [
        ':7 (sentence train:3): the id "train:3" stands in line 5 already; expected another',
        ':10 (sentence a): the id "a" stands in line 2 already; expected another',
    ]
    assert [sentence.words for sentence in read(path, repair=["drop-sentence"])] == [("x",), ("y",)]


def test_all_problems_of_a_file_come_together_with_line_and_sentence(corpus) -> None:
    path = corpus("a O\nb B_X\n\nc O O\nd O\n\ne -X\nf -\n\ng O\nh I-X\n")
    found = problems(path)
    assert [problem.split(":")[1].split(")")[0] for problem in found] == [
        "2 (sentence train",
        "4 (sentence train",
        "7 (sentence train",
        "8 (sentence train",
        "11 (sentence train",
    ]
    assert "'B_X'" in found[0]
    assert (
        "(sentence train:2): the number of columns is 3, expected 2 (word 1, tag 2): 'c', 'O', 'O'"
        in found[1]
    )
    with pytest.raises(DataError) as caught:
        read(path)
    for name in ("underscore", "ragged-lines", "lost-prefix", "bare-dash", "orphan-inside", "drop-sentence"):
        assert f"--repair {name}" in caught.value.fix


def test_a_wrong_column_count_on_line_17(corpus) -> None:
    lines = ["word\tO"] * 30
    lines[16] = "word"
    (problem,) = problems(corpus("\n".join(lines)))
    assert problem.startswith(":17 ")
    assert "the number of columns is 1, expected 2" in problem


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\tO", "the word is '', expected at least one character"),
        (" \tO", "the word is ' ', expected at least one character"),
        ("word \tO", "the word 'word ' has a space at an end"),
        ("wo\rrd\tO", "has a carriage return in it"),
    ],
)
def test_words_that_cannot_be(corpus, line, message) -> None:
    (problem,) = problems(corpus(f"a\tO\n{line}\nb\tO\n"))
    assert problem.startswith(":2 ")
    assert message in problem


def test_nothing_comes_after_the_first_problem_but_sound_sentences_before_it_do(corpus) -> None:
    stream = iter(open_corpus(corpus("a\tO\n\nb\tI-X\n\nc\tO\n\nd\tB-X\n")))
    assert next(stream).words == ("a",)
    with pytest.raises(DataError):
        next(stream)


def test_check_finds_problems_before_any_work_is_done(corpus) -> None:
    with pytest.raises(DataError, match="continues an entity"):
        open_corpus(corpus("a\tO\n\nb\tI-X\n\nd\tB-X\n")).check()


def test_repairs_are_counted_and_dropped_sentences_are_kept_as_rejects(corpus) -> None:
    path = corpus("a O\nb -X\nc -X\n\nd -\ne B-X\n\nf I-\ng O\n\nh O\ni\n")
    source = open_corpus(path, ReadOptions(repair=("drop-sentence", "bare-dash", "lost-prefix")))
    for _ in range(2):
        assert [sentence.labels for sentence in source] == [((1, 3, "X"),), ((1, 2, "X"),)]
        assert source.repaired == {"lost-prefix": 2, "bare-dash": 1, "drop-sentence": 2}
        tags, columns = source.rejects
    assert (tags.reason, tags.sentence.id, tags.sentence.words) == ("unknown tag", "train:3", ("f", "g"))
    assert tags.sentence.columns == (("I-", "O"),)
    assert f"{path}:8 (sentence train:3): the tag 'I-'" in tags.sentence.comments[0]
    assert (columns.reason, columns.sentence.words) == ("wrong number of columns", ("h O", "i"))


def test_a_sentence_that_is_dropped_counts_for_no_other_repair(corpus) -> None:
    source = open_corpus(corpus("a -\nb I-\nc O\n"), ReadOptions(repair=("bare-dash", "drop-sentence")))
    assert list(source) == []
    assert source.repaired == {"drop-sentence": 1}


def test_lines_of_another_width_and_spaces_around_words(corpus) -> None:
    text = "a\tO\nb \tB-X\n\n# _ _ O\nc _ _ B-X\n\n# id 4 domain=ru\nd _ _ I-X \n\ne\tO\n\nf\tO \n"
    source = open_corpus(corpus(text), ReadOptions(repair=("ragged-lines", "outer-space", "orphan-inside")))
    found = [(sentence.words, sentence.labels) for sentence in source]
    assert found == [
        (("a", "b"), ((1, 2, "X"),)),
        (("#", "c"), ((1, 2, "X"),)),
        (("d",), ((0, 1, "X"),)),
        (("e",), ()),
        (("f",), ()),
    ]
    assert source.repaired == {"ragged-lines": 3, "outer-space": 2, "orphan-inside": 1}


def test_a_hopeless_file_is_not_read_to_its_end(corpus) -> None:
    path = corpus("a\tO\n\n" * 600 + "a\tx\n\n" * 10_200)
    with pytest.raises(DataError) as caught:
        read(path, tag_column=2)
    assert len(caught.value.problems) == 10_001
    assert "reading stopped" in caught.value.problems[-1].message


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a b c\nd e f\n", {}, "no column looks like tags .*'a', 'b', 'c'"),
        ("word\n", {}, "no column looks like tags"),
        ("a O\n", {"tag_column": 3}, "no tag column 3: its lines have 2 columns"),
        ("a O\n", {"word_column": 5}, "no word column 5"),
    ],
)
def test_no_columns_to_read(corpus, text, options, message) -> None:
    with pytest.raises(DataError, match=message):
        read(corpus(text), **options)


def test_a_small_file_with_broken_tags_is_still_recognised(corpus) -> None:
    assert labels(corpus("a -X\nb O\n"), repair=["lost-prefix"]) == [(("a", "b"), ((0, 1, "X"),))]
    assert "'X-PER'" in problems(corpus("a X-PER\nb O\n"))[0]


def test_two_thousand_words_with_an_entity_at_the_end(corpus) -> None:
    (found,) = labels(corpus("w\tO\n" * 1998 + "x\tB-X\ny\tI-X\n"))
    assert (len(found[0]), found[1]) == (2000, ((1998, 2000, "X"),))


@pytest.mark.parametrize("separator", ["\t", " "])
@given(data=st.data(), scheme=st.sampled_from(list(SCHEMES)))
def test_round_trip(tmp_path_factory, separator, data, scheme) -> None:
    columns = data.draw(st.integers(0, 2))
    kind = sentences(forbidden=" " if separator == " " else "", columns=columns)
    written = data.draw(st.lists(kind, max_size=5))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write(written, path, scheme=scheme, separator=separator)
    back = [replace(sentence, id="") for sentence in read(path, word_column=1 if columns else None)]
    assert back == written


@given(
    st.lists(
        st.sampled_from(["# a", "#", "# sent_id = 5", "# x\ty", "-DOCSTART- -X- O", "-DOCSTART-", "# O"])
    ),
    st.sampled_from(["-DOCSTART-", "#", "# id x", "a"]),
)
@example(["-DOCSTART-"], "-DOCSTART-")
def test_comments_and_words_that_look_like_them_come_back(tmp_path_factory, comments, word) -> None:
    sentence = Sentence((word, "x"), (Entity(1, 2, "X"),), comments=tuple(comments))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write([sentence, Sentence((word,))], path)
    first, second = read(path)
    assert (first.words, first.comments, first.labels) == ((word, "x"), tuple(comments), ((1, 2, "X"),))
    assert (second.words, second.comments) == ((word,), ())


@pytest.mark.parametrize(
    ("sentence", "separator", "message"),
    [
        (Sentence(("New York",)), " ", "'New York' cannot be a value between spaces"),
        (Sentence(("a",), (Entity(0, 1, "creative work"),)), " ", "'creative work'"),
        (Sentence(("a",), columns=(("",),)), " ", "'' cannot be a value between spaces"),
        (Sentence(("a",), columns=(("x\ty",),)), " ", r"'x\\ty' cannot"),
        (Sentence(("a",), columns=(("x\ny",),)), "\t", r"'x\\ny' cannot be a value between tabs"),
        (Sentence(("a",), comments=("no hash",)), "\t", "comment 'no hash'"),
        (Sentence(("a",), comments=("# a\nb",)), "\t", "comment"),
        (Sentence(("a",), comments=("#a\tO",)), "\t", "would not be read as a comment"),
    ],
)
def test_what_columns_cannot_hold_is_refused(sentence, separator, message) -> None:
    with pytest.raises(DataError, match=message) as caught:
        writer("conll", separator=separator).encode(replace(sentence, id="s7"))
    assert caught.value.problems[0].sentence == "s7"


def test_differing_numbers_of_extra_columns_are_refused() -> None:
    encoder = writer("conll")
    encoder.encode(Sentence(("a",), columns=(("x",),)))
    with pytest.raises(
        DataError, match="sentence 2: .*it has 0 extra columns, the sentences before it have 1"
    ):
        encoder.encode(Sentence(("b",), id="2"))
    with pytest.raises(DataError, match="it has 0 extra columns"):
        writer("conll", columns=2).encode(Sentence(("b",), id="2"))
