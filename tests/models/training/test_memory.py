from __future__ import annotations

from types import SimpleNamespace

import pytest

from nersery.models.training import memory


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    monkeypatch.setattr(memory, "_call", lambda *args: found.append(args))
    return found


def test_memory_is_kept_and_returned_in_an_own_process(
    calls: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "is_main_program", lambda: True)
    with memory.kept_memory():
        assert calls == [("mallopt", -3, 32 << 20), ("mallopt", -1, 2**31 - 1)]
    assert calls[2:] == [("mallopt", -3, 32 << 20), ("mallopt", -1, 64 << 20), ("malloc_trim", 0)]


def test_memory_of_another_program_is_not_touched(
    calls: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory.kept_memory():
        pass
    assert not calls


def test_a_c_library_without_the_functions_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    missed: list[str] = []

    class Library:
        def __getattr__(self, function: str) -> None:
            missed.append(function)
            raise AttributeError(function)

    monkeypatch.setattr(memory, "is_main_program", lambda: True)
    monkeypatch.setattr(memory, "ctypes", SimpleNamespace(CDLL=lambda name: Library()))
    with memory.kept_memory():
        assert missed == ["mallopt"] * 2
    assert missed == [*["mallopt"] * 4, "malloc_trim"]
