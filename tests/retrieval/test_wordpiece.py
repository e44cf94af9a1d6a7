"""Our WordPiece gives the ids of the tokenizers library."""

from __future__ import annotations

from importlib.resources import files

import pytest

from holodeck_backend_claude.retrieval.wordpiece import count_tokens, token_ids

TEXTS = [
    "Refunds are accepted within 30 days of purchase.",
    "don't  e-mail\tuser@example.com\n(see §4.2)!",
    "Crème BRÛLÉE naïve Ångström İstanbul straße",
    "東京都の天気予報、你好世界 한국어",
    "हिन्दी العربية ไทย ελληνικά ΣΟΦΟΣ",
    "zero\u200bwidth soft\u00adhyphen nul\x00 control\x07 \ufffd",
    "🙂 👩‍💻 “quotes” — dashes… ½ ﬁ Ⅷ",
    "x" * 101 + " " + "antidisestablishmentarianism" * 3,
    "a" + "\u0301" * 50,
    "\u00a0\u2003\u3000",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_ids_are_those_of_the_tokenizers_library(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="compares with the tokenizers library")
    vocabulary = files("holodeck_backend_claude.retrieval") / "data" / "bert-base-uncased-vocab.txt"
    reference = tokenizers.BertWordPieceTokenizer.from_file(str(vocabulary), lowercase=True)
    assert token_ids(text) == reference.encode(text, add_special_tokens=False).ids


def test_a_limit_cuts_the_ids() -> None:
    assert token_ids("one two three four", 2) == token_ids("one two")


def test_a_word_that_cannot_be_spelt_counts_by_its_length() -> None:
    assert count_tokens("x" * 10_000) == 5_000
    assert len(token_ids("x" * 10_000)) == 1


def test_counts_of_parts_at_white_space_add_up() -> None:
    parts = ["Refunds, within", "30 days;", "東京都", "naïve"]
    assert count_tokens(" ".join(parts)) == sum(map(count_tokens, parts))
