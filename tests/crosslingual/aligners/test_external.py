"""Word aligners on the PATH, replaced by fake programs."""

import pytest

from nersery.core.errors import DataError, MissingResourceError, NerseryError, SettingsError, UnfittedError
from nersery.core.outcome import Reject
from nersery.crosslingual.aligner_components.symmetrization import MIN_PROBABILITY
from nersery.crosslingual.aligners.base import Link, Pair
from nersery.crosslingual.aligners.external import TOO_LONG, TOO_UNEVEN, UNSEEN, External
from tests.crosslingual.fakes import put_on_path

NAMES = {
    "eflomal": ["eflomal-align"],
    "fast_align": ["fast_align"],
    "mgiza": ["mgiza", "mkcls"],
    "giza++": ["GIZA++", "mkcls"],
}
PAIRS = [
    Pair(("Big", "houses", "|||", "a b"), ("Grandes", "casas")),
    Pair(("a",), ("x", "y", "z")),
    Pair(("({", "})", "#"), ("🚀", "\u200b", "مدينة")),
    Pair(("big", "house"), ("casa", "grande")),
]
DIAGONAL = [((0, 0), (1, 1)), ((0, 0),), ((0, 0), (1, 1), (2, 2)), ((0, 0), (1, 1))]


@pytest.fixture(params=list(NAMES))
def program(request):
    return request.param


@pytest.fixture
def give(monkeypatch, tmp_path):
    """Put fake programs on the PATH; a script replaces what they do."""
    return lambda names, script=None: put_on_path(monkeypatch, tmp_path, *names, script=script)


def points(found):
    return [tuple((link.source, link.target) for link in alignment) for alignment in found]


def test_links_of_each_program_are_read(give, program):
    give(NAMES[program])
    aligner = External(program)
    aligner.check()
    aligner.fit(PAIRS)
    found = aligner.align(PAIRS)
    assert points(found) == DIAGONAL
    assert found[1] == (Link(0, 0, 1.0 if program in ("eflomal", "fast_align") else found[1][0].probability),)


def test_words_are_written_as_numbers_of_prefixes(give, tmp_path):
    copy = tmp_path / "copy"
    give(["fast_align"], f"print_ = lines(option('-i')); pathlib.Path({str(copy)!r}).write_text(chr(10).join(print_))")
    with pytest.raises(DataError):  # it writes no links
        External("fast_align").fit(PAIRS)
    assert copy.read_text().splitlines() == ["0 1 2 3 ||| 0 1", "4 ||| 2 3 4", "5 6 7 ||| 5 6 7", "0 1 ||| 1 0"]


def test_arguments_reach_the_program(give):
    calls = give(["fast_align"])
    External("fast_align", arguments=("-p", "0.1")).fit(PAIRS)
    there, back = map(eval, calls.read_text().splitlines())
    assert there == ["-i", "pairs", "-d", "-o", "-v", "-p", "0.1"]
    assert back == ["-i", "pairs", "-d", "-o", "-v", "-r", "-p", "0.1"]


def test_both_directions_are_symmetrized(give):
    give(["eflomal-align"], "\n".join(f"pathlib.Path(option({way!r})).write_text({text!r})" for way, text in WAYS))
    for heuristic, expected in (("intersection", [(0, 0)]), ("union", [(0, 0), (0, 1), (1, 1)])):
        aligner = External("eflomal", symmetrize=heuristic)
        aligner.fit(PAIRS[:1])
        assert points(aligner.align(PAIRS[:1])) == [tuple(expected)]


WAYS = [("-f", "0-0 1-1\n"), ("-r", "0-0 0-1\n")]
TURNED = """
name = option("-o")
left, right = (2, 1) if name == "source_target" else (1, 2)
head = "# Sentence pair (1) source length 2 target length 1 alignment score : 0.1"
spots = "a ({ }) b ({ 1 })" if name == "source_target" else "x ({ 2 })"
pathlib.Path(f"{option('-outputpath')}{name}.A3.final").write_text(f"{head}\\nx\\nNULL ({{ }}) {spots}\\n")
"""


def test_the_second_direction_of_giza_is_reversed(give):
    give(["mkcls"])
    give(["GIZA++"], TURNED)
    aligner = External("giza++", symmetrize="union")
    aligner.fit([Pair(("a", "b"), ("x",))])
    assert points(aligner.align([Pair(("a", "b"), ("x",))])) == [((1, 0),)]


TABLES = """
name = option("-o")
head = "# Sentence pair (1) source length 2 target length 2 alignment score : 0.1"
spots = "a ({ 1 }) b ({ 2 })"
pathlib.Path(f"{option('-outputpath')}{name}.A3.final").write_text(f"{head}\\nx\\nNULL ({{ }}) {spots}\\n")
"""
TABLE = "\n".join(["0 2 0.2", "0 3 0.1", "2 2 0.6", "3 2 0.2", "3 3 0.3"]) + "\n"


def given_tables(give, forward: str, backward: str) -> External:
    write = "".join(
        f"if name == {name!r}: pathlib.Path(name + '.t3.final').write_text({table!r})\n"
        for name, table in (("source_target", forward), ("target_source", backward))
        if table
    )
    give(["mkcls"])
    give(["mgiza"], TABLES + write)
    return External("mgiza")


def test_giza_weighs_links_by_both_tables(give):
    """By hand: the first word has 0.6 of 0.2 + 0.6 + 0.2, the second 0.3 of 0.1 + 0.3; backward, an only one has 1."""
    pair = Pair(("a", "b"), ("x", "y"))
    aligner = given_tables(give, TABLE, "2 2 0.5\n3 3 0.25\n2 3 0.75\n")
    aligner.fit([pair])
    (found,) = aligner.align([pair])
    assert points([found]) == [((0, 0), (1, 1))]
    assert [link.probability for link in found] == pytest.approx([(0.6 * 1) ** 0.5, (0.75 * 0.25) ** 0.5])


def test_a_link_that_a_table_lacks_is_improbable(give):
    pair = Pair(("a", "b"), ("x", "y"))
    aligner = given_tables(give, TABLE, "9 9 0.5\n")
    aligner.fit([pair])
    assert [link.probability for link in aligner.align([pair])[0]] == [MIN_PROBABILITY, MIN_PROBABILITY]


def test_notes_missing_tables_and_gives_probability_1(give, capsys):
    pair = Pair(("a", "b"), ("x", "y"))
    aligner = given_tables(give, TABLE, "")
    aligner.fit([pair])
    assert "mgiza wrote no target_source.t3.final, so all its links have probability 1" in capsys.readouterr().err
    assert [link.probability for link in aligner.align([pair])[0]] == [1.0, 1.0]


@pytest.mark.parametrize("table", ["oops\n", "2 2\n", "2 2 0.5 1\n", "2 2 1.5\n", "-2 2 0.5\n", "2 2 nan\n"])
def test_a_table_of_another_kind_is_refused(give, table):
    aligner = given_tables(give, table, TABLE)
    with pytest.raises(DataError, match=r"source_target\.t3\.final"):
        aligner.fit([Pair(("a", "b"), ("x", "y"))])


def test_a_missing_program_is_named_with_what_to_install(give, program):
    give([])
    for call in (External(program).check, lambda: External(program).fit(PAIRS)):
        with pytest.raises(
            MissingResourceError, match=f"{NAMES[program][0].replace('+', '.')}.* on the PATH.*nstall|uild"
        ):
            call()


def test_a_failing_program_is_quoted(give):
    give(["fast_align"], "print('no memory left', file=sys.stderr); sys.exit(3)")
    with pytest.raises(NerseryError, match=r"(?s)fast_align.*exit code 3.*no memory left"):
        External("fast_align").fit(PAIRS)


@pytest.mark.parametrize(
    ("answer", "line", "issue"),
    [
        ("0-0\n0-0\n0-0\n", 4, "3 lines, expected 4"),
        ("0-0\n" * 5, 5, "5 lines, expected 4"),
        ("", 1, "0 lines"),
        ("0-0\n0-3\n0-0\n0-0\n", 2, "link 0-3 is outside a pair of 1 and 3 words"),
        ("0-0\n0-0\n3-0\n0-0\n", 3, "link 3-0 is outside a pair of 3 and 3 words"),
        ("0-0\n0-0\n0-0\n0:0\n", 4, "0:0"),
        ("0-0\n0-0\n-1-0\n0-0\n", 3, "-1-0"),
    ],
)
@pytest.mark.parametrize("way", ["-f", "-r"])
def test_an_answer_that_does_not_fit_is_refused(give, answer, line, issue, way):
    right = "0-0\n" * 4
    texts = {"-f": right, "-r": right, way: answer}
    give(["eflomal-align"], "\n".join(f"pathlib.Path(option({w!r})).write_text({text!r})" for w, text in texts.items()))
    with pytest.raises(DataError, match=issue) as error:
        External("eflomal").fit(PAIRS)
    assert error.value.issues[0].line == line
    assert "eflomal" in str(error.value)


def test_no_answer_is_refused(give):
    give(["eflomal-align"], "")
    with pytest.raises(DataError, match="forward cannot be read"):
        External("eflomal").fit(PAIRS)


@pytest.mark.parametrize(
    ("answer", "issue"),
    [
        ("# Sentence pair (1) x\nx\nNULL ({ }) a ({ 1 })\n", "1 words|words, expected"),
        ("# Sentence pair (1) x\nx\nNULL ({ }) a ({ 2 }) b ({ })\n", "link 0-1"),
        ("# Sentence pair (2) x\nx\nNULL ({ }) a ({ 1 }) b ({ })\n", "sentence pair 2 of 1"),
        ("# Sentence pair (1) x\nx\nNULL ({ }) a ({ 1 }) b ({ })\n" * 2, "occurs twice"),
        ("# Sentence pair (1) x\nx\n", "two more lines"),
        ("oops\n", "expected"),
        ("", "0 pairs, expected 1"),
    ],
)
def test_an_answer_of_giza_that_does_not_fit_is_refused(give, answer, issue):
    give(["mkcls"])
    give(["mgiza"], f"pathlib.Path(option('-o') + '.A3.final.part000').write_text({answer!r})")
    with pytest.raises(DataError, match=issue):
        External("mgiza").fit([Pair(("a", "b"), ("x",))])


def test_pairs_that_the_program_has_not_seen_are_rejected(give):
    give(["fast_align"])
    aligner = External("fast_align")
    aligner.fit(PAIRS[:2])
    assert aligner.align(PAIRS[1:3]) == [(Link(0, 0),), Reject(UNSEEN)]


def test_pairs_that_giza_would_cut_are_rejected(give):
    give(NAMES["giza++"])
    pairs = [Pair(("a",) * 101, ("b",) * 101), Pair(("a",), ("b",) * 9), *PAIRS]
    aligner = External("giza++")
    aligner.fit(pairs)
    assert aligner.align(pairs)[:2] == [Reject(TOO_LONG), Reject(TOO_UNEVEN)]
    assert points(aligner.align(PAIRS)) == DIAGONAL


def test_refuses_to_align_before_fit_and_wrong_settings():
    with pytest.raises(UnfittedError, match="call fit with all pairs before align"):
        External().align(PAIRS)
    with pytest.raises(SettingsError, match="prefix"):
        External(prefix=-1)
