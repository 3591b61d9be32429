import time

import pytest

from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.models.llm.exact_match import placed_mentions
from nersery.models.llm.prompt import WRONG_FORM, Completion, Prompt, json_objects

ENTITIES = '{"entities": [{"text": "Ada", "type": "PER"}]}'


@pytest.mark.parametrize(
    "text",
    [
        ENTITIES,
        f"```json\n{ENTITIES}\n```",
        f"Sure, here you are: {ENTITIES} Is there anything else?",
        f'<think>Perhaps {{"entities": []}}? No.</think>{ENTITIES}',
        f'An example is {{"text": "x"}}, and the answer {ENTITIES}',
        f"{{{{ {ENTITIES} }}}}",
        ENTITIES.replace("}]", "},]").replace("]}", "],}"),
        f"Here it is: ```{ENTITIES.replace(chr(34), chr(39))}```",
        ENTITIES.replace("}]", "},  // a person, not a place\n]"),
        "{ // see http://x\n'entities': [{'text': 'Ada', 'type': 'PER'}]}",
        ENTITIES[13:-1],
        f"```json\n{ENTITIES[13:-1]}\n```",
        ENTITIES[13:-1].replace("}]", "},]"),
        f"Ada is a person.\n\nAnswer:\n{ENTITIES[13:-1]}",
        ENTITIES.replace(': "', ": “").replace('",', "”,").replace('"}', "”}"),
        f"<reasoning>[Ada] is a person</reasoning>\n{ENTITIES[13:-1]}",
        "Here:\n\n| Type | Text |\n| :-- | --: |\n| PER | Ada |\n",
    ],
)
def test_json_is_found_in_prose_and_markdown(text: str) -> None:
    assert Completion(text).content("entities") == [{"text": "Ada", "type": "PER"}]


@pytest.mark.parametrize(
    "text", ["None", "**N/A**", "no entities", "There are no named entities in this sentence.", "[]"]
)
def test_an_answer_may_say_that_there_is_nothing(text: str) -> None:
    assert Completion(text).content("entities") == []


def test_a_key_with_several_values_has_none_that_counts() -> None:
    """Of two mentions in one object, JSON in Python keeps the last."""
    lines = '{"entities": [{"text": "Ada", "type": "PER"}], "entities": []}'
    assert Completion(lines).content("entities") == WRONG_FORM
    both = '[{"text": "Ada", "type": "PER", "text": "Grace", "type": "PER"}]'
    sentence = Sentence(("Ada", "met", "Grace"))
    for text in (both, f'{{"entities": {both}}}', f"{{'entities': {both},}}"):
        assert placed_mentions(Completion(text).content("entities"), sentence, ["PER"]) == WRONG_FORM
    line = '{"entities": [{"text": "Grace", "type": "PER"}]}'
    assert Completion(f"{ENTITIES}\n{line}").content("entities") == WRONG_FORM, "one object a line"
    assert Completion(f"{ENTITIES}\n{ENTITIES}").content("entities") == [{"text": "Ada", "type": "PER"}]
    assert Completion("{'entities': [{'text': 'Ada', 'type': 'PER', 'type': 'PER'}]}").content("entities") == [
        {"text": "Ada", "type": "PER"}
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Completion(""), "no JSON"),
        (Completion("I see no names."), "no JSON"),
        (Completion(ENTITIES[:20]), "no JSON"),
        (Completion('{"names": []}'), "no JSON"),
        (Completion('{"names": [{"text": "Ada", "type": "PER"}]}'), "no JSON"),
        (Completion("The sentence has [] and no more."), "no JSON"),
        (Completion("| text | type |\n|--|--|\n| Ada | PER | sure |"), "no JSON"),
        (Completion("| text | type |\n|--|--|\n| Ada | PER |\n\nor\n\n| text | type |\n|--|--|\n"), "no JSON"),
        (Completion("| text | why |\n|--|--|\n| Ada | PER |"), "no JSON"),
        (Completion("[" * 10_000), "no JSON"),
        (Completion('{"a":' * 5_000), "no JSON"),
        (Completion('{"a":' * 5_000 + "}" * 5_000), "no JSON"),
        (Completion("{'entities': " + "-" * 50_000 + "1}"), "no JSON"),
        (Completion("{'entities': open('a')}"), "no JSON"),
        (Completion("{'entities', 'names'}"), "no JSON"),
        (Completion("{'entities': ['O'Brien']}"), "no JSON"),
        (Completion(ENTITIES[:20], "length"), "cut off"),
        (Completion('<think>Perhaps {"entities": []}? Ada', "length"), "cut off"),
        (Completion('Perhaps {"entities": []}? Ada', "length"), "cut off"),
        (Completion(f'{{"entities": []}} or {ENTITIES[:-2]}', "length"), "cut off"),
        (Completion('<think>Perhaps {"entities": []}? Ada'), "no JSON"),
        (Completion("", "refusal"), "refused"),
        (Completion(ENTITIES, "content_filter"), "refused"),
    ],
)
def test_rejects_an_answer_without_a_result(answer: Completion, reason: str) -> None:
    found = answer.content("entities")
    assert isinstance(found, Reject)
    assert reason in found.reason


def test_accepts_an_answer_cut_off_in_trailing_white_space() -> None:
    assert Completion(f"```{ENTITIES}\n```\n\n  ", "length").content("entities") == [{"text": "Ada", "type": "PER"}]


def test_nested_objects_are_found_once() -> None:
    assert json_objects('{"a": {"b": 1}} {"c": 2}') == [{"a": {"b": 1}}, {"c": 2}]


def test_the_cache_key_depends_on_everything_that_changes_the_answer() -> None:
    prompt = Prompt((("user", "a"),), {"type": "object"})
    others = [Prompt((("user", "b"),), {"type": "object"}), Prompt((("user", "a"),), {}), Prompt(*prompt_parts(prompt))]
    assert len({prompt.key(), *(other.key() for other in others), prompt.key(model="m")}) == 5
    assert prompt.key(model="m") == Prompt((("user", "a"),), {"type": "object"}, "another guess").key(model="m")


def prompt_parts(prompt: Prompt) -> tuple[object, ...]:
    return prompt.messages, prompt.schema, "", 7


def test_slashes_in_a_text_begin_no_comment() -> None:
    answer = '{"sentences": ["see http://x"], // one\n}'
    assert Completion(answer).content("sentences") == ["see http://x"]
    assert Completion("{'sentences': ['see http://x'],}").content("sentences") == ["see http://x"]
    hidden = '{"entities": [\n// {"text": "Bo", "type": "PER"},\n{"text": "Ada", "type": "PER"},\n]}'
    assert Completion(hidden).content("entities") == [{"text": "Ada", "type": "PER"}]


def test_an_open_string_with_many_quotation_marks_takes_no_time() -> None:
    start = time.perf_counter()
    assert Completion('{"entities": ["' + r"\"x" * 200_000 + "]}").content("entities") == WRONG_FORM
    assert time.perf_counter() - start < 2  # seconds
