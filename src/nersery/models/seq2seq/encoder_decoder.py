"""Encoder-decoders: fine-tuning on pairs of texts, and sampling."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from nersery.core.batched import batched
from nersery.core.errors import DataError, MissingResourceError, NerseryError, beginning, is_lack_of_memory
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import Precision
from nersery.core.warnings import warn
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, position_count
from nersery.models.seq2seq.generation import Sampler, SamplingRequest
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.seq2seq.seq2seq_tokenization import WITH_GAPS, Seq2SeqTokenization
from nersery.models.subwords.token_embeddings import add_rows, output_at
from nersery.models.tokens import TOKEN_PREFIX
from nersery.models.training.cross_entropy import mean_cross_entropy
from nersery.models.training.trainer import History, TrainingPlan, seeded, train

Example = TypeVar("Example")
DEV_ROWS = 16
"""Pairs per pass when the loss on dev is measured."""
COMPOSED_MODEL = "encoder-decoder"
"""The model type of an EncoderDecoderModel, such as two BERTs."""
MAX_SPLIT_SHARE = 0.05
"""Warn from this share of words that the model writes as several."""


@dataclass(frozen=True, slots=True)
class TokenizedPair:
    """A pair in subwords.

    Args:
        source: The subwords of the source, with special tokens.
        decoder_prefix: The decoder input before the target.
        target: The subwords of the target, and the end token.
    """

    source: tuple[int, ...]
    decoder_prefix: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def decoder_input(self) -> tuple[int, ...]:
        """The decoder input: at the place of each subword of the target, the subword before it."""
        return (*self.decoder_prefix, *self.target[:-1])


class Seq2Seq:
    """An encoder-decoder over words.

    Args:
        source: Any encoder-decoder with a mask token or sentinels, by name or folder.
        language: Language of texts that have none, for models with language codes.

    Raises:
        MissingResourceError: If there is no such model, or it cannot fill gaps or write texts.
        SettingsError: If it has no code for the language.
    """

    def __init__(
        self, source: ModelSource, device: str = "auto", precision: Precision = "auto", language: str = ""
    ) -> None:
        self.source, self.precision, self.language = source, precision, language
        self.tokenization = tokenization_of(source, language)
        self.network: Any = source.model("AutoModelForSeq2SeqLM", whole=True).to(pick_device(device)).eval()
        read, learnt = position_count(self.network), self.tokenization.subwords.tokenizer.model_max_length
        self.longest = int(min(read or learnt, learnt))
        self._check_generation()

    def _check_generation(self) -> None:
        """Write a few subwords. Some models of transformers cannot, which should show before hours of fine-tuning."""
        (word,) = self.tokenization.subwords.subwords(["a"])
        request = SamplingRequest(word, word[:1], -1, random.Random(0))
        try:
            with autocast(self.network.device, self.precision):
                self._sampler(Sampling(top_k=1, candidates=1, max_subwords=2)).draw([request])
        except Exception as error:  # of any class, from the code of the model
            if isinstance(error, NerseryError) or is_lack_of_memory(error):
                raise
            raise MissingResourceError(
                f'the model "{self.source.name}" is {type(self.network).__name__}, which cannot write a text subword '
                f"by subword, as BART and T5 can: {beginning(' '.join(str(error).split()), 100)}. Name another "
                f"encoder-decoder, e.g. {WITH_GAPS}"
            ) from error

    def _sampler(self, sampling: Sampling) -> Sampler:
        suppressed = self.tokenization.unnamed_ids(self.network.get_output_embeddings().weight.shape[0])
        pad, longest = self.tokenization.subwords.pad, self.longest
        return Sampler(self.network, self.source, sampling, pad=pad, suppressed=suppressed, longest=longest)

    # --- words ------------------------------------------------------------------------------------------------------

    def add_tokens(self, descriptions: Mapping[str, str]) -> None:
        """Add new tokens; see `nersery.models.subwords.token_embeddings.add_rows`.

        Raises:
            SettingsError: If the model cannot be extended.
        """
        instead = f'"{self.source.name}" cannot be given new tokens. Name another, e.g. {WITH_GAPS}'
        self.tokenization.add_names(add_rows(self.network, self.tokenization.subwords, descriptions, instead=instead))

    def written(self, words: Sequence[str]) -> tuple[str, ...]:
        """Words as the model writes them. Not every vocabulary can write all words."""
        return self.tokenization.words(self.tokenization.target(words))

    def parts(self, word: str) -> tuple[str, ...]:
        """See `Seq2SeqTokenization.parts`."""
        return self.tokenization.parts(word)

    def length_issue(self, pair: TextPair) -> str:
        """The reason why a text of a pair does not fit into the model; empty if both fit."""
        if not self.tokenization.has_marks_for(pair.source):
            return "the source has more gaps than the model has sentinels"
        frame = self.tokenization.frame(pair.language or self.language)
        source = len(self.tokenization.source(pair.source, frame))
        target = len(frame.decoder_prefix) + len(self.tokenization.target(pair.target))
        if max(source, target) <= self.longest:
            return ""
        name, length = ("source", source) if source > self.longest else ("target", target)
        return f"the {name} has {length} subwords, but the model reads at most {self.longest}"

    # --- fine-tuning ------------------------------------------------------------------------------------------------

    def fine_tune(
        self,
        items: Sequence[Example],
        pair: Callable[[Example, random.Random], TextPair],
        plan: TrainingPlan,
        *,
        dev: Sequence[Example] = (),
        seed: int = 0,
        **keeping: Any,
    ) -> History:
        """Learn to turn sources into targets. The loss is the mean over the subwords of the targets.

        Args:
            pair: Makes a pair from an item, again in every epoch.
            dev: Items to choose the best epoch by, with fixed pairs. Empty keeps the last epoch.
            keeping: ``progress``, ``folder`` and ``fingerprint`` of `nersery.models.training.trainer.train`.

        Raises:
            DataError: If a pair does not fit; see `length_issue`.
        """

        def draw(item: Example, index: int, epoch: int, split: str = "train") -> TokenizedPair:
            return self._row(pair(item, item_rng(seed, split, index, epoch)))

        dev_rows = [draw(item, index, 0, "dev") for index, item in enumerate(dev)]
        with seeded(seed):
            return train(
                self.network,
                items,
                lambda rows: mean_cross_entropy(*self._scored(rows)),
                plan,
                seed=seed,
                evaluate=(lambda: -self._mean_loss(dev_rows)) if dev_rows else None,
                draw=draw,
                **keeping,
            )

    def _row(self, pair: TextPair) -> TokenizedPair:
        if issue := self.length_issue(pair):
            raise DataError(
                f'a text does not fit the model "{self.source.name}": {issue}. It begins '
                f'"{beginning(" ".join(pair.source or pair.target).replace(TOKEN_PREFIX, ""))}"',
                fix="leave such sentences out, or name a model that reads longer texts",
            )
        frame = self.tokenization.frame(pair.language or self.language)
        target = (*self.tokenization.target(pair.target), frame.end)
        return TokenizedPair(self.tokenization.source(pair.source, frame), frame.decoder_prefix, target)

    def _losses(self, rows: Sequence[TokenizedPair]) -> Tensor:
        """The loss of each subword of the targets. Shape: (subwords of all targets)."""
        scores, targets = self._scored(rows)
        return nn.functional.cross_entropy(scores.float(), targets, reduction="none")

    def _scored(self, rows: Sequence[TokenizedPair]) -> tuple[Tensor, Tensor]:
        """Scores at all subwords of the targets, and these subwords. Shapes: (subwords, vocabulary), (subwords)."""
        device, pad = self.network.device, self.tokenization.subwords.pad
        sources = _padded([row.source for row in rows], pad, device)
        mask = _padded([(1,) * len(row.source) for row in rows], 0, device)
        shown = _padded([row.decoder_input for row in rows], pad, device)
        places = [
            (number, len(row.decoder_prefix) - 1 + i) for number, row in enumerate(rows) for i in range(len(row.target))
        ]
        row_numbers, positions = torch.tensor(places, device=device).T
        with output_at(self.network, row_numbers, positions):
            output = self.network(input_ids=sources, attention_mask=mask, decoder_input_ids=shown, use_cache=False)
        logits = output.logits if output.logits.ndim == 2 else output.logits[row_numbers, positions]
        return logits, torch.tensor([subword for row in rows for subword in row.target], device=device)

    @torch.no_grad()  # not inference_mode; see `autocast`
    def _mean_loss(self, rows: Sequence[TokenizedPair]) -> float:
        ordered = sorted(rows, key=lambda row: len(row.source))
        with autocast(self.network.device, self.precision):
            parts = [self._losses(part) for part in batched(ordered, DEV_ROWS)]
        return float(torch.cat(parts).mean())

    # --- generation -------------------------------------------------------------------------------------------------

    def generate(
        self, sources: Sequence[TextPair | None], rngs: Sequence[random.Random], sampling: Sampling
    ) -> list[Generated | None]:
        """A text for each source, independent of the other sources. None without a source, or if it does not fit.

        Args:
            sources: Pairs without targets.
            rngs: One for each source, the only source of randomness.
        """
        sampler = self._sampler(sampling)
        requests: dict[int, SamplingRequest] = {}
        for number, (pair, rng) in enumerate(zip(sources, rngs, strict=True)):
            if pair is not None and not self.length_issue(pair):
                frame = self.tokenization.frame(pair.language or self.language)
                subwords = self.tokenization.source(pair.source, frame)
                requests[number] = SamplingRequest(subwords, frame.decoder_prefix, frame.end, rng)
        with autocast(self.network.device, self.precision):
            hypotheses = dict(zip(requests, sampler.draw([*requests.values()]), strict=True))
        texts = {
            number: Generated(self.tokenization.words(hypothesis.subwords), hypothesis.mean, hypothesis.finished)
            for number, hypothesis in hypotheses.items()
        }
        return [texts.get(number) for number in range(len(sources))]


def tokenization_of(source: ModelSource, language: str = "") -> Seq2SeqTokenization:
    """The tokenization of a model, without loading its weights.

    Raises:
        MissingResourceError: If there is no such model, or it cannot fill gaps or learn tag tokens.
        SettingsError: If it has no code for the language.
    """
    config = source.config()
    if not config.is_encoder_decoder:
        kind = " or ".join(config.architectures or ()) or f"of the type {config.model_type}"
        raise MissingResourceError(
            f'the model "{source.name}" is {kind}, not an encoder-decoder, so it cannot turn one text into another. '
            f"Name an encoder-decoder, e.g. {WITH_GAPS}"
        )
    if config.model_type == COMPOSED_MODEL:
        raise MissingResourceError(
            f'the model "{source.name}" combines a separate encoder and decoder (EncoderDecoderModel), so tag tokens '
            "cannot be added to its vocabulary. Name an encoder-decoder that was pretrained as one model, e.g. "
            f"{WITH_GAPS}"
        )
    tokenization = Seq2SeqTokenization(source.name, source.tokenizer(), config)
    if language:
        tokenization.frame(language)
    return tokenization


def fitting_sentences(
    model: Seq2Seq, sentences: Sequence[Sentence], issue_of: Callable[[Sentence], str], *, is_dev: bool = False
) -> list[Sentence]:
    """Return the sentences that fit into the model, and warn about the others.

    Args:
        issue_of: Returns why a sentence, in the form that the model reads, does not fit; empty if it fits.
        is_dev: Whether the sentences only serve to choose the weights. Then it is no error if no sentence fits.

    Raises:
        DataError: If no sentence fits, unless ``is_dev``.
    """
    issues = {sentence: issue for sentence in sentences if (issue := issue_of(sentence))}
    fit = [sentence for sentence in sentences if sentence not in issues]
    if len(fit) == len(sentences):
        return fit
    kind, (sentence, issue) = "dev sentence" if is_dev else "sentence", next(iter(issues.items()))
    amount = f"{len(sentences) - len(fit)} of {len(sentences)} {kind}s do not fit"
    amount = amount if fit else f"no {kind} of {len(sentences)} fits"
    message = f'{amount} the model "{model.source.name}", e.g. {sentence.id}: {issue}'
    if not fit and not is_dev:
        raise DataError(message, fix="split the text into sentences, or name another model")
    warn(f"{message}. {'Its weights are chosen without' if is_dev else 'It does not learn from'} them")
    return fit


def warn_of_words_apart(model: Seq2Seq, gold: Iterable[Sentence]) -> None:
    """Warn if the model writes many words as several, because its new words will be split in the same way."""
    words = [word for sentence in gold for word in sentence.words]
    apart = [word for word in words if len(model.parts(word)) > 1]
    if len(apart) > MAX_SPLIT_SHARE * len(words):
        warn(
            f'the model "{model.source.name}" splits {100 * len(apart) / len(words):.0f} % of the words, '
            f'e.g. "{apart[0]}" into "{" ".join(model.parts(apart[0]))}", and its new words will be split the same '
            f"way. Name an encoder-decoder that keeps words whole, e.g. {WITH_GAPS}"
        )


def _padded(rows: Sequence[tuple[int, ...]], pad: int, device: torch.device) -> Tensor:
    """Rows padded at the end. Shape: (rows, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([row + (pad,) * (longest - len(row)) for row in rows], device=device)
