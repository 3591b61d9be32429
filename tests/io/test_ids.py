"""Ids are distinct or not, in memory as on disk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nersery.io.ids import Ids


@given(st.lists(st.text(st.characters(), max_size=2)), st.integers(0, 5))
def test_a_small_memory_finds_what_a_large_one_does(names: list[str], in_memory: int) -> None:
    ids, first = Ids(in_memory), {}
    for line, name in enumerate(names, start=1):
        assert ids.add(name, line, f"{line}.conll") == first.get(name)
        first.setdefault(name, (line, f"{line}.conll"))


def test_only_so_many_ids_are_kept_in_memory() -> None:
    ids = Ids(in_memory=10)
    for line in range(100):
        assert ids.add(str(line), line) is None
    assert len(ids._places) == 10
    assert [ids.add(str(line), 0) for line in (5, 50)] == [(5, ""), (50, "")]
