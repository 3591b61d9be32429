"""Splitting lines into words, without losing a character."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import SettingsError
from nersery.core.text.languages import TWO_LETTERS
from nersery.io.word_splitting.abbreviations import BEFORE_NAMES, COMMON_WORDS, ORDINALS
from nersery.io.word_splitting.scripts_without_spaces import is_character, stands_alone
from nersery.io.word_splitting.tokenization import CONTRACTING, ELIDING, ENDING, splitter, suggested_splitting
from tests.io.strategies import AWKWARD

LINES = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from([*AWKWARD, "Dr.", "3.", "U.S.", "l'été", "it's", "https://a.b/c.", "(", "...", "東京"])
    ).map(" ".join),
)


def visible(text: str) -> str:
    """The text without zero width spaces, which separate words of some scripts."""
    return text.replace("\u200b", "")


@given(LINES, st.sampled_from(["spaces", "punctuation", "characters"]), st.sampled_from(["", "en", "de", "fr-CA"]))
def test_no_character_is_lost(line: str, splitting: str, language: str):
    words = splitter(splitting, language)(line)  # type: ignore[arg-type]
    assert visible("".join(words)) == visible("".join(line.split()))
    assert all(words)
    assert not any(word.split() != [word] for word in words)


@given(LINES)
def test_splitting_is_idempotent_without_a_language(line: str):
    split = splitter("spaces")
    assert split(" ".join(split(line))) == split(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("He came, saw; and won!", "He came , saw ; and won !"),
        ("Dr. Müller paid $3.50.", "Dr. Müller paid $ 3.50 ."),
        (
            "św. Marcina, Св. Мартина, ο Δρ. Φορντ, aldus Dhr. Gendon",
            "św. Marcina , Св. Мартина , ο Δρ. Φορντ , aldus Dhr. Gendon",
        ),
        ("A Dra. Costa e a Profa. Lima.", "A Dra. Costa e a Profa. Lima ."),
        ("the U.S. and J. Smith etc.", "the U.S. and J. Smith etc."),
        ("the U.S.-led, J.-P. Sartre, Dr.-Ing. Dipl.-Ing.", "the U.S.-led , J.-P. Sartre , Dr.-Ing. Dipl.-Ing."),
        ("He left.-Then", "He left . - Then"),
        ("Delete a.dll. Run run.sh. See ibm.com.", "Delete a.dll . Run run.sh . See ibm.com ."),
        ("u.a. d.h. f.eks. p.ej. m.fl. B.Sc.", "u.a. d.h. f.eks. p.ej. m.fl. B.Sc."),
        ("They went home. Then", "They went home . Then"),
        ("Plan B.", "Plan B ."),
        ("1,000 or 10:30, 5%", "1,000 or 10:30 , 5 %"),
        ("Obama's don't O’Brien’s", "Obama 's don't O’Brien ’s"),
        ("Brink‘s d‘Or O´Neill (‘so‘) ‘no’", "Brink ‘s d‘Or O´Neill ( ‘ so ‘ ) ‘ no ’"),
        ("'왕좌의 게임'에서 ’Town’에서 他说'北京'很好", "' 왕좌의 게임 ' 에서 ’ Town ’ 에서 他说 ' 北京 ' 很好"),
        ("(AT&T) semi-final a_b", "( AT&T ) semi-final a_b"),
        ('"Wait ..." -- he said', '" Wait ... " -- he said'),
        ("See https://a.b/c?d=e, or x.y@z.org.", "See https://a.b/c?d=e , or x.y@z.org ."),
        ("#tag @me", "#tag @me"),
        ("Fe³⁺, SO₄²⁻ and 10⁻³ mol.", "Fe³⁺ , SO₄²⁻ and 10⁻³ mol ."),
        ("राम दिल्ली में है। डॉ. सिंह", "राम दिल्ली में है । डॉ. सिंह"),
        ("३.५ कि॰मी॰ दूर।", "३.५ कि॰मी॰ दूर ।"),
        ("۲۶،۷۵۰ و ۵، ۶", "۲۶،۷۵۰ و ۵ ، ۶"),
        ("هل رأيت؟ نعم، رأيت.", "هل رأيت ؟ نعم ، رأيت ."),
        ("¿Qué? «Sí».", "¿ Qué ? « Sí » ."),
        ("He said no. It was no. 5, fig. 2.", "He said no . It was no. 5 , fig. 2 ."),
        ("Follow me. Art.", "Follow me . Art ."),
        ("जे.पी. नड्डा, எம்.ஜி.ஆர். வந்தார்.", "जे.पी. नड्डा , எம்.ஜி.ஆர். வந்தார் ."),
        ('נשיא ארה"ב קרא "הארץ" וה"ידיעות".', 'נשיא ארה"ב קרא " הארץ " וה " ידיעות " .'),
        ('ארה“ב ו“כלי“ דו"חות, "דו"ח" ב\'הארץ\'', 'ארה“ב ו “ כלי “ דו"חות , " דו"ח " ב \' הארץ \''),
        ("‚ג‘ון‘ ג'ורג' קובאצ‘יץ‘. ל‘פרלמנט‘", "‚ ג‘ון ‘ ג'ורג' קובאצ‘יץ‘ . ל ‘ פרלמנט ‘"),
        ("👩\u200d👩\u200d👧 ❤️!", "👩\u200d👩\u200d👧 ❤️ !"),
        ("❤️Oslo 🤦🏽\u200d♂️मत ❤️❤️राम ❤️-x 1️⃣a", "❤️ Oslo 🤦🏽\u200d♂️ मत ❤️ ❤️ राम ❤️ - x 1️⃣a"),
        ('"\u200fשלום\u200f"', '"\u200f שלום\u200f "'),
        ("אוסלו.\u200f", "אוסלו .\u200f"),
        ("from Oslo.\u200b", "from Oslo .\u200b"),
        ("Acme Inc.\u200b", "Acme Inc.\u200b"),
        ("👩🏽\u200d🔬, 🇩🇪🇫🇷! 👍🏽👍🏽 1️⃣", "👩🏽\u200d🔬 , 🇩🇪 🇫🇷 ! 👍🏽 👍🏽 1️⃣"),
        ("Oslo\U0001fae9 \U0001faea!", "Oslo \U0001fae9 \U0001faea !"),
        ("the U.S., (Acme Inc.); “etc.” Plan B.)", "the U.S. , ( Acme Inc. ) ; “ etc. ” Plan B . )"),
        ("@ada.l #New-York: #O'Neill.", "@ada.l #New-York : #O'Neill ."),
        ("Ո՞վ է։ Ինչո՞ւ, Սայաթ֊Նովա՝ Հ․ Թ․ Թումանյան․", "Ո՞վ է ։ Ինչո՞ւ , Սայաթ֊Նովա ՝ Հ․ Թ․ Թումանյան ․"),
        ("თქვა. შემდეგ ი. ჭავჭავაძე", "თქვა . შემდეგ ი. ჭავჭავაძე"),
        ("E\u0301. Durand", "E\u0301. Durand"),
        ("वह यहाँ है. फिर वह गया.", "वह यहाँ है . फिर वह गया ."),
        ("આ છે. તે છે.", "આ છે . તે છે ."),
        ("τὶ λέγεις· col·laborar", "τὶ λέγεις · col·laborar"),
        ("ἀλλ᾽ ἐγώ, ἀπ’ Ἰθάκης, σ' αυτό, ‘Αθήνα’", "ἀλλ᾽ ἐγώ , ἀπ’ Ἰθάκης , σ' αυτό , ‘ Αθήνα ’"),
        ("the ‘β’ subunit, 'λ' and “σ' αυτό”", "the ‘ β ’ subunit , ' λ ' and “ σ' αυτό ”"),
        ("תֵּל־אָבִיב־יָפוֹ, תל-אביב׃", "תֵּל־אָבִיב־יָפוֹ , תל-אביב ׃"),
        ("ዶ/ር ዐቢይ፣ ት/ቤት። a/b", "ዶ/ር ዐቢይ ፣ ት/ቤት ። a / b"),
        ("１，２００ ３．５％ １２：３０ ３，４ 2019，2020", "１，２００ ３．５ ％ １２：３０ ３ ， ４ 2019 ， 2020"),
        ("བོད་ཀྱི་རྒྱལ་ས། །", "བོད་ཀྱི་རྒྱལ་ས ། །"),
    ],
)
def test_punctuation(line: str, words: str):
    assert splitter("punctuation")(line) == words.split(" ")


def test_codes_of_three_letters_split_as_those_of_two():
    special = {*ELIDING, *CONTRACTING, *ENDING, *ORDINALS, *BEFORE_NAMES, *COMMON_WORDS} - {""}
    assert special <= {*TWO_LETTERS.values()}
    for long, short in TWO_LETTERS.items():
        for line in ("l'Italie, dell'arte", "geht's", "3. lokakuuta", "Me Dupont", "EU:n", "sen."):
            assert splitter("punctuation", long)(line) == splitter("punctuation", short)(line)
    assert (
        splitter("punctuation", "fin-FI")("3. lokakuuta")
        == splitter("punctuation", "FI_fi")("3. lokakuuta")
        == ["3.", "lokakuuta"]
    )
    assert splitter("punctuation", "swa")("3. lokakuuta") == ["3", ".", "lokakuuta"]


@pytest.mark.parametrize(
    ("language", "line", "words"),
    [
        ("fr", "L'Italie n'a qu'un d’entre-elles.", "L' Italie n' a qu' un d’ entre-elles ."),
        ("it", "dell'Italia", "dell' Italia"),
        ("fr", "aujourd'hui", "aujourd'hui"),
        ("de", "Am 3. Oktober, z.B.", "Am 3. Oktober , z.B."),
        ("en", "Am 3. Oktober", "Am 3 . Oktober"),
        ("fr", "Me. Dupont et MM. Durand", "Me. Dupont et MM. Durand"),
        ("cs", "U Sv. Martina je pí. Nová z SV.", "U Sv. Martina je pí. Nová z SV ."),
        ("id", "Kata Ny. Davis dan Tn. Budi di NY.", "Kata Ny. Davis dan Tn. Budi di NY ."),
        ("sw", "Bw. Nyerere na Bi. Asha, Mhe. Ali dk.", "Bw. Nyerere na Bi. Asha , Mhe. Ali dk ."),
        ("vi", "TT. Trump, PGS. TS. An; TP. Huế, Q. 1", "TT. Trump , PGS. TS. An ; TP. Huế , Q. 1"),
        ("mr", "श्री. पवार, मि. राव", "श्री. पवार , मि. राव"),
        ("ta", "திரு. ஸ்டாலின் வா.", "திரு. ஸ்டாலின் வா ."),
        ("te", "డా. రెడ్డి", "డా. రెడ్డి"),
        ("en", "Follow me. Durand", "Follow me . Durand"),
        ("en-GB", "Anna's", "Anna 's"),
        ("nl", "Anna's foto's", "Anna's foto's"),
        ("fi", "YK:n, C-SPAN:n ja 12:sta klo 12:30: Huom:", "YK:n , C-SPAN:n ja 12:sta klo 12:30 : Huom :"),
        ("sv-SE", "USA:s 7:e, S:t Petersburg", "USA:s 7:e , S:t Petersburg"),
        ("sv", "Tack, sade hon. Dr. Berg lär sig.", "Tack , sade hon . Dr. Berg lär sig ."),
        ("nl", "Hij komt uit de VS. Dr. Jansen", "Hij komt uit de VS . Dr. Jansen"),
        ("pl", "Komisja ds. Sądownictwa, im. Kopernika; dał im.", "Komisja ds. Sądownictwa , im. Kopernika ; dał im ."),
        (
            "tr",
            "Bugün 3. gün, 125. cadde, 21. Yüzyıl. 2019. Sonra",
            "Bugün 3. gün , 125. cadde , 21. Yüzyıl . 2019 . Sonra",
        ),
        ("en", "Inc. vs. Sen. Hon.", "Inc. vs. Sen. Hon."),
        ("mr", "स्वत:ला म्हणाले:", "स्वत:ला म्हणाले :"),
        ("en", "Note:this", "Note : this"),
        ("nl", "'s-Gravenhage, 't Harde en 's' of 'ja'", "'s-Gravenhage , 't Harde en ' s ' of ' ja '"),
        ("af", "'n Dorp, 'nee'", "'n Dorp , ' nee '"),
        ("haw", "Noho ‘o Lili‘uokalani ma ‘Pu‘u’", "Noho ‘o Lili‘uokalani ma ‘ Pu‘u ’"),
        ("en", "‘o 's-Gravenhage", "‘ o ' s-Gravenhage"),
        (
            "ha",
            "'Yan sanda da 'ya'yan 'yar uwa, 'yanzu' ko ‘ruwa’.",
            "'Yan sanda da 'ya'yan 'yar uwa , ' yanzu ' ko ‘ ruwa ’ .",
        ),
        ("it", "Un po', a Ca' Foscari; 'po' o 'il fiume Po'.", "Un po' , a Ca' Foscari ; ' po ' o ' il fiume Po ' ."),
        ("mt", "Il-Gvern ta’ Malta, sa' Sliema: 'le'.", "Il-Gvern ta’ Malta , sa' Sliema : ' le ' ."),
        ("uz", "Tog', bog‘ va 'tog' ham.", "Tog' , bog‘ va ' tog ' ham ."),
        ("en", "'yan po' tog' 'go'", "' yan po ' tog ' ' go '"),
        ("de-AT", "Der 3. Mann 2019.", "Der 3. Mann 2019 ."),
    ],
)
def test_splits_by_the_rules_of_each_language(language: str, line: str, words: str):
    assert splitter("punctuation", language)(line) == words.split(" ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("東京へ Tokyo、iPhone12を。", "東 京 へ Tokyo 、 iPhone12 を 。"),
        ("ที่นี่ 3.5 บาท", "ที่ นี่ 3.5 บ า ท"),
        ("𠮷野", "𠮷 野"),
        ("น้ำตก ນ້ຳ", "น้ำ ต ก ນ້ຳ"),
        ("น\u0e4d้าท\u0e4dา น้\u0e4dา ນ\u0ecd້າຄ\u0ecdາ", "น\u0e4d้า ท\u0e4dา น้\u0e4dา ນ\u0ecd້າ ຄ\u0ecdາ"),
        ("ﾄﾖﾀ車ﾊﾞｽ", "ﾄ ﾖ ﾀ 車 ﾊﾞ ｽ"),
        ("မန္တလေး។ខ្មែរ", "မန္တ လေး ។ ខ្មែ រ"),
        ("ရန်ကုန်မြို့၌ဦးသန့်။", "ရန် ကုန် မြို့ ၌ ဦး သန့် ။"),
        ("တက္ကသိုလ်၊အင်္ဂလန်၁၉၉၄", "တက္က သိုလ် ၊ အင်္ဂ လန် ၁၉၉၄"),
        ("Ada wrote.", "Ada wrote ."),
        ("ปี๒๕๖๓ ๓.๕บาท", "ปี ๒๕๖๓ ๓.๕ บ า ท"),
        ("བོད་ཀྱི་རྒྱལ་ས། །བཞུགས༎", "བོད་ ཀྱི་ རྒྱལ་ ས ། ། བཞུགས ༎"),
        ("ꦗꦏꦂꦠ꧈ꦱꦸꦏꦂꦤꦺꦴ", "ꦗ ꦏꦂ ꦠ ꧈ ꦱꦸ ꦏꦂ ꦤꦺꦴ"),
        ("ꆈꌠꁱ。", "ꆈ ꌠ ꁱ 。"),
        ("ᨴᩮ᩠ᨿᨦ", "ᨴᩮ᩠ᨿ ᨦ"),
        ("イㇰㇻ", "イ ㇰ ㇻ"),
    ],
)
def test_characters(line: str, words: str):
    assert splitter("characters")(line) == words.split(" ")
    assert all(map(is_character, (word for word in words.split(" ") if stands_alone(word[0]))))


@pytest.mark.parametrize("splitting", ["punctuation", "characters", "signs"])
def test_splits_at_zero_width_spaces_in_scripts_without_spaces(splitting: str):
    split = splitter(splitting)
    assert split("ក\u200bខ\u200b\u200b។") == ["ក", "ខ", "។"]
    assert split("ឆ្នាំ\u200b2020 Os\u200blo")[-2:] == ["2020", "Os\u200blo"]


def test_spaces_are_taken_as_given():
    assert splitter("spaces")("ក\u200bខ") == ["ក\u200bខ"]
    assert splitter("spaces")(" Dr.  Müller, \u3000 x\n") == ["Dr.", "Müller,", "x"]


def test_refuses_an_unknown_splitting():
    with pytest.raises(SettingsError, match='no splitting "punctuaton"; did you mean "punctuation"'):
        splitter("punctuaton")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a-" * 50_000, "Ab9+/" * 20_000 + "=", "กขค" * 30_000 + "."])
def test_splitting_time_grows_linearly_without_spaces(text: str):
    began = process_time()
    assert "".join(splitter("punctuation")(text)) == text
    assert process_time() - began < 5, "quadratic it took a minute"


@pytest.mark.parametrize(
    ("line", "splitting"),
    [
        ("བོད་ཀྱི་རྒྱལ་ས་ལྷ་ས་ཡིན།", "characters"),
        ("བོད་ ཀྱི་ རྒྱལ་ ས་ ལྷ་ ས་ ཡིན །", "spaces"),
        ("ꦗꦏꦂꦠꦪꦺꦴꦒꦾꦏꦂꦠ", "characters"),
        ("ဦးသန့်၊ ဦးနု တို့သည် သွားကြသည်။", "characters"),
        ("ဦးသန့် ၊ ဦးနု တို့သည် သွား ကြသည် ။", "spaces"),
        ("ᓀᐦᐃᔭᐤ ᐃᑭᐧᓯᐢ᙮", "punctuation"),
        ("ᠮᠣᠩᠭᠣᠯ ᠤᠯᠤᠰ᠃", "punctuation"),
        ("ꯏꯝꯐꯥꯜꯗ ꯂꯩ꯫", "punctuation"),
        ("ꯏꯝꯐꯥꯜꯗ ꯂꯩ ꯫", "spaces"),
        ("ብሰንበት፡ዕለት፡ናብ፡", "punctuation"),
        ("ߞߊ߲߫ ߞߏ߫߹", "punctuation"),
    ],
)
def test_suggests_a_splitting_for_lines(line: str, splitting: str):
    assert suggested_splitting([line]) == splitting


@pytest.mark.parametrize(("end", "word"), [("။", "သည်"), ("。", "北京")])
def test_few_attached_ends_of_phrases_do_not_show_that_text_runs_on(end: str, word: str):
    split, attached = f"{word} {word} {end}", f"{word} {word}{end}"
    assert suggested_splitting([*[split] * 9, attached]) == "spaces"
    assert suggested_splitting([split, *[attached] * 9]) == "characters"
