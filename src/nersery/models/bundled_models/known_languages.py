"""The languages of the bundled encoders, and models that suit text in other languages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from nersery.core.registry import BUNDLED
from nersery.core.text.english import doubt_of_english
from nersery.core.text.languages import primary
from nersery.core.text.scripts import main_script, script_name
from nersery.core.warnings import warn
from nersery.models.bundled_models.bundled import ENGLISH, MULTILINGUAL, is_multilingual, multilingual

LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it ja "
    "jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si sk sl so "
    "sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
"""The languages of the text of XLM-R, as `primary` gives them. Multilingual E5 has the vocabulary of XLM-R."""

SCRIPTS = (
    "ARABIC ARMENIAN BENGALI CJK CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HANGUL HEBREW KANNADA "
    "KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAI"
)
"""The scripts of these languages, as `script_of` names them. The vocabulary has no words in other scripts."""

MASKED_LANGUAGES = (
    "ar bn cs de el en es fa fi fr gu he hi hu id it ja kn ko ml mr ne nl pa pl pt ru si sv sw ta te tr ur vi zh"
)
"""The 36 languages of the text that the masked language model and the name tagger on multilingual E5 were trained on.
The model has the subwords of the other languages too, but fills gaps in them with words of different languages.
"""

UNTRAINED_SCRIPTS = "ARMENIAN ETHIOPIC GEORGIAN KHMER LAO MYANMAR ORIYA THAI"
"""The scripts of which the vocabulary has words, but in which no language of `MASKED_LANGUAGES` is written."""


def warn_if_unsuited(
    name: str,
    vocabulary_issue: str,
    languages: Iterable[str],
    advice: str,
    examples: str = "",
    *,
    fills_gaps: bool = False,
    whose: str = "",
    text: str = "this text",
    words: Iterable[str] = (),
) -> bool:
    """Warn if a model was made for other languages than those of a text, and return whether it was.

    Args:
        vocabulary_issue: See `nersery.models.subwords.subwords.SubwordEncoder.vocabulary_issue`.
        advice: The end of the warning. ``{}`` stands for examples of other models.
        examples: Examples from the hub. Empty takes encoders.
        fills_gaps: See `knows`.
        whose: What the model belongs to, e.g. " of the tagger".
        text: How the warning names the text.
        words: The text, to recognize text in another language if none is named. If no bundled model has words in its
            script, the warning names the script, not the examples.
    """
    present, words = {*languages}, [*words]
    issue = vocabulary_issue or unknown_languages(name, present, fills_gaps=fills_gaps, words=words)
    if issue:
        spelt_alike = fills_gaps and not vocabulary_issue
        examples = examples or ("xlm-roberta-base" if spelt_alike else other_vocabularies(name))
        instead, script = examples, main_script(words)
        if not knows_script(script):
            instead = f"one with words in the {script_name(script)} script"
        elif is_trained_in(script) or not fills_gaps:
            instead = alternatives(examples, name, present, fills_gaps=fills_gaps)
        warn(f'the model "{name}"{whose} was made for other languages than {text}: {issue}. {advice.format(instead)}')
    return bool(issue)


def knows_script(script: str, name: str = MULTILINGUAL) -> bool:
    """Whether a bundled model has words in a script, as `main_script` names it. ``UNKNOWN`` counts as known.

    >>> knows_script("TAMIL"), knows_script("TAMIL", "bundled"), knows_script("TIBETAN")
    (True, False, False)
    """
    known = SCRIPTS.split() if is_multilingual(name) else ["LATIN"]
    return script in (*known, "UNKNOWN")


def is_trained_in(script: str) -> bool:
    """Whether one of the 36 languages of `MASKED_LANGUAGES` is written in a script that a bundled model knows.

    >>> is_trained_in("CJK"), is_trained_in("THAI")
    (True, False)
    """
    return script not in UNTRAINED_SCRIPTS.split()


def knows(language: str, name: str = ENGLISH, *, fills_gaps: bool = False) -> bool:
    """Whether a bundled model was made for a language. An empty language counts as known.

    Args:
        fills_gaps: Whether the model is a masked language model. The multilingual one then has `MASKED_LANGUAGES`,
            otherwise `LANGUAGES`.

    >>> knows("en-GB"), knows(""), knows("de"), knows("de", "bundled-multilingual")
    (True, True, False, True)
    """
    code = primary(language)
    return code in ("", "en") or (
        is_multilingual(name) and code in (MASKED_LANGUAGES if fills_gaps else LANGUAGES).split()
    )


def unknown_languages(
    name: str, present: Collection[str], *, fills_gaps: bool = False, words: Sequence[str] = ()
) -> str:
    """The part of a warning about languages that a bundled model does not know; empty if it knows all.

    It is empty for other models, because their languages are unknown.

    Args:
        fills_gaps: See `knows`.
        words: The text, to tell English from other languages, and to find its script, if none is named.
    """
    if name in BUNDLED and not is_multilingual(name) and not any(present):
        return f"it covers only English, and this {doubt}" if (doubt := doubt_of_english(words)) else ""
    if fills_gaps and is_multilingual(name) and not any(present) and not is_trained_in(script := main_script(words)):
        return f"it has learnt to fill gaps in 36 languages, but not in the {script_name(script)} script"
    unknown = (
        sorted({code for code in present if not knows(code, name, fills_gaps=fills_gaps)}) if name in BUNDLED else []
    )
    if not unknown:
        return ""
    known = "has learnt to fill gaps in 36 languages" if fills_gaps else "covers about 100 languages"
    known = known if is_multilingual(name) else "covers only English"
    return f"it {known}, but there is text in {', '.join(unknown)}"


def other_vocabularies(name: str) -> str:
    """Examples of encoders from the hub with another vocabulary than a bundled model. The multilingual one has XLM-R's.

    >>> other_vocabularies("bundled")
    'xlm-roberta-base or google/muril-base-cased'
    >>> "xlm-roberta-base" in other_vocabularies("bundled-multilingual")
    False
    """
    if is_multilingual(name):
        return "google/muril-base-cased (Indian languages) or Davlan/afro-xlmr-base (African ones)"
    return "xlm-roberta-base or google/muril-base-cased"


def alternatives(others: str, name: str, present: Iterable[str] = (), *, fills_gaps: bool = False) -> str:
    """Examples of models for text that a model does not suit. The bundled multilingual one is first, if it may suit.

    Args:
        others: Examples from the hub.
        name: The model that does not suit.
        fills_gaps: See `knows`.

    >>> alternatives("xlm-roberta-base", "bundled", ["hi"])
    'bundled-multilingual (extra multilingual) or xlm-roberta-base'
    >>> alternatives("xlm-roberta-base", "bundled-ner")
    'bundled-multilingual-ner (extra multilingual) or xlm-roberta-base'
    >>> alternatives("xlm-roberta-base", "bundled-multilingual", ["got"])
    'xlm-roberta-base'
    """
    if is_multilingual(name) or not all(knows(language, MULTILINGUAL, fills_gaps=fills_gaps) for language in present):
        return others
    return f"{multilingual(name)} (extra multilingual){', ' if ' or ' in others else ' or '}{others}"
