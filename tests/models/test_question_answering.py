from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from low_rank import adapters, add_adapters, save_adapters
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    RobertaConfig,
    RobertaForQuestionAnswering,
)

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.models import question_answering
from nersery.models.bundled_models import bundled_heads
from nersery.models.passes import WINDOWS
from nersery.models.pretrained.loading import ModelSource
from nersery.models.question_answering import ExtractedAnswer, QuestionAnswerer, best_spans
from nersery.models.subwords.pair_inputs import PairEncoder, SpecialTokens
from nersery.models.subwords.subwords import SubwordEncoder
from tests.conftest import TINY, build_tokenizer

QUESTIONS = ["Who wrote it ?", "Which place is named in the text ?"]
SENTENCES = [
    "Ada Lovelace wrote the first program in London .".split(),
    "Grace Hopper spoke about compilers in Boston and New York .".split(),
    ["Oslo"],
    ["दिल्ली", "में", "।"],
    ["👩‍👩‍👧", "\u200b", "[SEP]"],
    ["Ada", "Lovelace"] * 50,
    ["x" * 400, "sells", "cars"],
]
PAIRS = [(question, sentence) for sentence in SENTENCES for question in QUESTIONS]
CLS, SEP = 2, 3
MAX_BYTES = 4_000_000
QA_HEAD = bundled_heads.QUESTION_ANSWERING["bundled"]
LAYER = "bert.encoder.layer.2.output.dense.weight"
TEMPLATES = {"bert": "[CLS] $A [SEP] $B:1 [SEP]:1", "roberta": "[CLS] $A [SEP] [SEP] $B [SEP]"}


def build(folder: Path, kind: str) -> str:
    """A folder with a tiny question-answering model whose scores differ clearly."""
    build_tokenizer("bytes" if kind == "roberta" else "wordpiece", folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=TEMPLATES[kind], special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    settings = {**TINY, "vocab_size": 500, "initializer_range": 0.3}
    if kind == "bert":
        network: Any = BertForQuestionAnswering(BertConfig(**settings))
    else:
        network = RobertaForQuestionAnswering(RobertaConfig(**settings, type_vocab_size=1))
    network.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("bert"), "bert")


def ask(
    answerer: QuestionAnswerer, pairs: Sequence[tuple[str, list[str]]], **limits: int
) -> list[list[ExtractedAnswer]]:
    questions, sentences = zip(*pairs, strict=True)
    return answerer.answers(questions, sentences, **{"top": 3, "longest": 4, **limits})


def by_hand(model: str, question: str, words: list[str], top: int, longest: int) -> list[ExtractedAnswer]:
    """Answers computed with transformers and plain loops, for one pair that fits."""
    source = ModelSource(model)
    tokenizer, network = source.tokenizer(), source.question_answering().eval()
    is_roberta = network.config.model_type == "roberta"
    asked = tokenizer(question, add_special_tokens=False)["input_ids"]
    front = [CLS, *asked, SEP, SEP] if is_roberta else [CLS, *asked, SEP]
    subwords = [
        tokenizer(" " * is_roberta + word, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        or [tokenizer.unk_token_id]
        for word in words
    ]
    ids = [*front, *(subword for word in subwords for subword in word), SEP]
    types = [0] * len(front) + [0 if is_roberta else 1] * (len(ids) - len(front))
    with torch.no_grad():
        output = network(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
    starts, ends = (logits[0].softmax(0).tolist() for logits in (output.start_logits, output.end_logits))
    borders = list(accumulate(map(len, subwords), initial=len(front)))
    found = []
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + longest) + 1):
            chance = max(starts[borders[start] : borders[start + 1]]) * max(ends[borders[end - 1] : borders[end]])
            found.append(ExtractedAnswer(start, end, chance / (chance + starts[0] * ends[0])))
    kept: list[ExtractedAnswer] = []
    for answer in sorted(found, key=lambda answer: -answer.score):
        if len(kept) < top and all(answer.end <= other.start or answer.start >= other.end for other in kept):
            kept.append(answer)
    return kept


def test_answers_equal_those_of_a_plain_reference(model: str) -> None:
    answerer = QuestionAnswerer(ModelSource(model), device="cpu", precision="fp32")
    short = [pair for pair in PAIRS if sum(map(len, pair[1])) < 200]
    assert len(short) == 10
    for pair, found in zip(short, ask(answerer, short), strict=True):
        expected = by_hand(model, *pair, top=3, longest=4)
        assert [answer[:2] for answer in found] == [answer[:2] for answer in expected]
        assert [answer.score for answer in found] == pytest.approx([answer.score for answer in expected], abs=1e-4)


def test_scores_cover_most_of_the_range(bert: str) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    scores = [answer.score for found in ask(answerer, PAIRS) for answer in found]
    assert min(scores) < 0.4 < 0.6 < max(scores)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_pairs_in_the_batch_do_not_change_a_bit(bert: str, precision: Any) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision=precision)
    words = [*SENTENCES[0], *SENTENCES[1]]
    many = [*PAIRS, *((QUESTIONS[n % 2], random.Random(n).choices(words, k=n % 9 + 1)) for n in range(40))]
    together = ask(answerer, many)
    assert [ask(answerer, [pair])[0] for pair in many] == together
    assert ask(answerer, many[::-1])[::-1] == together


def test_each_row_of_a_batch_gives_the_same_score(bert: str) -> None:
    pair = ("Which place is mentioned?", ["Ada", "saw", "Oslo", "there"])
    for top in range(1, 5):
        answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
        found = ask(answerer, [pair] * WINDOWS, top=top, longest=4)
        assert found == found[:1] * WINDOWS


def test_the_chunk_size_does_not_matter(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    expected = ask(answerer, PAIRS)
    monkeypatch.setattr(question_answering, "CHUNK", 3)
    questions, sentences = zip(*PAIRS, strict=True)
    assert answerer.answers(questions, sentences, top=3, longest=4) == expected


def test_answers_are_short_and_do_not_overlap(model: str) -> None:
    answerer = QuestionAnswerer(ModelSource(model), device="cpu", precision="fp32")
    for (_, words), found in zip(PAIRS, ask(answerer, PAIRS, top=4, longest=2), strict=True):
        taken = [word for answer in found for word in range(answer.start, answer.end)]
        assert len(taken) == len(set(taken))
        assert set(taken) <= set(range(len(words)))
        assert all(1 <= answer.end - answer.start <= 2 for answer in found)
        assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)
        most = 4 * -(-len(words) // question_answering.STRETCH)
        assert len(found) <= most
        assert len(found) == most or len(found) >= min(4, len(words) / 3)


def test_answers_may_be_at_the_end_of_a_long_sentence(bert: str) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    words = ["Ada", "wrote"] * 60
    (found,) = ask(answerer, [(QUESTIONS[0], words)], top=200, longest=1)
    assert sorted(answer.start for answer in found) == list(range(120))
    other, same = ask(answerer, [(QUESTIONS[0], [*words[:-1], "Oslo"]), (QUESTIONS[0], words)], top=200, longest=1)
    assert sorted(other) != sorted(same) == sorted(found)


def test_a_longer_sentence_may_have_more_answers(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    pairs = [(QUESTIONS[0], ["Ada", "wrote"] * count) for count in (25, 26, 50, 51, 60)]
    assert [len(found) for found in ask(answerer, pairs, top=2, longest=1)] == [2, 4, 4, 6, 6]
    monkeypatch.setattr(question_answering, "STRETCH", 4)
    together = ask(answerer, PAIRS)
    assert all(len(found) > 3 for found in together[2:4])
    assert [ask(answerer, [pair])[0] for pair in PAIRS] == together, "however many its neighbours may have"


def test_an_empty_sentence_has_no_answer(bert: str) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    assert ask(answerer, [(QUESTIONS[0], []), (QUESTIONS[0], ["Oslo"])])[0] == []
    assert answerer.answers([], [], top=1, longest=1) == []


def test_best_spans_do_not_overlap_and_end_after_they_begin() -> None:
    none = -torch.inf
    starts = torch.tensor([[0.0, 1.0, 9.0, 0.0, none], [none] * 5])
    ends = torch.tensor([[9.0, 0.0, 0.0, 5.0, none], [none] * 5])
    spans, scores = best_spans(starts, ends, top=4, longest=2)
    assert spans[0].tolist() == [[2, 4], [0, 1], [1, 2], [0, 0]]
    assert scores[0].tolist() == [14.0, 9.0, 1.0, none]
    assert spans[1].tolist() == [[0, 0]] * 4
    assert best_spans(starts, ends, top=1, longest=99)[0][0].tolist() == [[2, 4]]


def test_refuses_empty_and_too_long_questions(bert: str) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    answerer.check_questions(QUESTIONS)
    for question, reason in ((" ", "empty"), ("who " * 40, "Shorten")):
        with pytest.raises(SettingsError, match=reason):
            answerer.check_questions([question])
        with pytest.raises(SettingsError, match=reason):
            ask(answerer, [(question, ["Oslo"])])


def test_refuses_nan(bert: str) -> None:
    answerer = QuestionAnswerer(ModelSource(bert), device="cpu", precision="fp32")
    with torch.no_grad():
        answerer.network.qa_outputs.bias.fill_(float("nan"))
    with pytest.raises(SettingsError, match="fp32"):
        ask(answerer, PAIRS[:1])


def test_refuses_other_kinds_of_models_by_name(tmp_path: Path, tiny_model: str) -> None:
    with pytest.raises(MissingResourceError, match="is a BertModel; expected an extractive question-answering"):
        QuestionAnswerer(ModelSource(tiny_model))
    build_tokenizer("wordpiece", tmp_path)
    BertForMaskedLM(BertConfig(vocab_size=500, **TINY)).save_pretrained(tmp_path)
    with pytest.raises(MissingResourceError, match="is a BertForMaskedLM"):
        QuestionAnswerer(ModelSource(str(tmp_path)))


def test_refuses_a_model_without_its_head(tmp_path: Path) -> None:
    folder = build(tmp_path, "bert")
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "qa_outputs" not in name}
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(MissingResourceError, match="qa_outputs"):
        QuestionAnswerer(ModelSource(folder))


def test_templates_are_those_of_the_tokenizer(model: str) -> None:
    tokenizer = ModelSource(model).tokenizer()
    template = SpecialTokens.of(tokenizer)
    ids, a, b = (tokenizer(*texts)["input_ids"] for texts in (("Ada", "Oslo"), ("Ada",), ("Oslo",)))
    assert [*template.front, *a[1:-1], *template.middle, *b[1:-1], *template.back] == ids
    assert template.types == ((0, 0, 0, 1, 1) if len(template.middle) == 1 else (0,) * 5)
    assert (template.length, template.summary) == (len(ids) - len(a) - len(b) + 4, 0)


def test_finds_a_class_token_at_the_end(bert: str) -> None:
    tokenizer = ModelSource(bert).tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP] [CLS]", pair="$A [SEP] $B [SEP] [CLS]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    pairs = PairEncoder(SubwordEncoder(tokenizer))
    batch = pairs.collate(pairs.windows(QUESTIONS, [["Oslo"], ["Ada", "wrote"]]))
    assert batch.inputs["input_ids"].gather(1, batch.summaries.unsqueeze(1)).tolist() == [[CLS], [CLS]]
    assert "token_type_ids" not in batch.inputs


def fresh() -> Any:
    """The installed encoder under an untrained head."""
    return ModelSource("bundled").model("AutoModelForQuestionAnswering")


def test_saved_adapters_restore_the_weights_nearly_exactly(tmp_path: Path) -> None:
    trained, path = fresh(), tmp_path / "learnt.safetensors"
    weights = dict(trained.named_parameters())
    chance = torch.Generator().manual_seed(0)
    up, down = torch.randn(384, 2, generator=chance) / 50, torch.randn(2, 1536, generator=chance) / 50
    add_adapters(trained, bundled_heads.LAYERS, 2)
    adapter = dict(adapters(trained))[LAYER]
    adapter.up.data, adapter.down.data = up, down
    save_adapters(trained, path, [bundled_heads.EMBEDDINGS + "weight"])
    with torch.no_grad():
        weights[LAYER] += up @ down
    again = fresh()
    bundled_heads.add_head(again, path, "question-answering model")
    for name, weight in again.named_parameters():
        assert torch.allclose(weight, weights[name], atol=5e-4), name


def test_refuses_an_incomplete_file(tmp_path: Path) -> None:
    path = tmp_path / "learnt.safetensors"
    with pytest.raises(MissingResourceError, match=r"is not at .*learnt\.safetensors"):
        bundled_heads.add_head(fresh(), path, "question-answering model")
    tensors = load_file(QA_HEAD)
    for part in (LAYER + bundled_heads.DOWN, LAYER + bundled_heads.UP, "qa_outputs.bias"):
        save_file({name: tensor for name, tensor in tensors.items() if name != part}, path)
        with pytest.raises(MissingResourceError, match=r"learnt\.safetensors is damaged: .*(layer\.2|qa_outputs)"):
            bundled_heads.add_head(fresh(), path, "question-answering model")
    path.write_bytes(QA_HEAD.read_bytes()[:-1])
    with pytest.raises(MissingResourceError, match="is damaged"):
        bundled_heads.add_head(fresh(), path, "question-answering model")


def test_the_bundled_head_is_small_and_finds_persons(capsys: pytest.CaptureFixture[str]) -> None:
    assert QA_HEAD.stat().st_size <= MAX_BYTES
    answerer = QuestionAnswerer(ModelSource("bundled"), device="cpu", precision="fp32")
    sentences = ["ada lovelace lived in london .".split(), "the bridge was closed at night .".split()]
    found, none = ask(
        answerer, [("Who is the named person or family mentioned in texts?", words) for words in sentences]
    )
    assert found[0][:2] == (0, 2)
    assert found[0].score > 0.5 > none[0].score
    answerer.warn_if_unsuited(sentences[0])
    assert capsys.readouterr().err == ""


def test_warns_of_text_that_the_model_does_not_suit(capsys: pytest.CaptureFixture[str]) -> None:
    answerer = QuestionAnswerer(ModelSource("bundled"), device="cpu", precision="fp32")
    answerer.warn_if_unsuited(["Ada"])
    assert "lower case only" in capsys.readouterr().err
    answerer.warn_if_unsuited(["ada"], {"de", "en"})
    assert "e.g. bundled-multilingual (extra multilingual) or deepset" in capsys.readouterr().err
    answerer.warn_if_unsuited(["ada"], {"got"})
    assert (
        "there is text in got. Its answers will be poor. Name a question-answering model of the language, e.g. deep"
        in (capsys.readouterr().err)
    )
    answerer.warn_if_unsuited(["ᚠᚢᚦᚨᚱᚲ"])
    assert "made for other languages" in capsys.readouterr().err
