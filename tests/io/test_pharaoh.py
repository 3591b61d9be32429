"""Files of links: parsed, or refused with an error that names the line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nersery
from nersery.core.alignments import Alignment, Link
from nersery.core.errors import DataError, SettingsError
from nersery.core.outcome import Reject
from nersery.evaluate.alignment_error_rate import read_gold
from nersery.io.pharaoh import MALFORMED, AlignmentFile, check_output, format_alignment, parse_alignment

LINKS = st.dictionaries(
    st.tuples(st.integers(0, 3000), st.integers(0, 3000)), st.integers(1, 10**6).map(lambda n: n / 10**6)
).map(lambda found: tuple(sorted(Link(*place, chance) for place, chance in found.items())))


@given(LINKS, st.sampled_from([0, 1]))
def test_alignments_survive_a_round_trip(alignment: Alignment, first: int):
    assert parse_alignment(format_alignment(alignment, first=first), first=first) == alignment


@given(LINKS)
def test_without_probabilities(alignment: Alignment):
    text = format_alignment(alignment, probabilities=False)
    assert ":" not in text
    assert [link[:2] for link in parse_alignment(text)] == [link[:2] for link in alignment]


def test_parses_and_formats_every_form():
    assert parse_alignment("") == parse_alignment(" \n") == ()
    assert parse_alignment("3-1 0-0\r\n") == (Link(0, 0), Link(3, 1))
    assert parse_alignment("0-0:1e-05 1-1:.5 2-2:1") == (Link(0, 0, 1e-5), Link(1, 1, 0.5), Link(2, 2))
    assert parse_alignment("1-1 2-3", first=1) == (Link(0, 0), Link(1, 2))
    assert parse_alignment("1-0 0-0", probabilities="0.5 0.25") == (Link(0, 0, 0.25), Link(1, 0, 0.5))
    assert format_alignment((Link(0, 0), Link(1, 1))) == "0-0 1-1"
    assert format_alignment((Link(0, 0), Link(1, 1, 1 / 3))) == "0-0:1 1-1:0.333333"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0 1_1", "'1_1' is not a link, expected e.g. 0-0"),
        ("0-", "'0-' is not a link"),
        ("-1-0", "'-1-0' is not a link"),
        ("0-0-0", "is not a link"),
        ("०-०", "is not a link"),
        ("0-0:", "is not a link"),
        ("0-0\u00a01-1", "is not a link"),
        ("0-0:nan", "is not a link"),
        ("0-0:-0.5", "is not a link"),
        ("0-0 ||| -12.3", r"'\|\|\|' is not a link.* sed 's/ \*\|\|\|\.\*//'"),
        ("0-0 1p1", r"'1p1' is not a link.* sed 's/\[p\?\]/-/g'"),
        ("0-0 1?1", r"'1\?1' is not a link.* sed"),
        ("0-0/0.5", r"'0-0/0\.5' is not a link.* tr / :"),
        ("0-0:0", "a probability is 0, expected a number above 0"),
        ("0-0:1.5", "a probability is 1.5, expected"),
        ("0-0 1-1 0-0:0.5", "a link occurs twice"),
    ],
)
def test_malformed_lines(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_alignment(text)


def test_the_first_position_is_given_not_guessed():
    assert parse_alignment("1-1", first=0) == (Link(1, 1),)
    with pytest.raises(ValueError, match="a link to the word 0, expected 1 for the first word"):
        parse_alignment("1-0 2-2", first=1)
    with pytest.raises(SettingsError, match="the first word is 2, expected 0 or 1"):
        AlignmentFile("x", first=2)


def test_fix_for_a_link_to_0_shows_no_zero_based_example(tmp_path: Path):
    """The fix once gave 0-0 as an example, which is what the error refuses."""
    path = tmp_path / "x.align"
    path.write_text("0-0 1-1\n")
    with pytest.raises(DataError, match="a link to the word 0") as caught:
        list(AlignmentFile(path, first=1))
    assert "0-0" not in caught.value.fix
    assert caught.value.fix.startswith("leave out first=1 if the file counts words from 0; else expected pairs")


def test_reads_probabilities_of_a_separate_file():
    with pytest.raises(ValueError, match="2 links and 1 probabilities"):
        parse_alignment("0-0 1-1", probabilities="0.5")
    with pytest.raises(ValueError, match="links already have probabilities: omit the file of others"):
        parse_alignment("0-0:0.5 1-1", probabilities="0.5 0.5")
    for odd in ("x", "0.5:0.5", "-1"):
        with pytest.raises(ValueError, match=f"'{odd}' in the file of probabilities is not a number"):
            parse_alignment("0-0 1-1", probabilities=f"0.5 {odd}")
    with pytest.raises(ValueError, match="'a-0' is not a link"):
        parse_alignment("a-0", probabilities="0.5")


def test_a_file_names_all_its_malformed_lines(tmp_path: Path):
    path = tmp_path / "x.align"
    path.write_text("0-0\n0_0\n\n1-1 1-1\n")
    lines = iter(AlignmentFile(path))
    assert next(lines) == (Link(0, 0),)
    with pytest.raises(DataError) as caught:
        list(lines)
    assert [issue.line for issue in caught.value.issues] == [2, 4]
    assert str(path) in str(caught.value)
    assert "Fix: expected pairs of positions" in str(caught.value)


@pytest.mark.parametrize("reject", [False, True])
def test_a_file_of_giza_is_recognised(tmp_path: Path, reject: bool):
    path = tmp_path / "en-de.A3.final"
    path.write_text(
        "# Sentence pair (1) source length 2 target length 1 alignment score : 0.01\n"
        "Oslo\nNULL ({ }) in ({ }) Oslo ({ 1 })\n"
    )
    file = AlignmentFile(path, reject=reject)
    for read in (lambda: list(file), lambda: len(file), lambda: read_gold(path)):
        with pytest.raises(DataError, match=r"en-de\.A3\.final:1: this is a file of GIZA\+\+") as caught:
            read()
        assert "align SOURCE TARGET OUTPUT --method external --set program=giza++" in caught.value.fix


def test_shards_are_read_in_their_order(tmp_path: Path):
    for number in (100_000, 9, 99_999):
        (tmp_path / f"part-{number:05}.align").write_text(f"{number}-0\n")
    file = AlignmentFile(tmp_path)
    assert [links[0].source for links in file if not isinstance(links, Reject)] == [9, 99_999, 100_000]
    assert len(file) == 3
    before = file.fingerprint()
    (tmp_path / "part-00009.align").write_text("8-0\n")
    assert AlignmentFile(tmp_path).fingerprint() != before
    with pytest.raises(DataError, match="this is a folder, expected a file"):
        len(AlignmentFile(tmp_path.parent))


@pytest.mark.parametrize("name", ["a.align", "a", "a.txt", "en-de", "a.en-de.links"])
def test_accepts_usual_names_for_a_file_of_links(name: str):
    check_output(Path(name))


def test_refuses_a_compressed_output_name_before_reading():
    with pytest.raises(SettingsError, match=r"a\.gz: links are not compressed.*Write a, then compress it"):
        nersery.align("missing", "missing", output="a.gz")


def test_malformed_lines_as_rejects(tmp_path: Path):
    path = tmp_path / "x.align"
    path.write_text("0-0\n0_0\x01\n\n")
    first, reject, last = AlignmentFile(path, reject=True)
    assert (first, last) == ((Link(0, 0),), ())
    assert isinstance(reject, Reject)
    assert reject.reason == MALFORMED
    assert reject.sentence is not None
    assert reject.sentence.words == ("0_0",)
    assert "x.align:2: '0_0\\x01' is not a link" in reject.sentence.comments[0]


def test_a_file_of_probabilities(tmp_path: Path):
    alignment, beside = tmp_path / "links", tmp_path / "probabilities"
    alignment.write_text("0-0 1-1\n\n0-1\n")
    beside.write_text("0.5 0.25\n\n1\n")
    expected = [(Link(0, 0, 0.5), Link(1, 1, 0.25)), (), (Link(0, 1),)]
    assert list(AlignmentFile(alignment, probabilities=beside)) == expected
    beside.write_text("0.5 0.25\n")
    with pytest.raises(DataError, match="the file ends before line 2"):
        list(AlignmentFile(alignment, probabilities=beside))


def test_fix_converts_one_link_per_line_to_one_pair_per_line(tmp_path: Path) -> None:
    """The form of the shared tasks of NAACL 2003 and ACL 2005."""
    (tmp_path / "old").write_text("0001 1 1 S\n0001 2 3 P\n0003 1 2\n")
    with pytest.raises(DataError, match="a link in each line") as caught:
        read_gold(tmp_path / "old")
    subprocess.run(caught.value.fix.partition(": ")[2].partition(" (which")[0], shell=True, check=True, cwd=tmp_path)
    sure, possible = frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)})
    empty: frozenset[tuple[int, int]] = frozenset()
    assert read_gold(tmp_path / "new", first=1) == [(sure, possible), (empty, empty), ({(0, 1)}, {(0, 1)})]
