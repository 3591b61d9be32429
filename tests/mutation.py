"""Mutation testing, run by `make mutation`: a test should fail for each small change of the code.

mutmut makes the changes (*mutants*) and forks a process for each. It leaves out functions with decorators, which here
are properties and context managers, and has no change for `min`, `sorted` and `os.replace`; this module adds these.
It also lists the tests of each module, and the mutants that no test has to find.
"""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import libcst as cst
import libcst.matchers as m
from mutmut import __main__ as mutmut
from mutmut.configuration import config
from mutmut.mutation import file_mutation, mutators
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_module_from_key, mangled_name_from_mutant_name
from mutmut.workers.isolation import ForkServerRunner

MAX_MUTANTS = 100
"""Modules with more mutants than this are tested with a sample of this size, always the same one."""
CONLL = ("io/test_conll", "io/test_conll_issues", "io/test_conll_repairs", "io/test_conll_round_trip")
TESTS = {
    "core.sentence": ("core/test_sentence", "core/test_sentence_validation", "io/test_io"),
    "core.sentence_validation": ("core/test_sentence_validation", "core/test_tags"),
    "core.tags": ("core/test_tags", *CONLL),
    "core.system.files": ("core/system/test_files", "core/system/test_folders"),
    "core.system.folders": ("core/system/test_folders",),
    "core.system.job_records": ("core/system/test_job_records",),
    "io.conll": (*CONLL, "io/columns_and_rows/test_conll_writer", "io/test_io"),
    "io.columns_and_rows.columns": ("io/columns_and_rows/test_columns", *CONLL),
    "io.jsonl": ("io/test_jsonl", "io/test_io"),
    "io.repairs": ("core/test_tags", *CONLL),
    "io.input_files.text_file": ("io/input_files/test_text_file", "io/test_io"),
    "pipeline.job": ("pipeline/test_job", "pipeline/test_loop", "pipeline/test_resume"),
    "pipeline.error_policy": ("pipeline/test_error_policy", "pipeline/test_loop"),
    "pipeline.shards": ("pipeline/test_shards", "pipeline/test_shards_resume"),
    "evaluate.scores": ("evaluate/test_scores",),
    "evaluate.significance": ("evaluate/test_significance",),
    "experiments.data.sampling": ("experiments/data/test_sampling",),
    "crosslingual.label_projection.projection": (
        "crosslingual/label_projection/test_spans",
        "crosslingual/label_projection/test_quality_and_votes",
    ),
    "crosslingual.aligner_components.symmetrization": ("crosslingual/aligner_components/test_symmetrization",),
}
"""The files with the tests of each module. `core.entity` and `core.alignments` have no functions, so no mutants."""

Mutants = Iterator[cst.CSTNode]
Mutation = file_mutation.Mutation


# What mutmut does not change by itself.

OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def opposite(node: cst.Call) -> Mutants:
    """`max` for `min`, and the like."""
    if isinstance(node.func, cst.Name) and node.func.value in OPPOSITES:
        yield node.with_changes(func=cst.Name(OPPOSITES[node.func.value]))


def unsorted(node: cst.Call) -> Mutants:
    """`list` for `sorted`."""
    if m.matches(node.func, m.Name("sorted")):
        yield cst.Call(cst.Name("list"), [node.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)])


def copied(node: cst.Call) -> Mutants:
    """A copy, which a kill can interrupt, for the atomic `os.replace`."""
    if m.matches(node.func, m.Attribute(m.Name("os"), m.Name("replace"))):
        yield node.with_changes(func=cst.Attribute(cst.Name("shutil"), cst.Name("copy")))


def undecorated(function: cst.FunctionDef) -> cst.FunctionDef:
    """A copy of a function that neither its decorators nor doctest process a second time."""
    body: Any = function.body
    if function.get_docstring() is not None and isinstance(body, cst.IndentedBlock):
        body = body.with_changes(body=body.body[1:])
    methods = m.Name("classmethod") | m.Name("staticmethod")
    kept = [one for one in function.decorators if m.matches(one.decorator, methods)]
    return function.with_changes(decorators=kept, body=body)


def mutate_decorated_functions() -> None:
    """Have the decorators wrap mutmut's switch between the mutants of a function."""
    skips, arranged = (
        file_mutation.MutationVisitor._skip_node_and_children,
        file_mutation.function_trampoline_arrangement,
    )

    def skip(self: Any, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef) and not any(
            m.matches(one.decorator, m.Name("overload")) for one in node.decorators
        ):
            node = node.with_changes(decorators=())
        return skips(self, node)

    def arrange(function: cst.FunctionDef, mutants: Iterable[Mutation], class_name: str | None) -> Any:
        declared, nodes, assigned, names = arranged(undecorated(function), mutants, class_name)
        switch = nodes[0].with_changes(decorators=[*function.decorators, nodes[0].decorators[-1]], body=function.body)
        return declared, [switch, *nodes[1:]], assigned, names

    file_mutation.MutationVisitor._skip_node_and_children = skip
    file_mutation.function_trampoline_arrangement = arrange


# Mutants that are left out.


def is_message(node: cst.CSTNode) -> bool:
    """Text for people, which has words with a space between them. Tests check the values in it, not its wording."""
    text = node.evaluated_value if isinstance(node, cst.SimpleString | cst.ConcatenatedString) else None
    return isinstance(text, str) and re.search(r"\w,? \w", text) is not None


def is_encoding(node: cst.CSTNode) -> bool:
    """UTF-8 is the default on Linux, and the case of its name does not matter."""
    return isinstance(node, cst.SimpleString) and node.evaluated_value == "utf-8"


def is_strict(node: cst.CSTNode) -> bool:
    """`strict` of `zip` is a guard: both sides have the same length by construction."""
    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict"


RULES = (is_message, is_encoding, is_strict)
"""A change of such a part is left out, and its removal if it is an argument."""


def is_left_out(mutation: Mutation, parents: Mapping[int, cst.CSTNode]) -> bool:
    """Whether a rule applies to the changed node, or to its only changed argument."""
    old, new = mutation.original_node, mutation.mutated_node
    parts = [old, parents[id(old)]]
    if isinstance(old, cst.Call) and isinstance(new, cst.Call):
        lost = [arg for arg in old.args if not any(arg is other for other in new.args)]
        parts = [*lost, lost[0].value] if len(lost) == 1 else []
    return any(rule(part) for rule in RULES for part in parts)


def sample_mutants() -> None:
    """Leave out mutants by `RULES`, then draw `MAX_MUTANTS`."""
    create = file_mutation.create_mutations

    def drawn(filename: str, *args: Any) -> Any:
        module, mutations, *ignored = create(filename, *args)
        inside = [one for one in mutations if one.contained_by_top_level_function is not None]
        parents = {id(child): node for node in file_mutation._walk(module) for child in node.children}
        kept = [one for one in inside if not is_left_out(one, parents)]
        Path("mutants", f"{filename}.counts").write_text(f"{len(inside)} {len(inside) - len(kept)}")
        chosen = sorted(random.Random(0).sample(range(len(kept)), min(MAX_MUTANTS, len(kept))))
        return module, [kept[place] for place in chosen], *ignored

    file_mutation.create_mutations = drawn


# The tests of each module.


def files(module: str) -> tuple[str, ...]:
    """The files with tests of a module, its own doctests first."""
    return (f"src/nersery/{module.replace('.', '/')}.py", *(f"tests/{name}.py" for name in TESTS[module]))


def choose_tests() -> None:
    """For each function, the tests in the files of its module that call it; all tests if no test is seen to call it."""
    collect, switch = mutmut.collect_or_load_stats, mutmut.set_mutant_under_test

    def switch_here(name: str | None) -> None:
        switch(name)
        if name == "stats":  # calls in other processes would not be recorded
            del os.environ["MUTANT_UNDER_TEST"]

    mutmut.set_mutant_under_test = switch_here

    def collected(*args: Any, **kwargs: Any) -> None:
        collect(*args, **kwargs)
        known, calling = state().duration_by_test, state().tests_by_mangled_function_name
        for _, name, _ in mutmut.collect_source_file_mutation_data(mutant_names=())[0]:
            function = mangled_name_from_mutant_name(name)
            wanted = {
                test for test in known if test.startswith(files(get_module_from_key(name).removeprefix("nersery.")))
            }
            calling[function] = (calling[function] & wanted) or wanted

    mutmut.collect_or_load_stats = collected
    run = PytestRunner.run_tests

    def run_fast_tests_first(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        return run(self, mutant_name=mutant_name, tests=sorted(tests, key=state().duration_by_test.__getitem__))

    PytestRunner.run_tests = run_fast_tests_first
    warm_up = PytestRunner.warm_up

    def warm_up_and_freeze(self: PytestRunner) -> None:
        warm_up(self)
        gc.collect()
        gc.freeze()  # a collection in a fork would copy all memory

    PytestRunner.warm_up = warm_up_and_freeze
    ForkServerRunner.run_clean_tests = lambda self, tests: 0  # finding out which tests call which function has run them


# The run and its results.


def data() -> Iterator[tuple[str, SourceFileMutationData]]:
    """The data on the mutants of each module."""
    for module in TESTS:
        found = SourceFileMutationData(path=Path(files(module)[0]))
        found.load()
        yield module, found


def is_killed(code: int | None) -> bool:
    """Whether a test failed, or timed out."""
    return status_by_exit_code[code] in ("killed", "timeout", "segfault")


def print_results() -> None:
    """A table of all modules, and the mutants that no test finds."""
    print("| module | mutants | left out | tested | killed | share |\n| --- | --- | --- | --- | --- | --- |")
    total: Counter[str] = Counter()
    for module, found in data():
        mutants, left_out = map(int, Path("mutants", f"{found.path}.counts").read_text().split())
        killed = sum(map(is_killed, found.exit_code_by_key.values()))
        counts = {"mutants": mutants, "left out": left_out, "tested": len(found.exit_code_by_key), "killed": killed}
        total.update(counts)
        print(row(f"`{module.replace('.', '/')}.py`", counts))
    print(row("all", total))
    for _, found in data():
        for name, code in found.exit_code_by_key.items():
            if not is_killed(code):
                diff = get_diff_for_mutant(name, path=found.path).splitlines()
                changed = [line for line in diff if line.startswith(("+ ", "- "))]
                print(f"\n{status_by_exit_code[code]}: {name}", *changed, sep="\n", file=sys.stderr)


def row(name: str, counts: Mapping[str, int]) -> str:
    """A line of the table."""
    share = 100 * counts["killed"] / max(1, counts["tested"])
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts.values())} | {share:.0f} % |"


def main() -> None:
    """Test all mutants, or, given names of modules, the mutants in them that survived the last run."""
    hypothesis.settings.register_profile(
        "mutation",
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=30,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    paths = [str(Path("mutants/src").absolute()), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # which takes half of the time of the rest
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    del sys.modules["tests"]  # this package; that of the copy under test is to be found
    if not sys.argv[1:]:
        shutil.rmtree("mutants", ignore_errors=True)
    alive = [
        name
        for module, found in data()
        if module in sys.argv[1:]
        for name, code in found.exit_code_by_key.items()
        if status_by_exit_code[code] != "killed"  # a timeout may have been for a busy machine
    ]
    config().only_mutate = [files(module)[0] for module in TESTS]
    config().pytest_add_cli_args_test_selection = sorted({file for module in TESTS for file in files(module)})
    mutators.mutation_operators += [(cst.Call, opposite), (cst.Call, unsorted), (cst.Call, copied)]
    mutate_decorated_functions()
    sample_mutants()
    choose_tests()
    mutmut._run(alive, max_children=1)
    print_results()


if __name__ == "__main__":
    main()
