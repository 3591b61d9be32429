"""A transformer encoder with a linear layer on the first subword of each word, and optionally a CRF.

It is saved as an ordinary Hugging Face token-classification model.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import unfitted
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import NotNegative, Positive, Range, RateBelowOne
from nersery.core.settings.typed_settings import hidden, settings_of
from nersery.core.system.files import os_errors
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import advise
from nersery.models.bundled_models import bundled, known_languages
from nersery.models.packed.packed_encoder import can_pack, in_one_row
from nersery.models.passes import PassShape
from nersery.models.pretrained.loading import (
    ModelSource,
    autocast,
    pick_device,
    position_count,
    quiet_transformers,
    refuse_nan,
)
from nersery.models.pretrained.model_folder import reads_plain_text
from nersery.models.pretrained.model_settings import ModelSettings
from nersery.models.pretrained.sizes import parameters_of
from nersery.models.subwords.collation import collate
from nersery.models.subwords.joined_characters import WordGroups, with_joined_characters
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import Window
from nersery.models.training.monte_carlo_dropout import dropout_layers
from nersery.models.training.trainer import TrainingPlan, seeded
from nersery.models.training.vocabulary_pruning import pruned_vocabulary
from nersery.taggers.base import Tagger, require_labels
from nersery.taggers.networks.emissions import emissions
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.decoding import Decoding
from nersery.taggers.output_layer.pretrained_head import known_tags, network_with_head, outline, set_dropout
from nersery.taggers.output_layer.tag_set import TagSet
from nersery.taggers.output_layer.tagging_loss import LabelledWindow, disagreement, examples, loss
from nersery.taggers.tagger_folder.crf_file import CRF_FILE, fit_transitions, load_crf
from nersery.taggers.tagger_folder.description import DESCRIPTION, from_settings, read_description, write_description
from nersery.taggers.tagger_folder.onnx_network import ONNX_FILE, OnnxNetwork
from nersery.taggers.training.tagger_training import plan_of, train_tagger
from nersery.taggers.training.training_settings import TrainingSettings

Head = Literal["linear", "crf"]
SHALLOW, SHALLOW_RATE, DEEP_RATE = 6, 1e-4, 4e-5
"""Encoders with up to this number of layers use the first learning rate; deeper encoders use the second."""
PIPELINE_FILE = Path(__file__).parent / "tagger_folder" / "crf_pipeline.py"
PIPELINE = {
    "nersery": {
        "impl": f"{PIPELINE_FILE.stem}.CrfTokenClassificationPipeline",
        "pt": ["AutoModelForTokenClassification"],
        "type": "text",
    }
}
"""Makes transformers' ``pipeline("nersery", folder, trust_remote_code=True)`` run the class beside the weights."""


@dataclass
class TransformerTagger(Decoding, Tagger, ModelSettings, TrainingSettings):
    """A pretrained encoder with a linear or CRF head on each word's first subword.

    Args:
        model: `bundled`, any encoder by Hugging Face name or folder, or a tagger to continue from. If your types are
            names, use `bundled-ner` (English) or `bundled-multilingual-ner` (36 languages).
        head: `linear` scores the tags of each word; `crf` also scores transitions.
        steps: Training steps. Without steps and epochs: 300, or three epochs if more.
        learning_rate: Peak rate of the encoder. None: 1e-4 for up to six layers (`bundled`), 4e-5 for more.
        head_learning_rate: Peak rate of new weights. None: `learning_rate`.
        clip: Maximum norm of a step's gradient.
        dropout: Dropout rate before the head, in [0, 1). None: the model's own.
        join: In scripts without spaces, join single characters into words of the encoder's vocabulary.
        max_subwords: Longest window that the model reads. None: its limit, at most 512.
        co_regularization: Weight with which two encoders learn to agree, so that wrong labels count less; 0: one
            encoder. Takes twice as long; only for a linear head.

    Reference:
        Devlin et al. (2019), BERT (first subword, linear layer); Lample et al. (2016), NAACL (CRF); Zhou and Chen
        (2021). Learning from Noisy Labels for Entity-Centric Information Extraction (co-regularization).

    Departures:
        - Linear heads are decoded by Viterbi over the legal sequences, not word by word.
        - Long sentences are read in overlapping windows.
        - Only embeddings of subwords in training data or dev are trained.
        - The weight of co-regularization is constant; its paper trains without it at first.
    """

    head: Head = "crf"
    learning_rate: Positive | None = None
    head_learning_rate: Positive | None = 2e-3
    clip: Positive = 1.0
    dropout: RateBelowOne | None = None
    max_subwords: Annotated[int, Range(8)] | None = None
    co_regularization: NotNegative = 0.0
    join: bool = True
    _peer: Any = hidden(default=None)
    _encoder: SubwordEncoder | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.co_regularization and self.head != "linear":
            raise SettingsError('co_regularization needs head = "linear", because the encoders agree about each word')

    def check(self) -> None:
        self.source.tokenizer()
        pick_device(self.device)

    def check_certainty(self) -> None:
        """See `Tagger.check_certainty`. A missing model is not an error here."""
        with suppress(MissingResourceError):
            network = outline(self.source)
            if self.dropout is not None:
                set_dropout(network, self.dropout, self.model)
            dropout_layers(network)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING, *, warm: bool = False) -> dict[str, Any]:
        """Train; see `Tagger.fit`. A type that only dev has is not learnt, and its entities count as missed."""
        require_labels(gold)
        with seeded(training.seed):
            types = types_in(gold)
            continues = warm and self._network is not None and self._tags.strict and types <= {*self._tags.types}
            network = self._network if continues else self._build(TagSet.of(types, self.scheme))
            self._warn_if_unsuited(gold, training.other_model)
            read = [longer for longer, _ in self.as_read(gold, labelled=True)]
            labelled_windows = [example for sentence in read for example in self._examples(sentence)]
            plan = self._plan(len(labelled_windows))
            with ExitStack() as pruned:
                for learner in self._learners(continues):
                    pruned.enter_context(pruned_vocabulary(learner, self._subwords(labelled_windows, training.dev)))
                self.history = train_tagger(
                    self,
                    self._trained_parts(),
                    labelled_windows,
                    self._loss,
                    plan,
                    gold,
                    training,
                    warm=warm,
                    # names are "network.bert..." or "peer.bert..."; everything outside the encoder is new
                    is_new=lambda name: not name.partition(".")[2].startswith(f"{network.base_model_prefix}."),
                )
        self.history["parameters"] = parameters_of(network)
        self._peer = None  # so that a second training starts like one after loading
        return self.history

    def _warn_if_unsuited(self, gold: Sequence[Sentence], other_model: str) -> None:
        words = [word for sentence in gold for word in sentence.words]
        present = {sentence.language for sentence in gold}
        is_unsuited = known_languages.warn_if_unsuited(
            self.model, self.encoder.vocabulary_issue(words), present, other_model, whose=" of the tagger", words=words
        )
        if not is_unsuited and bundled.is_lower_case(self.model) and any(word != word.lower() for word in words):
            better = bundled.multilingual(self.model)
            advise(
                f'"{self.model}" reads lower case only. On text with capitals, "{better}" mostly scores higher, but '
                "trains for twice as long"
            )

    def _subwords(self, labelled_windows: Sequence[LabelledWindow], dev: Sequence[Sentence]) -> set[int]:
        """All subwords that the network reads in training."""
        encoder = self.encoder
        dev = [longer for longer, _ in self.as_read(dev)]
        windows = [
            *(example.window for example in labelled_windows),
            *(w for sentence in dev for w in encoder.windows(sentence.words)),
        ]
        return {encoder.pad, *(subword for window in windows for subword in window.subwords)}

    def _plan(self, examples: int) -> TrainingPlan:
        layers = getattr(getattr(self._network, "config", None), "num_hidden_layers", SHALLOW + 1)
        default = SHALLOW_RATE if layers <= SHALLOW else DEEP_RATE
        return plan_of(self, examples, learning_rate=self.learning_rate or default)

    def _learners(self, warm: bool) -> list[Any]:
        """The networks to train; the first is the one that predicts."""
        if not self.co_regularization:
            return [self._network]
        self._peer = self._new_network(self._tags).to(self._network.device)
        if warm:
            self._peer.load_state_dict(self._network.state_dict())
        return [self._network, self._peer]

    def _trained_parts(self) -> nn.Module:
        """All parts with weights; the weights of the CRF have names that begin with ``crf``."""
        parts = {"network": self._network, "peer": self._peer, "crf": self._crf}
        return nn.ModuleDict({name: part for name, part in parts.items() if part is not None})

    def _build(self, tags: TagSet) -> Any:
        """Load a pretrained network with a new head for the tags, and use it as the tagger's network."""
        network = self._new_network(tags)
        crf = None
        if self.head == "crf":
            crf = ConditionalRandomField(tags)
            fit_transitions(crf, tags.names, self.source)
        self._adopt(network, self.source.tokenizer(), tags, crf)
        return self._network

    def _new_network(self, tags: TagSet) -> Any:
        """A pretrained network with an output for each tag; see `network_with_head`."""
        network = network_with_head(self.source, tags.names)
        if self.dropout is not None:
            set_dropout(network, self.dropout, self.model)
        return network

    def _adopt(self, network: Any, tokenizer: Any, tags: TagSet, crf: ConditionalRandomField | None) -> None:
        device = pick_device(self.device)
        self._network, self._tags = network.to(device).eval(), tags
        self._crf = crf.to(device) if crf is not None else None
        self._encoder = SubwordEncoder(tokenizer, self.max_subwords, position_count(network))

    @property
    def encoder(self) -> SubwordEncoder:
        """The encoder that splits words into the network's subwords; raises `UnfittedError` before training."""
        if self._encoder is None:
            raise unfitted(self, "predict", "fit, or load a saved tagger,")
        return self._encoder

    def use_onnx(self, folder: Path) -> None:
        """Predict by ONNX Runtime; see `Tagger.use_onnx`."""
        self._network = OnnxNetwork(folder)

    def _examples(self, sentence: Sentence) -> list[LabelledWindow]:
        return examples(self.encoder.windows(sentence.words), sentence, self._tags)

    def _loss(self, batch: Sequence[LabelledWindow]) -> Tensor:
        windows = [example.window for example in batch]
        scores, mask = self._scores(windows)
        task_loss = loss(scores, mask, batch, self._crf, self._tags)
        if self._peer is None:
            return task_loss
        peer_scores, _ = self._scores(windows, network=self._peer)
        task_loss = (task_loss + loss(peer_scores, mask, batch, None, self._tags)) / 2
        return task_loss + self.co_regularization * disagreement(scores[mask], peer_scores[mask])

    def _scores(
        self, windows: Sequence[Window], passes: int = 1, *, network: Any = None, packed: bool = False, **shape: int
    ) -> tuple[Tensor, Tensor]:
        """The scores of each tag at each word's first subword, pass after pass over all windows, and the word mask.

        Shape: (passes * windows, words, tags) and (windows, words).

        Args:
            network: None for the network that predicts.
            packed: Read the windows packed into one row.
        """
        network, encoder = self.network if network is None else network, self.encoder
        batch = collate(windows, encoder.pad, longest=encoder.max_subwords, **shape).to(network.device)
        ids, attention_mask, firsts = (
            t.repeat(passes, 1) for t in (batch.input_ids, batch.attention_mask, batch.firsts)
        )
        forward = partial(in_one_row, network) if packed else network
        with nullcontext() if packed else reads_plain_text(self.model):
            logits = forward(input_ids=ids, attention_mask=attention_mask).logits
        rows = torch.arange(len(logits), device=logits.device).unsqueeze(1)
        return logits[rows, firsts], batch.word_mask

    def as_read(self, sentences: Sequence[Sentence], *, labelled: bool = False) -> list[tuple[Sentence, WordGroups]]:
        """Characters that the vocabulary has as one word are joined; see `Decoding.as_read`."""
        if not self.join:
            return super().as_read(sentences)
        return [
            with_joined_characters(sentence, self.encoder.tokenizer.tokenize, labelled=labelled)
            for sentence in sentences
        ]

    def _emissions(
        self, sentences: Sequence[Sentence], progress: Progress | None = None, *, dropout_passes: int = 0
    ) -> list[Tensor]:
        network, encoder = self.network, self.encoder
        network.eval()
        packed, passes = not dropout_passes and can_pack(network), dropout_passes or 1

        def score(windows: Sequence[Window], shape: PassShape) -> Tensor:
            scores, _ = self._scores(windows, passes, packed=packed, **shape)
            refuse_nan(scores, self.source)
            return scores.view(passes, -1, *scores.shape[1:])

        with autocast(network.device, self.precision):
            windows = [encoder.windows(sentence.words) for sentence in sentences]
            return emissions(windows, score, passes=passes, packed=packed, device=network.device, progress=progress)

    def save(self, folder: str | Path) -> None:
        """Write a Hugging Face folder, with the CRF in a separate file and with the description file."""
        network, encoder = self.network, self.encoder
        config = network.config  # raises for an ONNX export, before anything is removed
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (CRF_FILE, PIPELINE_FILE.name, ONNX_FILE):
            (folder / name).unlink(missing_ok=True)  # the file of an earlier tagger in the folder
        vars(config).pop("custom_pipelines", None)  # the entry of the tagger that this one was trained from
        if self._crf is not None:
            config.custom_pipelines = PIPELINE
            shutil.copyfile(PIPELINE_FILE, folder / PIPELINE_FILE.name)
        with os_errors(folder), quiet_transformers():
            network.save_pretrained(folder)
            encoder.tokenizer.save_pretrained(folder)
            if self._crf is not None:
                save_file(self._crf.state_dict(), folder / CRF_FILE)
        settings = {**settings_of(self), "head": "linear" if self._crf is None else "crf"}
        write_description(folder, self, settings)

    @classmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Self:
        """Read a tagger that `save` wrote, or a Hugging Face token-classification model by folder or name.

        The caller chooses ``trust_remote_code`` and ``device``, because the folder may come from someone else.
        """
        saved = read_description(folder)
        if not saved and (Path(folder) / CRF_FILE).is_file():
            raise MissingResourceError(f"{folder} is damaged: it has {CRF_FILE}, but no {DESCRIPTION}. Save it again")
        settings = {**saved.get("settings", {"model": str(folder)}), "trust_remote_code": trust_remote_code}
        tagger: Self = from_settings(cls, settings, device, Path(folder) / DESCRIPTION)
        source = ModelSource(str(folder), trust_remote_code=trust_remote_code)
        names = known_tags(source)
        if not names:
            raise MissingResourceError(
                f"{folder} holds {', '.join(source.config().architectures or ['no known model'])}; expected a "
                "token-classification model. Train a tagger on it by `nersery train --set model=NAME`"
            )
        tags = TagSet(tuple(names), strict=bool(saved.get("history")))  # no history: a third-party model, saved again
        _ = tags.parts  # raises for names that are not tags
        crf = load_crf(folder, tags) if saved and tagger.head == "crf" else None
        network = source.token_classification()
        if saved and tagger.dropout is not None:
            set_dropout(network, tagger.dropout, tagger.model)
        tagger._adopt(network, source.tokenizer(), tags, crf)
        tagger.history = saved.get("history", {})
        return tagger
