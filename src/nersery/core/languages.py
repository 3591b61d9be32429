"""The codes of languages."""

from __future__ import annotations

TWO_LETTERS = {
    "afr": "af", "alb": "sq", "als": "sq", "amh": "am", "ara": "ar", "arb": "ar", "arm": "hy", "asm": "as",
    "aze": "az", "azj": "az", "baq": "eu", "bel": "be", "ben": "bn", "bos": "bs", "bre": "br", "bul": "bg",
    "bur": "my", "cat": "ca", "ces": "cs", "chi": "zh", "cmn": "zh", "cym": "cy", "cze": "cs", "dan": "da",
    "deu": "de", "dut": "nl", "ekk": "et", "ell": "el", "eng": "en", "epo": "eo", "est": "et", "eus": "eu",
    "fao": "fo", "fas": "fa", "fil": "tl", "fin": "fi", "fra": "fr", "fre": "fr", "fry": "fy", "gaz": "om",
    "geo": "ka", "ger": "de", "gla": "gd", "gle": "ga", "glg": "gl", "gre": "el", "guj": "gu", "hau": "ha",
    "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy", "ice": "is", "ind": "id", "isl": "is",
    "ita": "it", "jav": "jv", "jpn": "ja", "kan": "kn", "kat": "ka", "kaz": "kk", "khk": "mn", "khm": "km",
    "kir": "ky", "kmr": "ku", "kor": "ko", "kur": "ku", "lao": "lo", "lat": "la", "lav": "lv", "lit": "lt",
    "ltz": "lb", "lvs": "lv", "mac": "mk", "mal": "ml", "mar": "mr", "may": "ms", "mkd": "mk", "mlg": "mg",
    "mon": "mn", "msa": "ms", "mya": "my", "nep": "ne", "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no",
    "npi": "ne", "oci": "oc", "ori": "or", "orm": "om", "ory": "or", "pan": "pa", "pbt": "ps", "per": "fa",
    "pes": "fa", "plt": "mg", "pol": "pl", "por": "pt", "pus": "ps", "ron": "ro", "rum": "ro", "rus": "ru",
    "san": "sa", "sin": "si", "slk": "sk", "slo": "sk", "slv": "sl", "snd": "sd", "som": "so", "sot": "st",
    "spa": "es", "sqi": "sq", "srp": "sr", "sun": "su", "swa": "sw", "swe": "sv", "swh": "sw", "tam": "ta",
    "tel": "te", "tgl": "tl", "tha": "th", "tur": "tr", "uig": "ug", "ukr": "uk", "urd": "ur", "uzb": "uz",
    "uzn": "uz", "vie": "vi", "wel": "cy", "xho": "xh", "ydd": "yi", "yid": "yi", "yor": "yo", "zho": "zh",
    "zsm": "ms", "zul": "zu",
}  # fmt: skip
"""Codes of ISO 639-3 and 639-2, and those of ISO 639-1 for the same language or the one that it is a variety of."""


def canonical(tag: str) -> str:
    """A tag in lower case, with two letters for its language where there are: equal for tags of the same meaning.

    >>> canonical("eng"), canonical("EN-gb"), canonical("zho-Hans"), canonical("zh_Hant")
    ('en', 'en-gb', 'zh-hans', 'zh-hant')
    """
    code, *rest = tag.replace("_", "-").lower().split("-")
    return "-".join([TWO_LETTERS.get(code, code), *rest])


def primary(tag: str) -> str:
    """The code of the language in a tag such as ``en-GB``, in lower case; of two letters where there is one.

    >>> primary("en-GB"), primary("HI_in"), primary("deu"), primary("hin_Deva"), primary("got"), primary("")
    ('en', 'hi', 'de', 'hi', 'got', '')
    """
    return canonical(tag).partition("-")[0]
