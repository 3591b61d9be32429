"""Makes the page docs/commands.md: each command with its options and examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from docstrings import table

from nersery.cli.app import placeholder
from nersery.cli.main import all_commands

SHARED: Mapping[str, tuple[str, str]] = {
    "Reading": (
        "Reading options",
        "A recipe has the same names under `[data]`, with underscores and without `--` (`--scheme-in` is `scheme`).",
    ),
    "Large corpora": ("Options for large corpora", "See [how to](how-to.md#process-millions-of-sentences)."),
}
"""The panels of options that several commands share: title and introduction."""
Row = tuple[str, str, str]
COMMON = 2
"""An argument or option is described once if at least this many commands have it, with one meaning and default."""
OPTION_COLUMNS = ("option", "default", "meaning")
UNLISTED = ("--force", "--json", "--quiet", "INPUT", "OUTPUT", "TARGET")
"""Options that nearly every command has, and arguments that its example shows. They are not repeated per command."""
USUAL = (
    "Nearly all commands take `--json` and `--quiet`; those that write a corpus also take `--force`; those "
    "that read one also take the [reading options](#reading-options)."
)
REPEATED = "; may be repeated"
"""The text in the help of an option that this page marks by an ellipsis."""
INTRODUCTION = (
    "`nersery COMMAND --help` shows the same, with more examples. An option with `…` may be repeated. "
    "[Use in scripts](how-to.md#use-nersery-in-scripts) explains output and exit codes."
)


def commands_parts() -> list[str]:
    """A section for every command with its arguments, options and examples, then the shared options."""
    commands = all_commands()
    common = _common(commands)
    parts = (_command(name, command, common) for name, command in commands.items())
    return [*parts, _common_options(common), *(_shared(panel, commands) for panel in SHARED)]


def _common(commands: Mapping[str, Any]) -> list[Row]:
    """Arguments and options that several commands share, as rows of a table."""
    rows = Counter(_row(parameter) for command in commands.values() for parameter in _panel(command, None))
    return sorted(row for row, count in rows.items() if count >= COMMON)


def _common_options(rows: Sequence[Row]) -> str:
    return f"## Common options\n\n{USUAL}\n\n{table(OPTION_COLUMNS, rows)}"


def _shared(panel: str, commands: Mapping[str, Any]) -> str:
    """The section on a panel of options that several commands share."""
    title, text = SHARED[panel]
    options = {parameter.name: parameter for command in commands.values() for parameter in _panel(command, panel)}
    return f"## {title}\n\n{text}\n\n{_options(options.values())}"


def _panel(command: Any, panel: str | None) -> list[Any]:
    found = (parameter for parameter in command.params if getattr(parameter, "rich_help_panel", None) == panel)
    return [parameter for parameter in found if not getattr(parameter, "hidden", False)]


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _command(name: str, command: Any, common: Sequence[Row]) -> str:
    parameters = _panel(command, None)
    own = [parameter for parameter in parameters if _row(parameter) not in common]
    parts = [f"## nersery {name}", command.help, f"```sh\n{next(examples(command.epilog))}\n```", _options(own)]
    usual = [_name(parameter) for parameter in parameters if parameter not in own]
    listed = ", ".join(f"`{name}`" for name in usual if name not in UNLISTED)
    links = [f"[Common](#common-options): {listed}."] if listed else []
    parts.append(
        " ".join(
            [*links, *(["[Large corpora](#options-for-large-corpora)."] if _panel(command, "Large corpora") else [])]
        )
    )
    return "\n\n".join(filter(None, parts))


def examples(epilog: str | None) -> Iterator[str]:
    """The worked examples of a command's help."""
    return (line.strip() for line in (epilog or "").split("\n") if line.strip().startswith("nersery "))


def _name(parameter: Any) -> str:
    return str(parameter.opts[0]) if _is_option(parameter) else _metavar(parameter)


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _options(parameters: Iterable[Any]) -> str:
    rows = [_row(parameter) for parameter in parameters]
    return table(OPTION_COLUMNS, rows) if rows else ""


def _row(parameter: Any) -> Row:
    return _option(parameter), _default(parameter), parameter.help.replace(REPEATED, "")


def _option(parameter: Any) -> str:
    if not _is_option(parameter):
        return f"`{_metavar(parameter)}`"
    if parameter.is_flag:
        return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    names = [f"`{name}`" for name in parameter.opts[1:]]
    more = " …" if REPEATED in parameter.help else ""
    return ", ".join([f"`{parameter.opts[0]} {placeholder(parameter)}{more}`", *names])


def _default(parameter: Any) -> str:
    if not _is_option(parameter):
        return ""
    if parameter.required:
        return "required"
    if parameter.is_flag:
        return f"`{parameter.opts[0]}`" if parameter.default and parameter.secondary_opts else ""
    return "" if parameter.default in (None, "") else f"`{parameter.default}`"
