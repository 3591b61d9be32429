"""The languages of the bundled encoders, and which other models suit the text in others."""

from __future__ import annotations

from collections.abc import Iterable

from nersery.core.registry import BUNDLED
from nersery.models.bundled import ENGLISH, MULTILINGUAL, is_multilingual, multilingual

ENGLISH_CODES = ("", "en", "eng")
LANGUAGES = (
    "af afr am amh ar ara arb as asm az aze be bel bg bul bn ben br bre bs bos ca cat cs ces cy cym da dan de deu el "
    "ell eo epo es spa et est eu eus fa fas fi fin fr fra fy fry ga gle gd gla gl glg gu guj ha hau he heb hi hin hr "
    "hrv hu hun hy hye id ind is isl it ita ja jpn jv jav ka kat kk kaz km khm kn kan ko kor ku kur ky kir la lat lo "
    "lao lt lit lv lav mg mlg mk mkd ml mal mn mon mr mar ms msa my mya ne nep nl nld no nor nb nob nn nno om orm or "
    "ori pa pan pl pol ps pus pt por ro ron ru rus sa san sd snd si sin sk slk sl slv so som sq sqi sr srp su sun sv "
    "swe sw swa ta tam te tel th tha tl fil tr tur ug uig uk ukr ur urd uz uzb vi vie xh xho yi yid zh zho cmn"
)
"""The languages of XLM-R's text, whose vocabulary multilingual E5 has, as ISO 639-1 and 639-3 codes."""

MASKED_LANGUAGES = (
    "ar ara arb bn ben cs ces de deu el ell en eng es spa fa fas fi fin fr fra gu guj he heb hi hin hu hun id ind it "
    "ita ja jpn kn kan ko kor ml mal mr mar ne nep nl nld pa pan pl pol pt por ru rus si sin sw swa sv swe ta tam te "
    "tel tr tur ur urd vi vie zh zho cmn"
)
"""The 36 languages of the text that the masked language model on multilingual E5 was trained on. Of the others it
knows the subwords, but fills gaps with words of other languages.
"""


def knows(language: str, name: str = ENGLISH, languages: str = LANGUAGES) -> bool:
    """Whether a bundled model knows a language; an empty language counts as known.

    Args:
        languages: Those of the multilingual one: `LANGUAGES`, or `MASKED_LANGUAGES` as a masked language model.

    >>> knows("en-GB"), knows(""), knows("de"), knows("de", "bundled-multilingual")
    (True, True, False, True)
    """
    code = language.replace("_", "-").split("-")[0].casefold()
    return code in ENGLISH_CODES or (is_multilingual(name) and code in languages.split())


def unknown_languages(name: str, present: Iterable[str], languages: str = LANGUAGES) -> str:
    """What a warning says of the languages that a bundled model does not know; empty if it knows all.

    Nothing is known of models that are not bundled.

    Args:
        present: The languages of the text.
        languages: See `knows`.
    """
    unknown = sorted({code for code in present if not knows(code, name, languages)}) if name in BUNDLED else []
    if not unknown:
        return ""
    known = "knows about 100 languages" if languages == LANGUAGES else "has learnt to fill gaps in 36 languages"
    known = known if is_multilingual(name) else "knows English alone"
    return f"it {known}, and there is text in {', '.join(unknown)}"


def other_vocabularies(name: str) -> str:
    """Examples of encoders from the hub for words that a vocabulary does not suit; the multilingual one has XLM-R's.

    >>> other_vocabularies("bundled")
    'xlm-roberta-base or google/muril-base-cased'
    >>> "xlm-roberta-base" in other_vocabularies("bundled-multilingual")
    False
    """
    if is_multilingual(name):
        return "google/muril-base-cased (Indian languages) or Davlan/afro-xlmr-base (African ones)"
    return "xlm-roberta-base or google/muril-base-cased"


def alternatives(others: str, name: str, present: Iterable[str] = (), languages: str = LANGUAGES) -> str:
    """Examples of models for text that a model does not suit, the bundled multilingual one first if it may suit.

    Args:
        others: Examples from the hub.
        name: The model that does not suit.
        present: The languages of the text.
        languages: See `knows`.

    >>> alternatives("xlm-roberta-base", "bundled", ["hi"])
    'bundled-multilingual (extra multilingual) or xlm-roberta-base'
    >>> alternatives("xlm-roberta-base", "bundled-ner")
    'bundled-multilingual-ner (extra multilingual) or xlm-roberta-base'
    >>> alternatives("xlm-roberta-base", "bundled-multilingual", ["got"])
    'xlm-roberta-base'
    """
    if is_multilingual(name) or not all(knows(language, MULTILINGUAL, languages) for language in present):
        return others
    return f"{multilingual(name)} (extra multilingual){', ' if ' or ' in others else ' or '}{others}"
