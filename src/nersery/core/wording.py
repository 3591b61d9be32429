"""Word messages for their readers: options for users of the commands, parameters for users of the library.

Messages are written for the commands, such as ``give --format text``. For calls of the library, `worded` changes this
to ``give format="text"``. Commands, quoted texts, and options that no function has stay unchanged.
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
_NAMES = "|".join(re.escape(option) for option in sorted(PARAMETERS, reverse=True))
_OPTION = re.compile(
    rf"{_QUOTED}|{_COMMAND}|(?<![\w\"'=/-])(?P<option>{_NAMES})(?![\w=-])(?: (?P<value>{_VALUE}))?(?P<next> (?=--))?"
)
_at_command_line = False


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


def worded(text: str) -> str:
    """A message with options or parameters, depending on its reader."""
    return text if _at_command_line else as_parameters(text)


def either(command: str, library: str) -> str:
    """The part of a message for its reader, if the two texts differ in more than the name of an option."""
    return command if _at_command_line else library


def as_parameters(text: str) -> str:
    """A message with parameters of the library in place of options of commands.

    >>> as_parameters("name the column by --tag-column, or give --format text; see nersery train --force")
    'name the column by `tag_column`, or give format="text"; see nersery train --force'
    >>> as_parameters("set the rows per shard, e.g. --shards 10000, or start over (--force)")
    'set the rows per shard, e.g. shards=10000, or start over (force=True)'
    """
    return _OPTION.sub(_as_parameter, text) if "--" in text else text


def _as_parameter(found: re.Match[str]) -> str:
    option, value = found["option"], found["value"]
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
