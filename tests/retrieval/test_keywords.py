"""The keyword index: every script is searchable, any query is safe."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from holodeck_backend_claude.retrieval.ranking.keywords import (
    TOKENIZER,
    index_text,
    match_expression,
)

Search = Callable[..., list[int]]


@pytest.fixture
def search() -> Search:
    """``search(query, *texts)``: the numbers of the texts that match, best first."""

    def run(query: str, *texts: str) -> list[int]:
        db = sqlite3.connect(":memory:")
        try:
            db.execute(f'CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = "{TOKENIZER}")')
            db.executemany(
                "INSERT INTO t (rowid, x) VALUES (?, ?)",
                [(n, index_text(text)) for n, text in enumerate(texts)],
            )
            expression = match_expression(query)
            if not expression:
                return []
            rows = db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank", (expression,))
            return [number for (number,) in rows]
        finally:
            db.close()

    return run


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("refund", "Refunds are accepted."),
        ("REFUNDED", "a refund"),
        ("naïve café", "naive cafe"),
        ("cafe", "cafe\u0301"),
        ("天気", "東京都の天気予報は晴れ"),
        ("京都", "東京都"),
        ("東", "東京"),
        ("京", "東京"),
        ("返金ポリシー", "当社の返金ポリシーについて"),
        ("ｒｅｆｕｎｄ", "refund"),
        ("退款政策", "我们的退款政策如下"),
        ("환불", "환불은 30일 이내에"),
        ("ไทย", "ภาษาไทยไม่มีช่องว่าง"),
        ("ຄືນເງິນ", "ນະໂຍບາຍຄືນເງິນ"),
        ("ပြန်အမ်း", "ငွေပြန်အမ်းခြင်း"),
        ("សង", "ការសងប្រាក់វិញ"),
        ("हिन्दी", "यह हिन्दी भाषा है"),
        ("возврат", "Возврат денег"),
        ("ΣΟΦΟΣ", "ο σοφός"),
        ("كتاب", "كِتَاب جديد"),
        ("שלום", "שָׁלוֹם"),
        ("strasse", "Straße"),
        ("fine", "ﬁne print"),
        ("E-12.5", "error E 12 5"),
        ("foo_bar", "call foo_bar()"),
        ("ተመላሽ", "ገንዘብ ተመላሽ"),
    ],
)
def test_a_word_of_any_script_finds_its_text(search: Search, query: str, text: str) -> None:
    assert search(query, "an unrelated line, 別の行", text) == [1]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '""" OR',
        "'; DROP TABLE t; --",
        "NEAR(a b, 2)",
        "a AND NOT b OR (c",
        "x:y *",
        "^caret + plus - minus",
        "col : {a b}",
        "\0",
        "a\0b",
        "🙂 👩‍💻",
        "\ud800",
        "()",
        "",
        " \t\n",
        "*",
        "--",
        "\\",
        "%_%",
        "a" * 1_000_000,
        "word " * 200_000,
        "字" * 300_000,
        '"' * 1_000_000,
        "ﷺ" * 10_000,
    ],
)
def test_any_query_is_safe(search: Search, query: str) -> None:
    search(query, "a text")


@pytest.mark.parametrize("query", ["refund AND policy", 'the "refund"', "NOT refund", "(refund)"])
def test_operators_are_words_or_nothing(search: Search, query: str) -> None:
    assert search(query, "other", "a refund") == [1]


def test_stop_words_find_nothing_beside_other_words(search: Search) -> None:
    assert search("what is the refund", "what is the weather", "a refund") == [1]


def test_stop_words_alone_are_searched_for(search: Search) -> None:
    assert search("to be or not to be", "other text", "to be or not to be") == [1]


def test_a_word_that_comes_twice_in_the_query_counts_twice() -> None:
    assert match_expression("wing wing flow") == '"wing" OR "wing" OR "flow"'


def test_one_text_answers_although_its_words_are_in_all_texts(search: Search) -> None:
    assert search("refund", "a refund") == [0]


def test_of_two_texts_that_share_a_word_the_better_one_comes_first(search: Search) -> None:
    assert search("refund policy", "a policy", "the refund policy") == [1, 0]
