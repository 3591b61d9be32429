from __future__ import annotations

import pytest
from transformers import ByT5Tokenizer, MBartConfig, NllbTokenizer, T5Config
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

from nersery.models.seq2seq.seq2seq_tokenization import Seq2SeqTokenization
from nersery.models.tokens import GAP


@pytest.mark.parametrize(
    ("language", "code"),
    [("hi", "hin_Deva"), ("HIN", "hin_Deva"), ("de", "deu_Latn"), ("fa", "pes_Arab"), ("zh-Hant", "zho_Hant")],
)
def test_language_codes_may_have_three_letters(language: str, code: str) -> None:
    names = ("<s>", "<pad>", "</s>", "<unk>", "▁a", *FAIRSEQ_LANGUAGE_CODES, "<mask>")
    tokenizer = NllbTokenizer(vocab={name: number for number, name in enumerate(names)})
    frame = Seq2SeqTokenization("nllb", tokenizer, MBartConfig(decoder_start_token_id=2)).frame(language)
    assert tokenizer.convert_ids_to_tokens([*frame.decoder_prefix]) == ["</s>", code]


def test_byt5_fills_gaps_between_the_bytes_of_its_pretraining() -> None:
    tokenization = Seq2SeqTokenization("byt5", ByT5Tokenizer(), T5Config(decoder_start_token_id=0))
    frame, text = tokenization.frame(), ("saw", GAP, "in", GAP, "ÿ")
    ids = tokenization.source(text, frame)
    assert [number for number in ids if number > 247] == [258, 257], "as in the documentation of ByT5"
    assert tokenization.words(ids[:-1]) == text
    many = tokenization.source((GAP, "a") * 12, frame)
    assert [number for number in many if number > 247] == [*range(258, 247, -1), 259], "then <extra_id_0>"
