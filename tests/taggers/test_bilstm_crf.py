from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.models.embeddings.word_vectors import WordVectors, read_first
from nersery.taggers.base import load_tagger, strict_f1
from nersery.taggers.bilstm_crf import BiLSTMCRF
from nersery.taggers.networks.recurrent import BiLSTM, RecurrentNetwork, Sizes
from nersery.taggers.networks.word_features import FIRST, MAX_WORD_LENGTH, PAD, UNKNOWN, KnownWords, WordTable
from nersery.taggers.output_layer.tag_set import TagSet

GOLD = [
    Sentence(("Ada", "lives", "in", "Oslo"), (Entity(0, 1, "PER"), Entity(3, 4, "LOC"))),
    Sentence(("Grace", "saw", "Lima"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC"))),
    Sentence(("we", "saw", "Ada", "."), (Entity(2, 3, "PER"),)),
]
PEOPLE, TOWNS = ("ada", "grace", "linus", "radia"), ("oslo", "lima", "pune", "quito")


def small(**settings) -> BiLSTMCRF:
    sizes = {"word_size": 8, "character_size": 4, "spelling_size": 8, "hidden_size": 8}
    return BiLSTMCRF(**{"steps": 30, "batch_size": 3, "learning_rate": 2e-2, **sizes, **settings})


# --- the network ------------------------------------------------------------------------------------------------------


def test_network_equals_the_bidirectional_lstm_of_torch() -> None:
    """The reference is that of torch, on packed rows."""
    torch.manual_seed(0)
    ours, items, lengths = BiLSTM(5, 3), torch.randn(4, 7, 5), torch.tensor([7, 1, 4, 6])
    theirs = nn.LSTM(5, 3, batch_first=True, bidirectional=True)
    halves = {"": ours.forwards, "_reverse": ours.backwards}
    theirs.load_state_dict({name + end: w for end, half in halves.items() for name, w in half.state_dict().items()})
    packed = nn.utils.rnn.pack_padded_sequence(items, lengths, batch_first=True, enforce_sorted=False)
    states, (last, _) = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    there = torch.arange(7) < lengths.unsqueeze(1)
    torch.testing.assert_close(ours(items, lengths)[there], expected[there])
    torch.testing.assert_close(ours.ends(items, lengths), torch.cat([last[0], last[1]], dim=1))


def test_padding_does_not_matter() -> None:
    torch.manual_seed(0)
    network = RecurrentNetwork(KnownWords(("ada",), ("a", "d")), TagSet.of(["PER"]), Sizes(4, 3, 6, 5), 0.5, 0.1).eval()
    ids, spelled, length = torch.tensor([[2, 1, 2]]), torch.randn(1, 3, 6), torch.tensor([2])
    ending = torch.tensor([[[0.0], [0.0], [1.0]]])
    row, other = (network(ids, torch.zeros(1, 3, 0), spelled + shift, length) for shift in (0 * ending, ending))
    torch.testing.assert_close(row[:, :2], other[:, :2])
    longer = network(ids, torch.zeros(1, 3, 0), spelled + ending, length + 1)
    assert not torch.allclose(row[:, :2], longer[:, :2])


def test_word_dropout_hides_words_only_in_training() -> None:
    torch.manual_seed(0)
    network = RecurrentNetwork(KnownWords(("ada",), ()), TagSet.of(["PER"]), Sizes(4, 2, 2, 4), 0.0, 0.5)
    inputs = (torch.zeros(200, 1, 0), torch.zeros(200, 1, 2), torch.ones(200, dtype=torch.long))
    known, unknown = (network.eval()(torch.full((200, 1), number), *inputs)[0] for number in (FIRST, UNKNOWN))
    shown = network.train()(torch.full((200, 1), FIRST), *inputs)
    dropped = (shown - unknown).abs().amax((1, 2)) < 1e-6
    assert 60 < int(dropped.sum()) < 140
    torch.testing.assert_close(shown[~dropped], known.expand_as(shown[~dropped]))


# --- words ------------------------------------------------------------------------------------------------------------


def test_words_are_looked_up_in_lower_case_but_characters_are_not() -> None:
    lexicon = KnownWords.of(["Ada", "Adam", "दिल्ली", "दिन"])
    table = WordTable(["ADA", "Bob", "Aदि"], lexicon)
    assert table.ids.tolist() == [PAD, FIRST, UNKNOWN, UNKNOWN]
    assert lexicon.characters == tuple(sorted("Aadदि"))
    ids = lexicon.character_ids
    assert table.spellings[:, :3].tolist() == [
        [PAD] * 3,
        [ids["A"], UNKNOWN, ids["A"]],
        [UNKNOWN] * 3,
        [ids["A"], ids["द"], ids["ि"]],
    ]
    assert table.lengths.tolist() == [1, 3, 3, 3]


def test_spelling_of_a_long_word_has_both_its_ends() -> None:
    lexicon = KnownWords(("x",), ("a", "b", "c"))
    a, b, c = (lexicon.character_ids[character] for character in "abc")
    half = MAX_WORD_LENGTH // 2
    assert lexicon.spelling("a" * half + "b" * 9_999 + "c" * half) == [a] * half + [c] * half
    assert lexicon.spelling("a" * MAX_WORD_LENGTH + "b")[-1] == b


def test_the_windows_of_a_long_sentence_overlap_and_their_cores_do_not() -> None:
    words = [f"w{number}" for number in range(1500)]
    windows = WordTable(words, KnownWords((), ())).windows(words)
    assert [place for window in windows for place in range(*window.core)] == list(range(1500))
    assert all(len(window.subwords) <= 512 for window in windows)
    for window in windows:
        assert window.subwords == tuple(range(window.start + 1, window.start + 1 + len(window.subwords)))
        assert window.start + (window.start > 0) * 32 <= window.core[0]


def test_a_long_sentence_is_labelled_to_its_end() -> None:
    tagger = small(steps=60)
    tagger.fit(GOLD)
    long = Sentence(("we", "saw", "Ada", ".") * 160)
    assert sum(e.type == "PER" for e in tagger.predict([long])[0].entities) > 150


def test_warm_start_adds_words_and_keeps_the_known_weights() -> None:
    tagger = small()
    tagger.fit(GOLD)
    before = {name: weights.clone() for name, weights in tagger.network.state_dict().items()}
    tagger.learning_rate, tagger.steps = 1e-9, 1
    more = Sentence(("Bob", "lives", "in", "Bonn"), (Entity(0, 1, "PER"), Entity(3, 4, "LOC")))
    tagger.fit([more, GOLD[1]], warm=True)
    after = tagger.network.state_dict()
    assert len(after["word.weight"]) == len(before["word.weight"]) + 2
    for name, weights in before.items():
        torch.testing.assert_close(after[name][: len(weights)], weights, atol=1e-6, rtol=0)
    tagger.fit([more, GOLD[1]])
    assert len(tagger.network.state_dict()["word.weight"]) == FIRST + 7


# --- the user's vectors -----------------------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """People point one way and towns another. The format is that of GloVe, without a header line."""
    rng, lines = np.random.default_rng(0), []
    for direction, words in ((1.0, PEOPLE), (-1.0, TOWNS)):
        lines += [f"{word} {direction} " + " ".join(f"{x:.3f}" for x in rng.normal(0, 0.1, 5)) for word in words]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def seen(pairs: list[tuple[str, str]]) -> list[Sentence]:
    return [Sentence((a, "saw", b), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id=a + b) for a, b in pairs] + [
        Sentence((b, "saw", a), (Entity(0, 1, "LOC"), Entity(2, 3, "PER")), id=b + a) for a, b in pairs
    ]


def test_distinguishes_words_by_their_vectors_alone(vectors: Path, tmp_path: Path) -> None:
    """Neither their characters nor the words around them are enough."""
    train = seen([(a, b) for a in PEOPLE[:2] for b in TOWNS[:2]])
    unseen = seen(list(zip(PEOPLE[2:], TOWNS[2:], strict=True)))
    tagger = small(vectors=str(vectors), steps=60, word_dropout=0.3)
    tagger.fit(train)
    predicted = tagger.predict(unseen)
    assert strict_f1(unseen, predicted) == 1.0
    tagger.save(tmp_path / "tagger")
    vectors.unlink()
    again = load_tagger(tmp_path / "tagger").predict(unseen)
    assert [(s.entities, [e.score for e in s.entities]) for s in again] == [
        (s.entities, [e.score for e in s.entities]) for s in predicted
    ]
    with pytest.raises(MissingResourceError, match="no file of word vectors"):
        tagger.check()


def test_saving_without_vectors_removes_the_vectors_of_an_old_tagger(vectors: Path, tmp_path: Path) -> None:
    for settings in ({"vectors": str(vectors)}, {}):
        tagger = small(steps=1, **settings)
        tagger.fit(GOLD)
        tagger.save(tmp_path / "tagger")
    assert not (tmp_path / "tagger" / "vectors.safetensors").exists()
    assert load_tagger(tmp_path / "tagger").predict(GOLD) == tagger.predict(GOLD)
    assert load_tagger(tmp_path / "tagger", device="cpu").device == "cpu"


def test_warm_start_keeps_the_vectors_of_known_words(vectors: Path, tmp_path: Path) -> None:
    """This includes vectors so late in the file that only those of training words are read there."""
    pairs = [*zip(PEOPLE, TOWNS, strict=True)]
    tagger = small(vectors=str(vectors), max_vectors=1, steps=1)
    tagger.fit(seen(pairs[:2]))
    before = tagger._user_vectors
    tagger.fit(seen(pairs[:1]), warm=True)
    assert tagger._user_vectors is before
    tagger.save(tmp_path / "tagger")
    again = BiLSTMCRF.load(tmp_path / "tagger")
    for one in (tagger, again):
        one.fit(seen(pairs[2:3]), warm=True)
        assert one._user_vectors is not None
        assert set(one._user_vectors.rows) == {PEOPLE[0], *PEOPLE[:3], *TOWNS[:3]}
        assert one._user_vectors.matrix(PEOPLE[:1]).tolist() == before.matrix(PEOPLE[:1]).tolist()


def test_works_with_vectors_of_no_training_word(vectors: Path, tmp_path: Path) -> None:
    tagger = small(vectors=str(vectors), max_vectors=0, steps=1)
    tagger.fit([Sentence(("Zoe", "left"), (Entity(0, 1, "PER"),))])
    tagger.save(tmp_path / "tagger")
    assert len(BiLSTMCRF.load(tmp_path / "tagger").predict([Sentence(("Zoe",))])) == 1


def test_vectors_are_used_for_known_and_unknown_words() -> None:
    user_vectors = WordVectors(2, {"oslo": np.array([1.0, 2.0], np.float32), "Lima": np.array([3.0, 4.0], np.float32)})
    table = WordTable(["Oslo", "Lima", "lima", "Rome"], KnownWords.of(["Oslo"]), user_vectors)
    assert table.vectors.tolist() == [[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]]


@pytest.mark.parametrize("header", [b"", b"6 2\n"], ids=["GloVe", "fastText"])
def test_the_first_vectors_of_a_file_are_kept_and_those_of_training_words(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "words.vec"
    path.write_bytes(header + "the 1 1\nof 2 2\nat name@x.com 3 3\nदिल्ली 4 4\nada 5 5\nada 6 6\n".encode())
    found = read_first(path, 2, ["Ada"])
    assert {word: row.tolist() for word, row in found.rows.items()} == {"the": [1, 1], "of": [2, 2], "ada": [5, 5]}
    assert len(read_first(path, 100).rows) == 4


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        (b"ada 1 2 3", "words.txt:3: the vector of 'ada' has 3 values, expected 2"),
        (b"ada 1", "words.txt:3: the vector of 'ada' has 1 values, expected 2"),
        (b"ada", "words.txt:3: the vector of 'ada' has 0 values, expected 2"),
        (b"ada 1 nan", "words.txt:3: the vector of 'ada' has 'nan' as value 2"),
    ],
    ids=["longer", "shorter", "cut off", "no number"],
)
def test_a_change_of_dimension_within_the_file_is_an_error(tmp_path: Path, line: bytes, issue: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"the 1 1\nof 2 2\n" + line + b"\nin 4 4\n")
    with pytest.raises(DataError) as caught:
        small(vectors=str(path)).fit(GOLD)
    assert issue in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_checks_lines_that_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"the 1 1\nof 2 2\nxylophone 1 2 3\n")
    with pytest.raises(DataError, match=r"words\.txt:3"):
        read_first(path, 1)


def test_notes_vectors_without_any_training_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.vec").write_text("гора 1 2\nозеро 3 4\n", "utf-8")
    (tmp_path / "some.vec").write_text("гора 1 2\nada 3 4\n", "utf-8")
    for name in ("other.vec", "some.vec"):
        small(vectors=str(tmp_path / name), steps=1).fit(GOLD)
    warning = capsys.readouterr().err
    assert "other.vec has no vector for any training word" in warning
    assert "some.vec" not in warning


def test_check_refuses_a_file_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(MissingResourceError, match="GloVe"):
        small(vectors=str(tmp_path / "none.txt")).check()
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(DataError, match="holds no vector"):
        small(vectors=str(tmp_path / "empty.txt")).check()


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"spelling_size": 3}, {"hidden_size": 0}, {"word_dropout": 1.0}, {"vectors": ""}, {"max_vectors": -1}],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(settings) -> None:
    with pytest.raises(SettingsError, match=next(iter(settings))):
        BiLSTMCRF(**settings)


def test_certainty_needs_dropout() -> None:
    tagger = small(dropout=0.0, steps=1)
    tagger.fit(GOLD)
    with pytest.raises(SettingsError, match="dropout"):
        tagger.certainty(GOLD)


def test_error_about_a_lexicon_that_does_not_match_the_weights(tmp_path: Path) -> None:
    tagger = small(steps=1)
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    lexicon = tmp_path / "lexicon.json"
    without_a_word = lexicon.read_text("utf-8").replace('"ada", ', "")
    for content in (without_a_word, "[]", "null", '{"words": 5, "characters": [], "tags": []}'):
        lexicon.write_text(content, "utf-8")
        with pytest.raises(MissingResourceError, match="damaged"):
            load_tagger(tmp_path)
