from __future__ import annotations

import pytest
from transformers import MBartConfig, NllbTokenizer
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

from nersery.models.seq2seq.seq2seq_tokenization import Seq2SeqTokenization


@pytest.mark.parametrize(
    ("language", "code"),
    [("hi", "hin_Deva"), ("HIN", "hin_Deva"), ("de", "deu_Latn"), ("fa", "pes_Arab"), ("zh-Hant", "zho_Hant")],
)
def test_language_codes_may_have_three_letters(language: str, code: str) -> None:
    names = ("<s>", "<pad>", "</s>", "<unk>", "▁a", *FAIRSEQ_LANGUAGE_CODES, "<mask>")
    tokenizer = NllbTokenizer(vocab={name: number for number, name in enumerate(names)})
    frame = Seq2SeqTokenization("nllb", tokenizer, MBartConfig(decoder_start_token_id=2)).frame(language)
    assert tokenizer.convert_ids_to_tokens([*frame.lead]) == ["</s>", code]
