"""How the settings of two jobs differ."""

from __future__ import annotations

from nersery.core.system.job_records import differences


def test_differences_name_what_only_one_side_has():
    assert differences({"a": None, "b": {"c": 1}}, {"b": {"c": 1, "d": [2]}}) == (
        "  a: was None, now nothing\n  b.d: was nothing, now [2]"
    )


def test_differences_have_full_names_in_order():
    old = {"b": {"d": {"e": 1, "f": 2}}, "a": 0, "c": {"x": 1}, "same": {"x": [1]}}
    new = {"b": {"d": {"e": 2, "f": 2}}, "a": "0", "c": 1, "same": {"x": [1]}}
    assert differences(old, new).splitlines() == [
        "  a: was 0, now '0'",
        "  b.d.e: was 1, now 2",
        "  c: was {'x': 1}, now 1",
    ]
    assert differences(new, new) == ""


def test_differing_hashes_are_reported_as_changed_content() -> None:
    old, new = ({"rows": [f"raw {digit * 64}", {"first": 0}]} for digit in "01")
    assert differences(old, new) == "  rows: the content has changed"
    new["rows"][1]["first"] = 1
    assert differences(old, new).startswith("  rows: was [")


def test_shortens_a_long_value() -> None:
    line = differences({"systems": list(range(100))}, {})
    assert line.startswith("  systems: was [0, 1, 2,")
    assert line.endswith(" …, now nothing")
    assert len(line) < 160
