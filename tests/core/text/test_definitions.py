from __future__ import annotations

import copy
import re

import pytest

from nersery.core.errors import SettingsError
from nersery.core.text.definitions import (
    NO_ENTITY,
    _defaults,
    check_texts,
    check_types,
    definition,
    description,
    is_known,
    question,
)

SETS = {
    "CoNLL-2003": "PER LOC ORG MISC",
    "OntoNotes 5": "PERSON NORP FAC ORG GPE LOC PRODUCT EVENT WORK_OF_ART LAW LANGUAGE DATE TIME PERCENT MONEY "
    "QUANTITY ORDINAL CARDINAL",
    "MultiCoNER": "PER LOC GRP CORP PROD CW",
    "MaSciP": "Material Number Operation Amount-Unit Condition-Unit Material-Descriptor Condition-Misc "
    "Synthesis-Apparatus Nonrecipe-Material Brand Apparatus-Descriptor Amount-Misc Meta Characterization-Apparatus "
    "Apparatus-Property-Type Condition-Type Property-Misc Property-Unit Property-Type Reference Apparatus-Unit",
    "WNUT 2017": "corporation creative-work group location person product",
    "MultiCoNER 2": "Facility OtherLOC HumanSettlement Station VisualWork MusicalWork WrittenWork ArtWork Software "
    "OtherCW MusicalGRP PublicCorp PrivateCorp AerospaceManufacturer SportsGRP CarManufacturer ORG TechCORP Scientist "
    "Artist Athlete Politician Cleric SportsManager OtherPER Clothing Vehicle Food Drink OtherPROD Medication/Vaccine "
    "MedicalProcedure AnatomicalStructure Symptom Disease",
    "CrossNER, music": "musicgenre song band album musicalartist musicalinstrument award event country location "
    "organisation person misc",
    "CrossNER, science": "scientist person university organisation country location discipline enzyme protein "
    "chemicalelement chemicalcompound astronomicalobject academicjournal event theory award misc",
    "CrossNER, AI": "field task product algorithm researcher metrics university country person organisation location "
    "programlang conference misc",
    "CrossNER, literature": "book writer award poem event magazine person location organisation country misc "
    "literarygenre",
    "CrossNER, politics": "politician person organisation politicalparty event election country location misc",
    "MIT restaurants": "Rating Amenity Location Restaurant_Name Price Hours Dish Cuisine",
    "MIT films": "ACTOR YEAR TITLE GENRE DIRECTOR SONG PLOT REVIEW CHARACTER RATING RATINGS_AVERAGE TRAILER",
    "BC5CDR": "Chemical Disease",
    "JNLPBA": "DNA RNA protein cell_line cell_type",
    "i2b2 2010": "problem test treatment",
    "NEREL": "AGE AWARD CITY COUNTRY CRIME DATE DISEASE DISTRICT EVENT FACILITY FAMILY IDEOLOGY LANGUAGE LAW LOCATION "
    "MONEY NATIONALITY NUMBER ORDINAL ORGANIZATION PENALTY PERCENT PERSON PRODUCT PROFESSION RELIGION "
    "STATE_OR_PROVINCE TIME WORK_OF_ART",
    "Indian judgments": "COURT PETITIONER RESPONDENT JUDGE LAWYER DATE ORG GPE STATUTE PROVISION PRECEDENT CASE_NUMBER "
    "WITNESS OTHER_PERSON",
    "German judgments": "PER RR AN LD ST STR LDS ORG UN INN GRT MRK GS VO EUN VS VT RS LIT",
    "LeNER-Br": "PESSOA LOCAL ORGANIZACAO TEMPO LEGISLACAO JURISPRUDENCIA",
    "GermEval 2014": "PER LOC ORG OTH PERderiv LOCderiv ORGderiv OTHderiv PERpart LOCpart ORGpart OTHpart",
    "CLUENER": "address book company game government movie name organization position scene",
    "MSRA": "NR NS NT",
    "Weibo": "PER.NAM PER.NOM LOC.NAM LOC.NOM ORG.NAM ORG.NOM GPE.NAM GPE.NOM",
    "IL-NER": "NEP NEL NEO NEAR NEN NETI",
    "MultiNERD": "PER LOC ORG ANIM BIO CEL DIS EVE FOOD INST MEDIA MYTH PLANT TIME VEHI",
    "SciERC": "Task Method Metric Material OtherScientificTerm Generic",
    "Polymers": "POLYMER POLYMER_FAMILY PROP_NAME PROP_VALUE MATERIAL_AMOUNT INORGANIC ORGANIC MONOMER",
    "Matscholar": "MAT SPL DSC APL SMT CMT",
    "HiNER": "PERSON LOCATION ORGANIZATION NUMEX TIMEX RELIGION LITERATURE FESTIVAL GAME LANGUAGE MISC",
}


@pytest.mark.parametrize("name", SETS)
def test_every_type_of_common_data_sets_has_distinct_texts(name: str) -> None:
    types = SETS[name].split()
    assert all(map(is_known, types))
    for text_of in (description, definition, question):
        assert len({text_of(type_, {}) for type_ in types}) == len(types), "two types must not be told alike"


def test_defaults_are_a_few_words_each() -> None:
    for name, texts in copy.deepcopy(_defaults()).items():
        assert {"description", "definition"} <= texts.keys() <= {"description", "definition", "question"}, name
        texts.pop("question", "")
        asked = question(name, {})
        assert re.fullmatch(r"[A-Z][^?]+\?", asked), name
        assert 4 <= len(asked.split()) <= 20, f"{name}: it stands in front of every sentence"
        assert 1 <= len(texts["description"].split()) <= 4, name
        assert 2 <= len(texts["definition"].split()) <= 20, f"{name}: a short window has to hold it"
        for text in (*texts.values(), NO_ENTITY):
            assert " ".join(text.split()) == text
            assert text[:1] == text[:1].lower()
            assert not text.endswith(".")


@pytest.mark.parametrize("spelled", ["WORK_OF_ART", "Work-of-Art", "work of art", "WORK-OF_ART"])
def test_sets_write_the_same_type_in_different_ways(spelled: str) -> None:
    assert is_known(spelled)
    assert definition(spelled, {}) == definition("WORK_OF_ART", {})


def test_question_for_a_type_of_many_domains_is_domain_neutral() -> None:
    assert question("BRAND", {}) == "Which brand or maker of products is mentioned in texts?"


def test_question_falls_back_to_the_definition() -> None:
    assert question("Politician", {}) == "Which named politician or ruler is mentioned in texts?"


def test_the_user_s_texts_go_before_the_defaults() -> None:
    own = {"PER": "somebody", "GENE": ""}
    assert definition("PER", own) == description("PER", own) == "somebody"
    assert definition("LOC", own) == definition("LOC", {})
    assert definition("Per", own) == definition("PER", {}), "the user's names are those of the corpus, letter by letter"


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("SuperConductor", "super conductor"),
        ("body_part", "body part"),
        ("I-am:odd", "i am odd"),
        ("<gene/protein>", "gene protein"),
        ("XYZ", "xyz"),
        ("人名", "人名"),
        ("स्थान", "स्थान"),
        ("__", "entity"),
        ("👩‍🚀", "👩‍🚀"),
    ],
)
def test_describes_an_unknown_type_by_its_name(type_: str, name: str) -> None:
    assert not is_known(type_)
    assert definition(type_, {}) == description(type_, {}) == name


def test_question_uses_the_text_of_the_user_or_the_type() -> None:
    assert question("PER", {}) == "Who is the named person or family mentioned in texts?"
    assert question("PER", {"PER": "head of state"}) == "Which head of state is mentioned in texts?"
    assert question("SuperConductor", {}) == "Which super conductor is mentioned in texts?"


@pytest.mark.parametrize("asked", ["Who leads?", "कौन है ?", "من هو؟", "誰ですか？", "Ποιος είναι;"])
def test_keeps_a_question_of_the_user_unchanged(asked: str) -> None:
    assert question("PER", {"PER": f" {asked}\n"}) == asked


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_a_text_that_says_nothing_is_refused(empty: str) -> None:
    with pytest.raises(SettingsError, match="definitions has no text for LOC, X: expected a few words"):
        check_texts({"PER": "somebody", "LOC": empty, "X": empty}, "definitions")
    check_texts({"PER": "somebody"}, "definitions")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("O", "leave it out"),
        ("B-PER", 'did you mean "PER"?'),
        ("B-Disease", 'did you mean "Disease"?'),
        ("B-Cell", 'rename it: sentence.with_types({"B-Cell": "BCell"})'),
        ("B-ALLOY", 'did you mean "ALLOY"?'),
        ("S-व्यक्ति", 'did you mean "व्यक्ति"?'),
        (" x", "a type is a name"),
    ],
)
def test_refuses_a_tag_as_a_type_name(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_types(["LOC", "व्यक्ति", "ALLOY", name], "--types")
    assert message in str(caught.value)


def test_recognises_tags_by_others_of_the_same_type() -> None:
    with pytest.raises(SettingsError, match='has the type "B-Layer", which is a tag'):
        check_types(["B-Layer", "I-Layer"], "--types")


def test_a_name_with_a_letter_and_a_hyphen_is_a_type() -> None:
    check_types(
        [
            "S-Layer",
            "S-Layer",
            "E-MAIL",
            "S-परत",
            "B-cell",
            "E-mail",
            "B-",
            "X-RAY",
            "Organisation/Behörde",
            "place name",
        ],
        "--types",
    )
