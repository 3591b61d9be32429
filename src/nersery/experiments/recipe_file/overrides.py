"""Settings from the command line: ``key=value``, with dots in keys of nested settings."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError, about_recipe, did_you_mean
from nersery.core.wording import either
from nersery.experiments.recipe_file.data_files import SPLITS
from nersery.experiments.recipe_file.table_methods import entry_name
from nersery.io.input_files.shipped import EXAMPLE_PREFIX

SHORT_NUMBER = re.compile(r"[+-]?([0-9]+\.|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
"""A number without digits on one side of the point; many people write this, but TOML refuses it."""
IN_BRACKETS = {"[]": ("list", '["PER", "LOC"]'), "{}": ("table", '{ PER = "person" }')}
"""What text in these brackets was meant to be, and an example."""


@about_recipe()
def settings_from(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings given as ``key=value`` on the command line, or ``key.name=value`` for a line of a table.

    Raises:
        SettingsError: If a pair is wrong; lists all wrong pairs.

    >>> settings_from(["rate=0.3", "vectors.en=wiki.en.vec"])
    {'rate': 0.3, 'vectors': {'en': 'wiki.en.vec'}}
    >>> settings_from(['definitions."Big City"=a city'])
    {'definitions': {'Big City': 'a city'}}
    """
    settings: dict[str, Any] = {}
    tables: set[str] = set()
    issues = []
    for pair in pairs:
        if issue := _issue(pair, "rate=0.3"):
            issues.append(issue)
            continue
        key, _, text = pair.partition("=")
        key, dot, name = key.strip().partition(".")  # names of settings contain no dot, but languages and types may
        if not dot and key in tables:
            issues.append(f'--set "{pair}": this would overwrite an entry of {key} from another --set')
        elif not dot:
            settings[key] = toml_value(text)
        elif isinstance(table := settings.setdefault(key, {}), dict):
            table[_unquoted(name)] = toml_value(text)
            tables.add(key)
        else:
            issues.append(f'--set "{pair}": {key} is a single value, not a table')
    if issues:
        raise SettingsError("\n".join(issues))
    return settings


_KEY = re.compile(r""" "[^"]*" | '[^']*' | [^.]+ """, re.VERBOSE)
"""A part of a dotted key; within quotes it may contain dots."""


def _unquoted(name: str) -> str:
    """A key without the quotes that TOML requires for keys with special characters."""
    return name[1:-1] if len(name) > 2 and name[0] == name[-1] and name[0] in "\"'" else name


def apply_override(table: dict[str, Any], override: str) -> str:
    """Set ``a.b=value`` in a recipe's table. Returns the issue, or an empty string.

    An entry of a list is identified by its name, or by its method if only one entry has it.
    """
    if issue := _issue(override, "tagger.steps=100"):
        return issue
    key, _, text = override.partition("=")
    keys = [_unquoted(part) for part in _KEY.findall(key.strip())]
    try:
        parent = _section(table, keys)
    except LookupError as error:
        return f'--set "{override}": {error.args[0]}'
    is_file = keys[0] == "data" and len(keys) in (2, 3) and keys[1] in SPLITS  # the third is a language
    value = toml_value(text)
    if keys == ["data"] and isinstance(value, dict):
        value = {key: _absolute(part) if key in SPLITS else part for key, part in value.items()}
    parent[keys[-1]] = _absolute(value if isinstance(value, str | dict | list) else text) if is_file else value
    return ""


def _issue(pair: str, example: str) -> str:
    key, equals, text = pair.partition("=")
    try:
        pair.encode()
    except UnicodeEncodeError:
        return f"--set {pair!r}: this is not UTF-8; if it names a file, rename the file"
    if not equals or not all(part.strip() for part in key.split(".")):
        return f'--set "{pair}": expected key=value, e.g. {example}'
    if issue := next(null_issues(toml_value(text), key.strip()), ""):
        return f"--set {pair!r}: {issue}"
    brackets = text.strip()[:1] + text.strip()[-1:]
    if brackets in IN_BRACKETS and toml_value(text) == text:
        shape, example = IN_BRACKETS[brackets]
        in_shell = (
            ", and the whole in single quotes, because the shell removes double quotes: "
            f"--set '{key.strip()}={example}'"
        )
        hint = either(in_shell, f": {key.strip()}={example}")
        hint = ". For a path of Windows, write / in place of \\" if "\\" in text and '"' in text else hint
        return f"--set {pair}: this {shape} cannot be read. Put text in double quotes{hint}"
    return ""


def null_issues(value: Any, key: str = "") -> Iterator[str]:
    """The issues of TOML values with a null character, which the operating system takes for the end of a file name.

    >>> [*null_issues({"data": {"train": "a\\0.conll", "dev": "b.conll"}})]
    ['data.train has the character \\\\u0000, which no name may have; remove it']
    """
    if isinstance(value, dict):
        for name, content in value.items():
            yield from null_issues(content, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for content in value:
            yield from null_issues(content, key)
    elif isinstance(value, str) and "\0" in value:
        yield f"{key} has the character \\u0000, which no name may have; remove it"


def _section(table: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The section that contains the last key, created if needed; a `LookupError` if it cannot exist."""
    section: Any = table
    done = 0
    while done < len(keys) - 1:
        if isinstance(section, list):
            section, names = _entry(section, keys[done:])
            done += names
        else:
            section = section.setdefault(keys[done], {})
            done += 1
        if not isinstance(section, dict | list):
            raise LookupError(f"{keys[done - 1]} is a single value, not a section")
    if not isinstance(section, dict):
        raise LookupError(f"name the entry, e.g. {'.'.join(keys[:-1])}.NAME.{keys[-1]}")
    return section


def _entry(entries: Sequence[Any], keys: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The entry of a list that the first keys name, and how many keys that takes: a name may contain dots."""
    tables = [entry for entry in entries if isinstance(entry, dict)]
    methods = [str(entry.get("method", "")) for entry in tables]
    names = [*map(entry_name, tables)]
    for key_count in range(len(keys) - 1, 0, -1):  # the longest name first
        wanted = ".".join(keys[:key_count])
        for candidates in (names, methods):
            matches = [entry for entry, name in zip(tables, candidates, strict=True) if name == wanted]
            if len(matches) > 1:
                raise LookupError(f'{len(matches)} entries are called "{wanted}"; expected one of {", ".join(names)}')
            if matches:
                return matches[0], key_count
    raise LookupError(f'no entry "{keys[0]}"; {did_you_mean(keys[0], names)}')


def _absolute(value: Any) -> Any:
    """A data file, or a table of them, as absolute paths: those on the command line start from the working directory.

    Other values stay as they are, and the recipe's check refuses them.
    """
    if isinstance(value, dict):
        return {key: _absolute(name) for key, name in value.items()}
    if not isinstance(value, str) or not value or value.startswith(EXAMPLE_PREFIX):
        return value
    return str(Path(os.path.expanduser(value)).absolute())


def toml_value(text: str) -> Any:
    """A value as TOML reads it, or a number such as ``.5``, or else the text itself.

    >>> toml_value("0.3"), toml_value(".3"), toml_value("[1, 2]"), toml_value("bert-base-cased")
    (0.3, 0.3, [1, 2], 'bert-base-cased')
    """
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # also for a number with thousands of digits
        return float(text) if SHORT_NUMBER.fullmatch(text) else text
    return table["value"] if len(table) == 1 else text


def as_toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> as_toml([True, "PER", {"LOC": 0.5}])
    '[true, "PER", { "LOC" = 0.5 }]'
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{as_toml(key)} = {as_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # JSON has other names for inf and nan
    text = json.dumps(value, ensure_ascii=False, default=str)  # a date cannot be a setting, as its check says
    return text.replace("\x7f", "\\u007f")  # TOML has no surrogates, and refuses DEL
