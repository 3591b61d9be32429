"""Word messages for their readers: options for users of the commands, parameters for users of the library.

Messages are written for the commands, such as ``give --format text``. For calls of the library, `worded` changes this
to ``give format="text"``. It also changes ```nersery train``` in backticks to ```nersery.train```, and a table of TOML
to one of Python, except in `nersery.run`, whose users write TOML, and ``nersery dataset convert --type OLD=NEW`` to the
method that renames types. Other commands, quoted texts, and options that no function has stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_SAME = (
    "encoding engine format gpus language minutes model models pair-by raw repair shards split tag-column test "
    "word-column workers"
)
PARAMETERS = {
    "--define": "definitions",
    "--names": "names",
    "--force": "force=True",
    "--out": "output",
    "--scheme-in": "scheme",
    "--separator space": 'separator=" "',
    "--set": "overrides",
    **{f"--{name}": name.replace("-", "_") for name in _SAME.split()},
}
"""The parameter of the library for each option that a message outside `nersery.cli` names."""
_QUOTED = r"\"[^\"\n]*\""
_COMMAND = r"\b(?:nersery [a-z]+|pip install|rasa data|hf upload)\b[^`(),;\n]*"
_VALUE = r"(?!(?:and|chooses|does|is|names|or)\b)\w[\w-]*(?!\.?\w|[=/'-])"
_FUNCTION = (
    r"`nersery (?P<function>annotate|augment|evaluate|grow|predict|run|select|train)(?: --set (?P<set>\w+=\w+))?`"
)
_TABLE = rf"(?:(?P<name>\w+) = )?\{{ (?P<key>{_QUOTED}|[\w-]+) = (?P<item>{_QUOTED})(?P<more>, …)? \}}"
_CONVERT = r"nersery dataset convert (?:OLD NEW )?(?:--type (?P<type>'[^'\n]+'|[\w-]+=[\w-]+)|--to (?P<to>\w+))"
_NAMES = "|".join(re.escape(option) for option in sorted(PARAMETERS, reverse=True))
_OPTION = re.compile(
    rf"{_TABLE}|{_QUOTED}|{_FUNCTION}|{_CONVERT}|{_COMMAND}|"
    rf"(?<![\w\"'=/-])(?P<option>{_NAMES})(?![\w=-])(?: (?P<value>{_VALUE}))?(?P<next> (?=--))?"
)
_at_command_line = _of_recipe = False


def is_command_line() -> bool:
    """Whether this process runs a command or was started as a worker of one."""
    return _at_command_line


def set_command_line(value: bool) -> bool:
    """Set whether messages of this process are for users of the commands; return the previous value."""
    global _at_command_line
    before, _at_command_line = _at_command_line, value
    return before


@contextmanager
def command_line() -> Iterator[None]:
    """Let messages name options within this context, in all threads."""
    before = set_command_line(True)
    try:
        yield
    finally:
        set_command_line(before)


def set_of_recipe(value: bool) -> bool:
    """Set whether the messages that are printed are about a recipe, and keep its TOML; return the previous value."""
    global _of_recipe
    before, _of_recipe = _of_recipe, value
    return before


def worded(text: str, *, of_recipe: bool = False) -> str:
    """A message with options or parameters, depending on its reader."""
    return text if _at_command_line else as_parameters(text, tables=not (of_recipe or _of_recipe))


def either(command: str, library: str) -> str:
    """The part of a message for its reader, if the two texts differ in more than the name of an option."""
    return command if _at_command_line else library


def as_parameters(text: str, *, tables: bool = True) -> str:
    """A message with parameters of the library in place of options of commands.

    Args:
        tables: Whether to write tables of TOML as those of Python.

    >>> as_parameters("name the column by --tag-column, or give --format text; see nersery train --force")
    'name the column by `tag_column`, or give format="text"; see nersery train --force'
    >>> as_parameters("set the rows per shard, e.g. --shards 10000, or start over (--force)")
    'set the rows per shard, e.g. shards=10000, or start over (force=True)'
    >>> as_parameters('name lists (files = { PER = "persons.txt" }), or use `nersery train --set model=NAME`')
    'name lists (files={"PER": "persons.txt"}), or use `nersery.train(…, model=NAME)`'
    """
    return _OPTION.sub(lambda found: found[0] if found["key"] and not tables else _as_parameter(found), text)


def _as_parameter(found: re.Match[str]) -> str:
    option, value = found["option"], found["value"]
    if key := found["key"]:
        name, quoted = f"{found['name']}=" if found["name"] else "", key if key[0] == '"' else f'"{key}"'
        return f"{name}{{{quoted}: {found['item']}{found['more'] or ''}}}"
    if function := found["function"]:
        return f"`nersery.{function}(…, {found['set']})`" if found["set"] else f"`nersery.{function}`"
    if type_ := found["type"]:
        old, _, new = type_.strip("'").rpartition("=")
        return f'sentence.with_types({{"{old}": "{new}"}})'
    if found["to"]:
        return f'format="{found["to"]}"'
    if option is None:  # a command, or a text of the user
        return found[0]
    parameter = PARAMETERS[option]
    if "=" in parameter:  # a flag, and the next word is not its value
        return parameter + found[0].removeprefix(option)
    if value is not None:
        parameter += f"={value}" if value.isdecimal() else f'="{value}"'
    else:
        parameter = f"`{parameter}`"
    return parameter + (", " if found["next"] else "")
