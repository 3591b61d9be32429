"""The documents agree with the code: generated pages, links, commands, settings, recipes and examples."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import importlib.util
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.augment.base import Augmenter, augment
from nersery.cli import catalogue, inspect_suggestions
from nersery.cli.main import all_commands
from nersery.core import registry, tags
from nersery.core.settings import descriptions
from nersery.experiments import recipe, systems
from nersery.experiments.data import sampling
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.io.input_files.shipped import EXAMPLE_PREFIX, shipped

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"`(nersery [a-z][^`]*)`")
KINDS = {"augment": "augment", "annotate": "annotate", "select": "select", "train": "tagger"}
ALL = all_commands()


@pytest.fixture(autouse=True)
def _files_of_settings_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may name a reader's own file."""
    for method, check in (
        ("words.thesaurus", "check_file"),
        ("synonym_replacement", "check_wordnet"),
        ("label_wise_token_replacement", "check_file"),
    ):
        monkeypatch.setattr(f"nersery.augment.{method}.{check}", lambda path: None)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in FENCE.findall(page.read_text("utf-8")) if language in languages]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def shell_lines(page: Path) -> Iterator[str]:
    """The lines of shell blocks, and those after a prompt in console blocks."""
    for text in blocks(page, "sh"):
        yield from text.replace("\\\n", " ").splitlines()
    for text in blocks(page, "console"):
        yield from (line[2:] for line in text.splitlines() if line.startswith("$ "))


def commands_in(line: str) -> Iterator[list[str]]:
    """The calls of nersery in a line of shell, as lists of words."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;"):
            if words and words[0] == "nersery":
                yield words[1:]
            words = []
        else:
            words.append(word)


COMMANDS = [(name_of(page), command) for page in PAGES for line in shell_lines(page) for command in commands_in(line)]
MENTIONED = [(name_of(page), text) for page in PAGES for text in INLINE.findall(prose(page))]


# --- generated pages ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated(generate: ModuleType) -> dict[Path, str]:
    """The pages as the code generates them."""
    pages: dict[Path, str] = generate.pages()
    return pages


def test_generated_pages_are_up_to_date(generate: ModuleType, generated: dict[Path, str], monkeypatch) -> None:
    monkeypatch.setattr(generate, "pages", lambda: generated)
    assert generate.stale() == [], "run: make docs"


def test_a_stale_page_is_named_with_the_command(generate: ModuleType, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "pages", functools.cache(generate.pages))
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (tmp_path / "methods.md").write_text("old", "utf-8")
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/methods.md is out of step with the code. Run: make docs\n"


def test_generated_pages_have_every_method_setting_and_option(generate: ModuleType, generated: dict[Path, str]) -> None:
    methods_page, recipes_page, commands_page, *_ = generated.values()
    for kind in registry.KINDS:
        for name in registry.names(kind):
            section = methods_page.partition(f"\n### {name}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
            shared = section.partition("(#shared-settings): ")[2].partition("\n")[0]
            groups = [title for title in generate.SETTING_GROUPS if f"(#{title.lower().replace(' ', '-')})" in shared]
            linked = "".join(methods_page.partition(f"\n### {title}\n")[2].partition("\n#")[0] for title in groups)
            shown = {*re.findall(r"^\| `(\w+)`", section, re.M), *re.findall(r"`(\w+)`", shared + linked)}
            assert set(descriptions.describe(kind, name)["settings"]) <= shown
    assert set(systems.OWN_KEYS) | set(recipe.KEYS) <= set(re.findall(r"^(?:\| `|## `\[+)(\w+)", recipes_page, re.M))
    for name, command in ALL.items():
        assert f"\n## nersery {name}\n\n{command.help}" in commands_page
        for parameter in command.params:
            assert all(f"`{option}" in commands_page for option in parameter.opts if option.startswith("-"))


def test_generated_pages_do_not_depend_on_the_machine(
    generate: ModuleType, generated: dict[Path, str], monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert generate.pages() == generated
    assert not any(str(ROOT) in text or str(Path.home()) in text for text in generated.values())


def test_doctests_of_the_generator(generate: ModuleType) -> None:
    result = doctest.testmod(sys.modules["docstrings"])
    assert result.attempted
    assert not result.failed


def test_how_to_lists_its_sections_in_order() -> None:
    head, *sections = (ROOT / "docs" / "how-to.md").read_text("utf-8").split("\n## ")
    assert re.findall(r"\[([^\]]+)\]\(#", head) == [section.partition("\n")[0] for section in sections]


# --- the papers' tables and figures ---------------------------------------------------------------------------------

PAPER_ROWS = [
    (paper, item, row)
    for paper, items in tomllib.loads((ROOT / "docs" / "papers.toml").read_text("utf-8")).items()
    for item, row in items.items()
]


def test_every_table_and_figure_of_the_papers_has_a_row() -> None:
    assert {paper for paper, *_ in PAPER_ROWS} == {*recipe.PAPERS} - {""}
    assert len(PAPER_ROWS) == 41
    assert all(command for _, _, (_, command, _, _) in PAPER_ROWS)


@pytest.mark.parametrize(
    ("paper", "item", "row"), PAPER_ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_row_of_a_table_or_figure_has_a_valid_command(paper: str, item: str, row: list[str]) -> None:
    shows, command, _, differs = row
    assert shows
    assert differs
    name, words = command_and_arguments(shlex.split(command)[1:])
    parsed = ALL[name].make_context(name, [*words], resilient_parsing=False).params
    if name == "run":
        loaded = recipe.load(parsed["recipe"], parsed["overrides"] or [])
        assert loaded.paper == paper
        assert recipe.load(parsed["recipe"], parsed["overrides"] or [], "bundled-multilingual").systems
    assert issues_of(name, parsed) == []


# --- links ----------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), f"{link}: no such file"
            assert not anchor or anchor in anchors(target), f"{link}: no such heading"


# --- commands -------------------------------------------------------------------------------------------------------


def test_finds_the_commands_in_the_pages() -> None:
    assert len(COMMANDS) > 40
    assert len(MENTIONED) > 10
    for name in ALL:
        assert any(page == "README.md" and text == f"nersery {name}" for page, text in MENTIONED), name


@pytest.mark.parametrize(
    ("page", "words"), COMMANDS, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_commands_have_valid_arguments_and_settings(page: str, words: list[str]) -> None:
    """The app's own parser takes the command, and every name and setting in it is known."""
    if {"--help", "-h", "--version"} & set(words):
        return
    name, arguments = command_and_arguments(words)
    with ALL[name].make_context(name, arguments) as context:
        assert issues_of(name, context.params) == []


def command_and_arguments(words: list[str]) -> tuple[str, list[str]]:
    """The full name of a command, such as `inspect stats`, and the words after it."""
    size = 1 if words[0] in ALL else 2
    return " ".join(words[:size]), words[size:]


def issues_of(name: str, values: dict[str, Any]) -> list[str]:
    """Issues that a parser cannot find: methods, settings, presets, recipes, repairs, schemes."""
    if "repair" in values:
        io.ReadOptions(repair=tuple(values["repair"] or ()), scheme=values["scheme_in"])
    if values.get("scheme"):
        tags.scheme_name(values["scheme"])
    if name in KINDS:
        issues = []
        settings = settings_from(values["settings"] or [])
        if values.get("preset"):
            settings, issues = recipe.with_preset({**settings, "preset": values["preset"]})
        method = values["method"] or settings.pop("method", "transformer")
        return issues + registry.check(KINDS[name], method, settings)
    if name == "inspect suggestions":
        columns = inspect_suggestions._requests(values["methods"] or [], values["models"] or [])
        return [
            issue for one in columns.values() for issue in registry.check("augment", one["method"], one["settings"])
        ]
    if name == "run" and values["recipe"] in recipe.shipped_recipes():
        recipe.load(values["recipe"], values["overrides"] or [])
    known = {"dataset sample": sampling.PROTOCOLS, "copy": [*recipe.shipped_recipes(), *examples()], "list": listed()}
    asked = {"dataset sample": "protocol", "copy": "name", "list": "what"}
    value = values[asked[name]] if name in asked else None
    return [f"there is no {value}"] if value is not None and value not in known[name] else []


def examples() -> list[str]:
    return [EXAMPLE_PREFIX + path.name for path in shipped("recipes/example").iterdir()]


def listed() -> list[str]:
    return [*catalogue._listings(), *(name for kind in registry.KINDS for name in registry.names(kind))]


@pytest.mark.parametrize(("page", "text"), MENTIONED, ids=lambda value: value)
def test_options_in_running_text_exist(page: str, text: str) -> None:
    name, words = command_and_arguments(shlex.split(text)[1:])
    known = {option for parameter in ALL[name].params for option in parameter.opts} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= known


# --- recipes and examples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_recipe_snippets_are_valid(page: Path) -> None:
    """Inserted into the demo recipe, they are valid."""
    for text in blocks(page, "toml"):
        part = tomllib.loads(text)
        if "project" in part or text.startswith("# about.toml"):
            continue
        table = tomllib.loads(recipe.find_recipe("demo").read_text("utf-8"))
        for key, value in part.items():
            table[key] = {**table["data"], **value} if key == "data" else value
        assert recipe.parse_recipe(table)[1] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples_work(page: Path) -> None:
    """A session is run as a doctest; the nersery imports of other code must exist."""
    for number, text in enumerate(blocks(page, "python"), start=1):
        if ">>>" in text:
            test = doctest.DocTestParser().get_doctest(text, {}, f"{page.name} {number}", str(page), 0)
            assert doctest.DocTestRunner().run(test).failed == 0
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nersery"):
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names)


def test_how_to_has_a_python_session() -> None:
    assert any(">>>" in text for text in blocks(ROOT / "docs" / "how-to.md", "python"))


def test_the_example_of_a_method_works(tmp_path: Path, monkeypatch) -> None:
    """The file that docs/architecture.md shows under "Add a method"."""
    (text,) = (text for text in blocks(ROOT / "docs" / "architecture.md", "python") if "(Augmenter)" in text)
    (tmp_path / "random_deletion.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    cls = importlib.import_module("random_deletion").RandomDeletion
    monkeypatch.delitem(sys.modules, "random_deletion")
    assert issubclass(cls, Augmenter)
    words = ("o.1", "PER.2", "PER.3", "o.4", "LOC.5")
    corpus = Corpus([Sentence(words, (Entity(1, 3, "PER"), Entity(4, 5, "LOC"))), Sentence(("o.6",))])
    result = augment(corpus, cls(rate=1.0))
    assert [sentence.text for sentence in result.corpus] == ["PER.2 PER.3 LOC.5"]
    assert result.corpus[0].labels == ((0, 2, "PER"), (2, 3, "LOC"))
    assert [reject.reason for reject in result.rejects] == ["no word left"]
