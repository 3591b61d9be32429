"""The command that shows ACLM's templates and the attention that they are made from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from nersery.augment.base import NO_ENTITIES
from nersery.cli import options, tables
from nersery.cli.app import inspect_group
from nersery.core.counting import plural
from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import Corpus, Sentence
from nersery.core.system.files import write_output
from nersery.core.text.spacing import joined_words
from nersery.core.warnings import note, remark

if TYPE_CHECKING:
    from rich.text import Text

    from nersery.augment.templates.template import Template

Keywords = Literal["attention", "random", "none"]
MASK = "___"
"""Stands for the words of a gap."""


@inspect_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect templates train.conll --tagger my-tagger --language en\n\n"
    "  nersery inspect templates train.conll --tagger my-tagger --sentence train:7 --picture attention.svg",
)
def templates(
    *,
    source: options.Source,
    tagger: Annotated[
        str | None, Option(metavar="TAGGER", help="Tagger whose attention is used; by default, trained on the input.")
    ] = None,
    keywords: Annotated[Keywords, Option(help="How keywords are chosen.")] = "attention",
    rate: Annotated[
        float, Option(min=0, max=1, help="Keywords per entity, as a share of the words outside entities.")
    ] = 0.3,
    layers: Annotated[int, Option(min=0, help="Sum attention over this many last layers; 0: all.")] = 4,
    stop_words: Annotated[str, options.file("Words that are never keywords; by default the language's list.")] = "",
    seed: options.Seed = 0,
    limit: Annotated[int | None, Option(min=1, help="Maximum number of sentences to show.")] = None,
    sentence: Annotated[str | None, Option(metavar="ID", help="Id of the only sentence to show.")] = None,
    picture: Annotated[Path | None, Option(metavar="FILE.svg", help="Draw the attention between words.")] = None,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what ACLM keeps of each sentence: its entities and keywords."""
    from nersery.augment.inspection.template_listing import attentions_between_words, make_templates, templates_as_json

    if picture is not None:
        options.check_picture(picture, source, force=force)
    opened = options.open_corpus(source)
    corpus = Corpus(opened)
    options.report_repairs(opened)
    shown = _chosen(corpus, sentence, limit, source)
    drawn = _first_with_entities(shown) if picture is not None else []
    attended = shown if keywords == "attention" else drawn
    if tagger is None and any(s.entities for s in attended):
        note("no --tagger is given, so one is first trained on all the sentences")
    attentions = attentions_between_words(tagger, corpus, attended, layers, seed, quiet=quiet)
    templates_by_id = make_templates(shown, corpus, keywords, rate, stop_words, seed, attentions)
    if picture is not None:
        from nersery.report.pictures.attention_map import attention_map

        id = drawn[0].id
        write_output(picture, attention_map(drawn[0], attentions[id], templates_by_id[id].keywords))
    if json:
        options.print_json(
            {"file": source, "keywords": keywords, "rate": rate, "sentences": templates_as_json(shown, templates_by_id)}
        )
    else:
        _print(shown, templates_by_id)
    if picture is not None:
        remark(f"{picture}: the attention between the words of {drawn[0].id}")


def _chosen(corpus: Corpus, sentence: str | None, limit: int | None, source: str) -> Sequence[Sentence]:
    if sentence is None:
        return corpus.sentences[:limit]
    if sentence not in corpus.by_id:
        raise SettingsError(
            f'{source} has no sentence "{sentence}". To see ids: '
            f"nersery inspect templates {shlex.quote(source)} --limit 3 --keywords none"
        )
    return [corpus.by_id[sentence]]


def _first_with_entities(shown: Sequence[Sentence]) -> Sequence[Sentence]:
    """The first sentence with entities, whose attention the picture shows."""
    with_entities = [sentence for sentence in shown if sentence.entities]
    if not with_entities:
        raise DataError(
            "no sentence to show has an entity, so there is no attention to draw", fix="name another sentence"
        )
    return with_entities[:1]


def _print(shown: Sequence[Sentence], templates_by_id: Mapping[str, Template]) -> None:
    parts: list[Any] = []
    for sentence in shown:
        template = templates_by_id.get(sentence.id)
        line = _marked(template) if template else tables.text(f"no template: {NO_ENTITIES}", "dim")
        parts += [tables.text(sentence.id, "bold"), line, ""]
    tables.show(*parts)
    kept = sum(len(template.keywords) for template in templates_by_id.values())
    words = sum(len(template.sentence.outside) for template in templates_by_id.values())
    remark(
        f"{plural(len(templates_by_id), 'template')} with {kept:,} of {words:,} words outside entities; "
        f"{plural(len(shown) - len(templates_by_id), 'sentence')} without one"
    )


def _marked(template: Template) -> Text:
    """The template: entities in brackets with their types, keywords underlined or in asterisks, `MASK` for each gap."""
    gaps = {start: MASK for start, _ in template.gaps()}
    entities = {entity.start: entity for entity in template.sentence.entities}
    parts: list[Text | str | tuple[str, str]] = []
    for position in sorted({*gaps, *entities, *template.keywords}):
        if position in entities:
            entity = entities[position]
            words = tables.text(joined_words(template.sentence.mention(entity)), "bold")
            parts += ["[", words, " ", tables.text(entity.type, "cyan"), "]"]
        elif position in gaps:
            parts.append((MASK, "dim"))
        else:
            parts.append(tables.marked(template.sentence.words[position], "green underline", "*"))
        parts.append(" ")
    return tables.concatenated(parts[:-1])
