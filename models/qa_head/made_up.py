"""Made-up names of kinds that are rare in general text: diseases, chemicals, genes, species, figures."""

from __future__ import annotations

import random
from collections.abc import Sequence

from terms import CATIONS, LISTS, MONTHS

COUNT = 250
"""The number of names of each kind."""
PARTS = LISTS["made_up"]


def made_up(persons: Sequence[tuple[str, ...]], seed: int) -> dict[str, list[tuple[str, ...]]]:
    """Made-up names of each kind, split into words.

    Args:
        persons: Names of persons. Their surnames are used in the names of diseases.
    """
    chance = random.Random(seed)
    surnames = [name[-1] for name in persons if len(name) > 1 and name[-1].isalpha() and name[-1].istitle()]
    diseases = [_disease(chance, surnames).split() for _ in range(COUNT)]
    makers = {
        "chemical": _chemical,
        "material": _chemical,
        "gene": _gene,
        "organism": _species,
        "date": _date,
        "time": _time,
        "percent": _percent,
        "money": _money,
        "quantity": _quantity,
        "ordinal": _ordinal,
        "cardinal": _number,
    }
    made = {kind: [make(chance).split() for _ in range(COUNT)] for kind, make in makers.items()}
    return {kind: [tuple(words) for words in names] for kind, names in ({"disease": diseases} | made).items()}


def _disease(chance: random.Random, surnames: Sequence[str]) -> str:
    def part(name: str) -> str:
        return chance.choice(PARTS[name])

    share = chance.random()
    if share < 0.25:
        middle = chance.choice(["", " 's", " - " + chance.choice(surnames)])
        return f"{chance.choice(surnames)}{middle} {chance.choice(('disease', 'syndrome', part('nouns')))}"
    if share < 0.5:
        return f"{part('places')} {part('nouns')}"
    if share < 0.7:
        return f"{part('adjectives')} {part('places')} {part('nouns')}"
    word = part("roots") + part("endings")
    if share < 0.9:
        return word if chance.random() < 0.6 else f"{part('adjectives')} {word}"
    return "".join(chance.choices("ABCDFGHLMNPRSTW", k=chance.randint(2, 4)))


def _chemical(chance: random.Random) -> str:
    share = chance.random()
    if share < 0.3:
        metals = chance.sample(PARTS["metals"], chance.randint(1, 3))
        formula = "".join(metal + chance.choice(["", "2", "3"]) for metal in metals)
        return formula + chance.choice(["O", "Cl", "S", "N", "P"]) + chance.choice(["", "2", "3", "4"])
    if share < 0.5:
        return f"{chance.choice(CATIONS)} {chance.choice(PARTS['anions'])}"
    beginning, middle = chance.choice(PARTS["beginnings"]), chance.choice(PARTS["middles"])
    more = chance.choice(["", chance.choice(PARTS["middles"]) + "l"])
    return (beginning + middle + more + chance.choice(PARTS["ends"])).replace("_", " ")


def _gene(chance: random.Random) -> str:
    letters = "".join(chance.choices("ABCDEFGHIKLMNPRSTVWX", k=chance.randint(2, 4)))
    share = chance.random()
    if share < 0.6:
        return letters + chance.choice(["", str(chance.randint(1, 30)), f"-{chance.randint(1, 12)}"])
    if share < 0.8:
        return f"{chance.choice(['tyrosine', 'protein', 'membrane', letters])} {chance.choice(PARTS['proteins'])}"
    return chance.choice(PARTS["roots"]) + chance.choice(PARTS["protein_ends"])


def _species(chance: random.Random) -> str:
    genus, name = ("".join(chance.sample(PARTS["latin"], 2)) for _ in range(2))
    ends = ["us", "a", "um", "is"]
    return f"{genus.capitalize()}{chance.choice(ends)} {name}{chance.choice([*ends, 'ensis'])}"


def _date(chance: random.Random) -> str:
    month, day, year = chance.choice(MONTHS).capitalize(), chance.randint(1, 28), chance.randint(1700, 2024)
    forms = (
        f"{year}",
        f"{month} {year}",
        f"{month} {day} , {year}",
        f"{day} {month} {year}",
        f"{month} {day}",
        f"the {year // 10 * 10}s",
        chance.choice(LISTS["figures"]["days"]).capitalize(),
    )
    return chance.choice(forms)


def _number(chance: random.Random) -> str:
    small, large = chance.randint(2, 99), chance.randint(100, 9999)
    word = chance.choice(LISTS["figures"]["numbers"])
    return chance.choice([f"{small}", f"{large:,}", word, f"{small} {chance.choice(('thousand', 'million'))}"])


def _time(chance: random.Random) -> str:
    length = f"{_number(chance)} {chance.choice(('hours', 'minutes', 'seconds'))}"
    return chance.choice([length, f"{chance.randint(1, 12)} {chance.choice(('am', 'pm', 'p.m.'))}"])


def _percent(chance: random.Random) -> str:
    number = chance.choice([f"{chance.randint(1, 99)}", f"{chance.uniform(1, 99):.1f}", "ten"])
    return f"{number} {chance.choice(('%', 'percent', 'per cent'))}"


def _money(chance: random.Random) -> str:
    number = _number(chance)
    coin, currency = chance.choice("$€£"), chance.choice(("dollars", "euros", "rupees"))
    return chance.choice([f"{coin} {number}", f"{number} {currency}", f"${chance.randint(1, 900)}"])


def _quantity(chance: random.Random) -> str:
    return f"{_number(chance)} {chance.choice(PARTS['units'])}"


def _ordinal(chance: random.Random) -> str:
    return chance.choice(["first", "second", "third", "fourth", "fifth", f"{chance.randint(4, 20)}th", "21st"])
