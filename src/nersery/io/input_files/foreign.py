"""Formats that nersery does not read: how their files begin, and how to read their labels nevertheless.

Only files that no format recognises are compared with all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nersery.core.errors import DataError, Issue
from nersery.io.columns_and_rows.untagged_columns import FROM_BRACKETS, FROM_SIDE_BY_SIDE
from nersery.io.formats import FileHead

COMPARED = 100_000
"""The number of characters of a beginning that are compared."""
_XML = r"\A\ufeff?\s*(?=<)(?s:.*?)"
_FROM_TMX = (
    "write each language to a file of its own, with a line for each unit: python3 -c 'import sys, "
    'xml.etree.ElementTree as E; [print(*" ".join("".join(v.find("seg").itertext()) for v in u.iter("tuv") if '
    'sys.argv[2] in v.attrib.values()).split()) for u in E.parse(sys.argv[1]).iter("tu")]\' FILE.tmx en > text.en'
)
_FROM_XLIFF = (
    "write each side to a file of its own, with a line for each unit: python3 -c 'import sys, xml.etree.ElementTree as "
    'E; [print(*" ".join("".join(s.itertext()) for s in u.findall("{*}"+sys.argv[2])).split()) for t in ("trans-unit", '
    '"segment") for u in E.parse(sys.argv[1]).findall(".//{*}"+t)]\' FILE.xlf source > text.source (and target > '
    "text.target)"
)
_FROM_PYTHON = (
    "make JSON of it: python3 -c 'import ast, json, sys; [print(json.dumps(ast.literal_eval(n), ensure_ascii=False)) "
    "for n in ast.walk(ast.parse(sys.stdin.read())) if isinstance(n, ast.Tuple) and n.elts and isinstance(n.elts[-1], "
    "ast.Dict)]' < old > new.jsonl"
)
_FROM_DICTS = (
    "make JSON of it: python3 -c 'import ast, json, sys; [print(json.dumps(ast.literal_eval(line), "
    "ensure_ascii=False)) for line in sys.stdin if line.strip()]' < old > new.jsonl"
)
_FROM_UIE = (
    "merge the types of each text: jq -cs 'flatten | group_by(.content)[] | {text: .[0].content, label: "
    "[.[] | .prompt as $type | .result_list[] | [.start, .end, $type]]}' old > new.jsonl"
)
_FROM_QUESTIONS = (
    "merge the types of each text: jq -cs 'flatten | group_by(.context)[] | {words: .[0].context | "
    'split(" "), entities: [.[] | .entity_label as $type | .span_position[] | split(";") | map(tonumber) | {start: '
    ".[0], end: (.[1] + 1), type: $type}]}' old > new.jsonl"
)
_FROM_MASSIVE = (
    r"""make words and tags of it: jq -c '[.annot_utt | scan("\\[(\\S+) : ([^\\]]+)\\]|([^\\[\\s]+)") | if .[0] """
    'then . as [$type, $mention] | $mention | split(" ") | to_entries[] | [.value, (if .key == 0 then "B-" else "I-" '
    'end) + $type] else [.[2], "O"] end] | {words: map(.[0]), tags: map(.[1])}\' old > new.jsonl'
)
_FROM_GROUND_TRUTH = (
    "keep the texts and their labels: jq -c '{text: .source, label: [.[] | objects | .annotations | objects | "
    ".entities[] | [.startOffset, .endOffset, .label]]}' old > new.jsonl"
)
_FROM_TRANSLATIONS = (
    'write each language to a file of its own, a line for each pair: jq -r \'.translation.en | gsub("\\\\s+"; " ")\' '
    "old.jsonl > text.en"
)
_FROM_MARKS = (
    r"""make JSON of it: python3 -c 'import json, re, sys; m = re.compile(r"(?i)<(?:enamex\s+type=.|start:)?([\w-]+)"""
    r"""[^<>]*>\s?([^<>]*?)\s?<(?:/[\w-]+|end)>"); plain = lambda s: m.sub(r"\2", s); [print(json.dumps({"text": """
    r"""plain(s.rstrip("\r\n")), "label": [[len(plain(s[:f.start()])), len(plain(s[:f.start()])) + len(f[2]), f[1]] """
    r"""for f in m.finditer(s)]}, ensure_ascii=False)) for s in sys.stdin]' < old > new.jsonl"""
)
_FROM_TABLE = (
    "make JSON of it, with the names of your columns: python3 -c 'import ast, csv, json, sys; head, *rows = "
    'sys.stdin; [print(json.dumps({"text": row["text"], "label": ast.literal_eval(row["label"])}, ensure_ascii=False)) '
    r"""for row in csv.DictReader([head, *rows], delimiter=max(",;\t", key=head.count))]' < old > new.jsonl"""
)
_FROM_JSON_TABLE = _FROM_TABLE.replace("import ast, csv", "import csv").replace("ast.literal_eval", "json.loads")
_BY_CHARACTERS = 'write each text as {"text": …, "label": [[start, end, type], …]} on a line of its own'

_SPANS_IN_CELL = re.compile(
    r"\"\[(?:\{[^\]{}]*\"\"(?:start|begin)|[\[(]\d+, ?\d+, ?\"\")"
    r"|[,;\t\"]\[(?:\{[^\]{}]*'(?:start|begin)|[\[(]\d+, ?\d+, ?')"
)
"""Labels by characters in a cell, as JSON with doubled quotation marks, or as Python writes them."""


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format that cannot be read.

    Args:
        name: Its name in messages.
        begins: Matches in the first lines of its files.
        advice: How to get labels out of it.
        is_sure: Whether no other format begins like it, so that every file is compared with it.
        is_text: Whether its lines may be sentences, so that they are read if labels are not needed.
    """

    name: str
    begins: re.Pattern[str]
    advice: str
    is_sure: bool = True
    is_text: bool = False


FOREIGN = (
    ForeignFormat(
        "UIMA CAS",
        re.compile(rf"{_XML}<(?:xmi:XMI|cas:)|\"%(?:TYPES|FEATURE_STRUCTURES)\""),
        "export the document from INCEpTION as WebAnno TSV v3.3",
        is_text=True,
    ),
    ForeignFormat(
        "WebAnno TSV 2",
        re.compile(r"\A\s*# [\w.]+ \|.*\n#id=\d"),
        "export the document as WebAnno TSV v3.3",
        is_text=True,
    ),
    ForeignFormat(
        "BioC",
        re.compile(rf"{_XML}(?:BioC\.dtd|<collection>)|\"infons\"\s*:"),
        "convert it to PubTator or brat, e.g. with the Python package bconv",
        is_text=True,
    ),
    ForeignFormat(
        "Python code with training data of spaCy",
        re.compile(r"^[ \t]*(?:\w+\s*=\s*)?(?:\[\s*)?\(\s*[ru]?[\"'](?s:.*?)[\"']entities[\"']\s*:", re.MULTILINE),
        _FROM_PYTHON,
    ),
    ForeignFormat("Python's form of JSON", re.compile(r"\A\ufeff?\s*(?:\[\s*)?\{\s*'\w+'\s*:"), _FROM_DICTS),
    ForeignFormat(
        "a table of texts with labels by characters",
        re.compile(r"[,;\t]\"?\[ *(?:\( *\d+ *, *\d+ *,|\{[^{}]*'(?:start|begin)\w*' *:)"),
        _FROM_TABLE,
    ),
    ForeignFormat("UIE", re.compile(r"[{,]\s*\"result_list\"\s*:"), _FROM_UIE),
    ForeignFormat("NER as questions (MRC)", re.compile(r"[{,]\s*\"(?:span|end)_position\"\s*:"), _FROM_QUESTIONS),
    ForeignFormat("MASSIVE", re.compile(r"[{,]\s*\"annot_utt\"\s*:"), _FROM_MASSIVE),
    ForeignFormat(
        "a manifest of Ground Truth",
        re.compile(r"\A\ufeff?\{\s*\"source\"\s*:\s*\"(?s:.*?)[{,]\s*\"startOffset\"\s*:"),
        _FROM_GROUND_TRUTH,
    ),
    ForeignFormat(
        "tagtog's JSON, whose text is in another file", re.compile(r"[{,]\s*\"annotatable\"\s*:"), _BY_CHARACTERS
    ),
    ForeignFormat(
        "parallel text of Hugging Face datasets", re.compile(r"[{,]\s*\"translation\"\s*:\s*\{"), _FROM_TRANSLATIONS
    ),
    ForeignFormat("TMX", re.compile(rf"{_XML}<tmx\b"), _FROM_TMX),
    ForeignFormat("XLIFF", re.compile(rf"{_XML}<xliff\b"), _FROM_XLIFF),
    ForeignFormat(
        "a table with labels by characters, as Label Studio's CSV",
        _SPANS_IN_CELL,
        "a table is read if each row has a word, or lists of words and tags; else export JSON or JSON-MIN from Label "
        f"Studio, or {_FROM_JSON_TABLE}",
        is_text=True,
    ),
    ForeignFormat(
        "JSON on several lines",
        re.compile(r"\A\s*\{\s*\n\s*\""),
        "put each object on a line of its own: jq -c . old.json > new.jsonl",
        is_sure=False,
        is_text=True,
    ),
    ForeignFormat(
        "XML",
        re.compile(r"^\ufeff?\s*<(?:\?xml|!DOCTYPE|DOC|doc|corpus|TEI|GateDocument)\b"),
        _BY_CHARACTERS,
        is_sure=False,
        is_text=True,
    ),
    ForeignFormat(
        "text with tags after its words, as WikiNER",
        re.compile(r"^(?:[^\s|]+(?:\|[^\s|]+)*\|(?:O|[BI]-[^\s|]+)(?: |$)){3}", re.MULTILINE),
        r"make columns of it: sed 's/$/\n/' old.txt | tr ' |' '\n\t' > new.conll",
        is_sure=False,
    ),
    ForeignFormat(
        "text with a slash and a tag after each word",
        re.compile(r"^(?=.*/O(?: |\r?$))(?:\S+/(?:O|[A-Za-z][\w-]+)(?: +|(?=\r?$))){3,}\r?$", re.MULTILINE),
        r"make columns of it: sed -E 's/$/\n/; s:/([^/ ]+)( +|\r?$):\t\1\n:g' old.txt > new.conll (types without B- "
        "are then read by --repair bare-type)",
        is_sure=False,
    ),
    ForeignFormat(
        "a table of words and tags without the extension .csv",
        re.compile(r"(?:^(?:.*[,;]|\S*\|)(?:O|[BI]-[^\s,;|]+)\r?\n){3}", re.MULTILINE),
        "read it as a table: --format csv",
        is_sure=False,
    ),
    ForeignFormat(
        "words and entities in brackets, in columns",
        re.compile(r"\A(?=(?s:.*?)[\t ]\*\r?\n)(?s:.*?)(?:^\S.*[\t ](?:\*\)?|\([^\s()*]+[*)])\r?\n){3}", re.MULTILINE),
        FROM_BRACKETS,
        is_sure=False,
    ),
    ForeignFormat(
        "words and types in columns, without B- and I-, as Few-NERD",
        re.compile(
            r"^\S+(?:[\t ]|\t.*\t)\S+\r?\n\S+(?: O|\t(?:.*\t)?[Oo])\r?\n\S+(?:[\t ]|\t.*\t)\S+\r?$", re.MULTILINE
        ),
        "name the column of the types and their form: --tag-column 2 with --repair bare-type (PER, O), "
        "letter-last (PER-B) or small-letter (b-per)",
        is_sure=False,
    ),
    ForeignFormat(
        "sentences with their tags beside them",
        re.compile(r"^(?=[^\t\n]*\S \S)[^\t\n]+\t(?:(?:O|[BI]-\S+) )+(?:O|[BI]-\S+|\w+)\s*?$", re.MULTILINE),
        FROM_SIDE_BY_SIDE,
        is_sure=False,
    ),
    ForeignFormat(
        "text with inline labels",
        re.compile(r"<START(?::\w+)?> [^<\n]+ <END>|<(?P<tag>[A-Z][A-Z_]{2,})(?: [^<>]*)?>[^<>]+</(?P=tag)>"),
        _FROM_MARKS,
        is_sure=False,
        is_text=True,
    ),
)


class ForeignFormatError(DataError):
    """A file of a format that cannot be read."""


class NoTextError(ForeignFormatError):
    """A file of a format that cannot be read and whose lines are not sentences."""


def refuse_foreign(head: FileHead, *, sure: bool = False) -> None:
    """Raise `ForeignFormatError` if a file begins like one of `FOREIGN`; with ``sure``, like one with `is_sure`."""
    beginning = "".join(head.lines)[:COMPARED]
    for foreign in FOREIGN:
        if (foreign.is_sure or not sure) and (match := foreign.begins.search(beginning)):
            message = f"this seems to be {foreign.name}, which cannot be read: {match[0].strip()!r:.60}"
            if not foreign.is_text:
                raise NoTextError(Issue(message, head.file.name), fix=foreign.advice)
            fix = f"{foreign.advice}; or read each line as text: --format text"
            raise ForeignFormatError(Issue(message, head.file.name), fix=fix)
