"""Language codes."""

from __future__ import annotations

TWO_LETTERS = {
    "aar": "aa", "abk": "ab", "afr": "af", "aka": "ak", "alb": "sq", "als": "sq", "amh": "am", "ara": "ar", "arb": "ar",
    "arg": "an", "arm": "hy", "asm": "as", "ava": "av", "ave": "ae", "aym": "ay", "aze": "az", "azj": "az", "bak": "ba",
    "bam": "bm", "baq": "eu", "bel": "be", "ben": "bn", "bis": "bi", "bod": "bo", "bos": "bs", "bre": "br", "bul": "bg",
    "bur": "my", "cat": "ca", "ces": "cs", "cha": "ch", "che": "ce", "chi": "zh", "chu": "cu", "chv": "cv", "cmn": "zh",
    "cor": "kw", "cos": "co", "cre": "cr", "cym": "cy", "cze": "cs", "dan": "da", "deu": "de", "div": "dv", "dut": "nl",
    "dzo": "dz", "ekk": "et", "ell": "el", "eng": "en", "epo": "eo", "est": "et", "eus": "eu", "ewe": "ee", "fao": "fo",
    "fas": "fa", "fij": "fj", "fil": "tl", "fin": "fi", "fra": "fr", "fre": "fr", "fry": "fy", "ful": "ff", "gaz": "om",
    "geo": "ka", "ger": "de", "gla": "gd", "gle": "ga", "glg": "gl", "glv": "gv", "gre": "el", "grn": "gn", "guj": "gu",
    "hat": "ht", "hau": "ha", "heb": "he", "her": "hz", "hin": "hi", "hmo": "ho", "hrv": "hr", "hun": "hu", "hye": "hy",
    "ibo": "ig", "ice": "is", "ido": "io", "iii": "ii", "iku": "iu", "ile": "ie", "in": "id", "ina": "ia", "ind": "id",
    "ipk": "ik", "isl": "is", "ita": "it", "iw": "he", "jav": "jv", "ji": "yi", "jpn": "ja", "jw": "jv", "kal": "kl",
    "kan": "kn", "kas": "ks", "kat": "ka", "kau": "kr", "kaz": "kk", "khk": "mn", "khm": "km", "kik": "ki", "kin": "rw",
    "kir": "ky", "kmr": "ku", "kom": "kv", "kon": "kg", "kor": "ko", "kua": "kj", "kur": "ku", "lao": "lo", "lat": "la",
    "lav": "lv", "lim": "li", "lin": "ln", "lit": "lt", "ltz": "lb", "lub": "lu", "lug": "lg", "lvs": "lv", "mac": "mk",
    "mah": "mh", "mal": "ml", "mao": "mi", "mar": "mr", "may": "ms", "mkd": "mk", "mlg": "mg", "mlt": "mt", "mon": "mn",
    "mri": "mi", "msa": "ms", "mya": "my", "nau": "na", "nav": "nv", "nbl": "nr", "nde": "nd", "ndo": "ng", "nep": "ne",
    "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no", "npi": "ne", "nya": "ny", "oci": "oc", "oji": "oj", "ori": "or",
    "orm": "om", "ory": "or", "oss": "os", "pan": "pa", "pbt": "ps", "per": "fa", "pes": "fa", "pli": "pi", "plt": "mg",
    "pol": "pl", "por": "pt", "pus": "ps", "que": "qu", "roh": "rm", "ron": "ro", "rum": "ro", "run": "rn", "rus": "ru",
    "sag": "sg", "san": "sa", "sin": "si", "slk": "sk", "slo": "sk", "slv": "sl", "sme": "se", "smo": "sm", "sna": "sn",
    "snd": "sd", "som": "so", "sot": "st", "spa": "es", "sqi": "sq", "srd": "sc", "srp": "sr", "ssw": "ss", "sun": "su",
    "swa": "sw", "swe": "sv", "swh": "sw", "tah": "ty", "tam": "ta", "tat": "tt", "tel": "te", "tgk": "tg", "tgl": "tl",
    "tha": "th", "tib": "bo", "tir": "ti", "ton": "to", "tsn": "tn", "tso": "ts", "tuk": "tk", "tur": "tr", "twi": "tw",
    "uig": "ug", "ukr": "uk", "urd": "ur", "uzb": "uz", "uzn": "uz", "ven": "ve", "vie": "vi", "vol": "vo", "wel": "cy",
    "wln": "wa", "wol": "wo", "xho": "xh", "ydd": "yi", "yid": "yi", "yor": "yo", "zha": "za", "zho": "zh", "zsm": "ms",
    "zul": "zu",
}  # fmt: skip
"""The ISO 639-1 code for each code of ISO 639-3 and 639-2, and for withdrawn codes such as ``iw``. It is that of the
same language, or of the language that it is a variety of.
"""


def canonical(tag: str) -> str:
    """A tag in lower case, with the two-letter code of its language if there is one. Tags of one meaning become equal.

    >>> canonical("eng"), canonical("EN-gb"), canonical("zho-Hans"), canonical("zh_Hant"), canonical("iw")
    ('en', 'en-gb', 'zh-hans', 'zh-hant', 'he')
    """
    code, *rest = tag.replace("_", "-").lower().split("-")
    return "-".join([TWO_LETTERS.get(code, code), *rest])


def primary(tag: str) -> str:
    """The language code in a tag such as ``en-GB``, in lower case, with two letters if there is such a code.

    >>> primary("en-GB"), primary("HI_in"), primary("deu"), primary("hin_Deva"), primary("got"), primary("")
    ('en', 'hi', 'de', 'hi', 'got', '')
    """
    return canonical(tag).partition("-")[0]
