"""The statistical aligner: what it learns, keeps and refuses."""

import json
import pickle
import random
import tracemalloc
from itertools import cycle, islice
from types import SimpleNamespace

import numpy as np
import pytest

from nersery.core.errors import DiskError, MissingResourceError, SettingsError, UnfittedError
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.training_context import Training
from nersery.core.warnings import collected_notes
from nersery.crosslingual.aligners import statistical
from nersery.crosslingual.aligners.base import Pair, Suggestions
from nersery.crosslingual.aligners.statistical import TOO_LONG, Statistical
from nersery.crosslingual.hmm import batches, sliced_lexicon, temporary_array
from nersery.models.bundled_models import bundled
from tests.crosslingual.models import SOURCE, TARGET, f1, points, translations

HEURISTICS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")


def fitted(pairs, **settings):
    aligner = Statistical(**settings)
    aligner.fit(pairs)
    return aligner


@pytest.fixture(scope="module")
def text():
    return translations(150, seed=1)


@pytest.fixture(scope="module")
def aligner(text):
    return fitted(text[0])


def by_words(aligner, source, target):
    """Return the links of a pair as words."""
    (alignment,) = aligner.align([Pair(tuple(source.split()), tuple(target.split()))])
    return {(source.split()[link.source], target.split()[link.target]) for link in alignment}


def test_learns_from_translations_in_any_order(aligner, text):
    assert f1(aligner, *text) > 0.95
    assert f1(aligner, *translations(40, seed=2)) > 0.95, "pairs that it has not learnt from"


def test_learns_nothing_without_steps(text):
    assert f1(fitted(text[0], ibm1_steps=0, hmm_steps=0), *text) < 0.6


def test_positions_distinguish_repeated_words():
    rng = random.Random(0)
    pairs = []
    for _ in range(60):
        words = [rng.randrange(12) for _ in range(6)]
        pairs.append(Pair(("the", *(SOURCE[w] for w in words), "the"), ("zz", *(TARGET[w] for w in words), "zz")))
    (alignment,) = fitted(pairs, string_similarity=0).align(pairs[:1])
    assert {(0, 0), (7, 7)} <= points(alignment)
    assert not {(0, 7), (7, 0)} & points(alignment)


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_every_heuristic_finds_links_between_intersection_and_union(text, heuristic):
    aligner = fitted(text[0], symmetrize=heuristic)
    assert f1(aligner, *text) > 0.9
    inner, outer = (fitted(text[0], symmetrize=name).align(text[0]) for name in ("intersection", "union"))
    for least, alignment, most in zip(inner, aligner.align(text[0]), outer, strict=True):
        assert points(least) <= points(alignment) <= points(most)
        assert all(0 < link.probability <= 1 for link in alignment)


def test_a_higher_threshold_leaves_fewer_and_surer_links(text):
    pairs = text[0][:30]  # few, so that much is unsure
    found = [fitted(pairs, threshold=threshold).align(pairs) for threshold in (0.05, 0.5, 0.9)]
    sizes = [sum(map(len, alignment)) for alignment in found]
    assert sizes[0] > sizes[1] > sizes[2] > 0
    assert min(link.probability for alignment in found[2] for link in alignment) > 0.9


def test_links_are_surer_with_more_pairs(text):
    def mean(count):
        aligner = fitted(text[0][:count])
        return np.mean([link.probability for alignment in aligner.align(text[0][:20]) for link in alignment])

    assert mean(20) < mean(150)


def test_similar_strings_link_unseen_words(aligner):
    assert by_words(aligner, "Schulman 1,000 ab .", "१००० zb । Schulman") == {
        ("Schulman", "Schulman"),
        ("1,000", "१०००"),
        ("ab", "zb"),
        (".", "।"),
    }
    assert ("Obama", "ओबामा") in by_words(aligner, "ab Obama ac", "zc zb ओबामा")


def test_only_learnt_words_are_linked_without_string_similarity(text):
    blind = fitted(text[0], string_similarity=0)
    assert ("Schulman", "Schulman") not in by_words(blind, "Schulman ab ac ad", "zb zc zd Schulman")
    assert ("ab", "zb") in by_words(blind, "Schulman ab ac ad", "zb zc zd Schulman")


def test_words_are_counted_by_their_prefixes():
    pairs = [Pair((f"house{n}x", "tree"), ("baum", f"hausen{n}y")) for n in "abcdefgh"]
    pairs += [Pair(("tree", "sky"), ("himmel", "baum")), Pair(("sky",), ("himmel",))] * 3
    assert by_words(fitted(pairs), "housing sky", "himmel hausgemacht") == {
        ("housing", "hausgemacht"),
        ("sky", "himmel"),
    }
    whole = fitted(pairs, prefix=0, string_similarity=0)
    assert len(whole._lexicon.source_uses) > len(fitted(pairs)._lexicon.source_uses)


def test_aligns_chinese_hindi_and_arabic_words():
    chinese, english = ["我", "你", "爱", "看", "书", "茶"], ["I", "you", "love", "read", "books", "tea"]
    rng = random.Random(0)
    for letters in (chinese, ["मैं", "तुम", "प्यार", "पढ़ना", "किताब", "चाय"], ["أنا", "أنت", "أحب", "أقرأ", "كتب", "شاي"]):
        pairs = []
        for _ in range(40):
            words = rng.sample(range(6), 4)
            pairs.append(Pair(tuple(letters[w] for w in words), tuple(english[w] for w in words[::-1])))
        assert by_words(fitted(pairs), " ".join(letters), " ".join(english[::-1])) == set(
            zip(letters, english, strict=True)
        )


def test_links_are_the_same_after_saving_and_loading(text, aligner, tmp_path):
    aligner.save(tmp_path / "learnt")
    again = Statistical(priors=str(tmp_path / "learnt"))
    again.check()
    assert again.align(text[0]) == aligner.align(text[0])
    assert pickle.loads(pickle.dumps(aligner)).align(text[0]) == aligner.align(text[0])
    aligner.save(tmp_path / "learnt")
    assert sorted(path.name for path in (tmp_path / "learnt").iterdir()) == ["lexicon.json", "lexicon.safetensors"]


def test_priors_help_with_little_new_text(text, tmp_path):
    few = [Pair((*pair.source, "new"), (*pair.target, "neu")) for pair in text[0][:4]]
    gold = [alignment | {(5, 5)} for alignment in text[1][:4]]
    fitted(text[0][4:]).save(tmp_path)
    helped = fitted(few, priors=str(tmp_path), string_similarity=0)
    assert f1(helped, few, gold) > f1(fitted(few, string_similarity=0), few, gold)
    assert by_words(helped, "new ab", "zb neu") == {("new", "neu"), ("ab", "zb")}
    assert f1(helped, *text) > 0.95, "what was known is not forgotten"


def test_missing_incomplete_and_other_priors_are_refused(aligner, tmp_path):
    with pytest.raises(MissingResourceError, match="no learnt lexicon"):
        Statistical(priors=str(tmp_path / "nowhere")).check()
    aligner.save(tmp_path)
    (tmp_path / "lexicon.safetensors").write_bytes(b"short")
    with pytest.raises(SettingsError, match="cannot be read"):
        Statistical(priors=str(tmp_path)).align([])
    aligner.save(tmp_path)
    with pytest.raises(SettingsError, match="prefix: was 4, now 5"):
        Statistical(priors=str(tmp_path), prefix=5).align([])
    record = json.loads((tmp_path / "lexicon.json").read_text())
    (tmp_path / "lexicon.json").write_text(json.dumps({**record, "source": record["source"][1:]}))
    with pytest.raises(SettingsError, match="cannot be read"):
        Statistical(priors=str(tmp_path)).align([])


def test_long_sides_are_rejected_and_not_learnt_from(text):
    long = Pair(("ab",) * 3000, ("zb",) * 3000)
    aligner = fitted([long, *text[0]])
    assert aligner.align([long, text[0][0]]) == [Reject(TOO_LONG), fitted(text[0]).align(text[0][:1])[0]]
    (alignment,) = fitted(text[0], max_words=300).align([Pair(("ab",) * 290, ("zb",) * 300)])
    assert isinstance(alignment, tuple)


def test_max_pairs_spreads_the_pairs_evenly(text):
    pairs = text[0]
    every_third = fitted([pairs[n * 3] for n in range(50)]).align(pairs)
    assert fitted(pairs, max_pairs=50).align(pairs) == every_third
    assert fitted(pairs, max_pairs=0).align(pairs) == fitted(pairs).align(pairs)


@pytest.mark.parametrize("priors", [False, True])
def test_small_slices_of_the_lexicon_change_nothing(text, monkeypatch, priors, tmp_path):
    """Small slices of prefixes, and files instead of memory, give the same bits."""
    settings = {}
    if priors:
        fitted([*translations(20, seed=3)[0], Pair(("aa", "ab"), ("zz", "zb"))]).save(tmp_path)
        settings["priors"] = str(tmp_path)
    expected = fitted(text[0], **settings)
    monkeypatch.setattr(sliced_lexicon, "SLICE", 100)
    monkeypatch.setattr(temporary_array, "IN_MEMORY", 1)
    for most in (3, 64):
        monkeypatch.setattr(sliced_lexicon, "MAX_SLICES", most)
        found = fitted(text[0], **settings)
        assert found.align(text[0]) == expected.align(text[0])
        for name, values in vars(expected._lexicon).items():
            assert getattr(found._lexicon, name).tolist() == values.tolist(), name


def test_a_full_disk_is_refused_before_anything_is_learnt(text, monkeypatch):
    monkeypatch.setattr(temporary_array, "IN_MEMORY", 1)
    monkeypatch.setattr(temporary_array.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(DiskError, match=r"temporary files need at least \d+ MB in .* variable TMPDIR"):
        fitted(text[0])


def test_memory_hardly_grows_with_the_pairs(monkeypatch):
    """A lexicon of a few prefixes is learnt from ten times as many pairs, read one by one."""

    class Read:
        def __init__(self, count):
            self.count = count

        def __len__(self):
            return self.count

        def __iter__(self):
            return (Pair(tuple(pair.source), tuple(pair.target)) for pair in islice(cycle(some), self.count))

    def peak(count):
        tracemalloc.start()
        Statistical(ibm1_steps=1, hmm_steps=1).fit(Read(count))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    some = translations(100, seed=4)[0]
    monkeypatch.setattr(sliced_lexicon, "SLICE", 1000)
    monkeypatch.setattr(batches, "CELLS", 500)
    monkeypatch.setattr(temporary_array, "IN_MEMORY", 1)
    peak(10)
    small, large = peak(200), peak(2000)
    assert large - small < 60 * 1800, f"{(large - small) / 1800:.0f} bytes more for each pair more"


def test_the_batch_size_changes_almost_nothing(text, monkeypatch):
    expected = fitted(text[0]).align(text[0])
    monkeypatch.setattr(batches, "CELLS", 100)
    for some, others in zip(fitted(text[0]).align(text[0]), expected, strict=True):
        assert points(some) == points(others)
        assert [link.probability for link in some] == pytest.approx([link.probability for link in others], abs=1e-4)


def test_aligns_even_if_there_is_nothing_to_learn_from(text, tmp_path):
    fitted(text[0]).save(tmp_path)
    known = Statistical(priors=str(tmp_path)).align(text[0])
    for pairs in ([], [Pair((), ("zb",))]):
        assert isinstance(fitted(pairs).align(text[0][:1])[0], tuple)
        found = fitted(pairs, priors=str(tmp_path)).align(text[0])
        assert [*map(points, found)] == [*map(points, known)], "what was known is not forgotten"


def test_fit_starts_from_scratch(text):
    aligner = fitted([Pair(("ab",), ("zc",))] * 50)
    aligner.fit(text[0])
    assert aligner.align(text[0]) == fitted(text[0]).align(text[0])


def test_shows_its_progress(text):
    """Also within a step, because it takes minutes with many pairs."""
    shown: list[tuple[int, str]] = []

    class Seen(Progress):
        def advance(self, items: int = 1, *, resumed: bool = False, note: str = "") -> None:
            super().advance(items, resumed=resumed, note=note)
            shown.append((self.done, self.note))

    pairs = text[0] * 80  # more than are processed at once
    progress = Seen("align", quiet=True)
    Statistical(ibm1_steps=2, hmm_steps=1).fit(pairs, Training(progress=progress))
    assert progress.done == progress.total == 3 * len(pairs)
    assert [note for _, note in shown[:2]] == ["step 1 of 3"] * 2
    assert 0 < shown[0][0] < len(pairs)
    assert shown[-1][1] == "step 3 of 3"


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": 0.0},
        {"threshold": 1.0},
        {"null_probability": 0.0},
        {"prefix": -1},
        {"string_similarity": -0.1},
        {"string_similarity": 1e300},
        {"ibm1_steps": -1},
        {"ibm1_steps": 10**20},
        {"hmm_steps": -1},
        {"max_pairs": -1},
        {"max_words": 0},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(SettingsError, match=next(iter(settings))):
        Statistical(**settings)


def test_priors_suffice_without_learning(text, tmp_path):
    """If nothing is learnt, no pair is read before it is aligned."""
    aligner = fitted(text[0])
    aligner.save(tmp_path)
    again = Statistical(priors=str(tmp_path), learn=False)
    again.fit(None)
    assert again.align(text[0]) == aligner.align(text[0])
    with pytest.raises(SettingsError, match="learn is false, but priors names no folder"):
        Statistical(learn=False)


def test_learns_the_same_from_pairs_read_from_files_as_from_a_list(text):
    class Read:
        def __len__(self):
            return len(text[0])

        def __iter__(self):
            return iter(text[0])

    for most in (0, 10, 10**6):
        aligner, other = Statistical(max_pairs=most), Statistical(max_pairs=most)
        aligner.fit(Read())
        other.fit(text[0])
        assert aligner.align(text[0]) == other.align(text[0])


def test_refuses_to_align_or_save_before_fit(tmp_path):
    for call in (lambda: Statistical().align([]), lambda: Statistical().save(tmp_path)):
        with pytest.raises(UnfittedError, match="call fit"):
            call()


class TestAdvice:
    @pytest.mark.parametrize(("installed", "few"), [(True, 150), (True, 149), (False, 150)])
    def test_recommends_the_ensemble_for_few_pairs(self, text, monkeypatch, installed, few):
        monkeypatch.setattr(statistical, "FEW", few)
        monkeypatch.setattr(bundled, "is_installed", lambda name: installed)
        with collected_notes() as notes:
            fitted(text[0])
        assert ['learns from only 150 pairs. With so few, the aligner "ensemble"' in note for note in notes] == (
            [True] if installed and few == 150 else []
        )

    def test_recommends_nothing_without_pairs(self, monkeypatch):
        monkeypatch.setattr(bundled, "is_installed", lambda name: True)
        with collected_notes() as notes:
            fitted([])
        assert notes == []

    def test_recommends_nothing_with_priors_or_suggestions(self, text, monkeypatch, tmp_path, aligner):
        monkeypatch.setattr(bundled, "is_installed", lambda name: True)
        aligner.save(tmp_path / "known")
        suggested = Statistical()
        suggested.use_suggestions(Suggestions(lambda pairs: [()] * len(pairs), 1.0, 1.0, 10))
        with collected_notes() as notes:
            fitted(text[0], priors=str(tmp_path / "known"))
            suggested.fit(text[0])
        assert notes == []
