"""Encodings are told apart, and what is not text is refused by name."""

from __future__ import annotations

import codecs

import pytest

from holodeck_backend_claude.retrieval.documents.decoding import NotTextError, decode

FRENCH = "Crème brûlée à l'été, déjà vu – « garçon »"


@pytest.mark.parametrize(
    "data",
    [
        FRENCH.encode(),
        codecs.BOM_UTF8 + FRENCH.encode(),
        codecs.BOM_UTF16_LE + FRENCH.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + FRENCH.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + FRENCH.encode("utf-32-le"),
        FRENCH.encode("utf-16-le"),
        FRENCH.encode("utf-16-be"),
        FRENCH.encode("cp1252"),
    ],
    ids=["utf8", "utf8-bom", "utf16le", "utf16be", "utf32", "bare-16le", "bare-16be", "cp1252"],
)
def test_the_same_text_comes_out_of_every_encoding(data: bytes) -> None:
    assert decode(data) == FRENCH


@pytest.mark.parametrize("text", ["Ü", "Öl", "ÉTÉ", "año", "smörgåsbord", "¿Qué?"])
def test_short_latin_1_texts_are_read(text: str) -> None:
    assert decode(text.encode("latin-1")) == text


@pytest.mark.parametrize("text", ["日本語のテキスト", "Привет, мир", "שלום", "🙂🙂", "a\x1b[0mb"])
def test_other_scripts_are_read_as_utf8(text: str) -> None:
    assert decode(text.encode()) == text


def test_line_ends_of_all_kinds_become_line_feeds() -> None:
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"%PDF-1.7\nall ascii", "a PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "a PNG image"),
        (b"PK\x03\x04\x14\0\x06\0" + bytes(range(256)), "a ZIP archive or an Office document"),
        (b"\x7fELF\x02\x01\x01\0" + bytes(64), "an ELF program"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256)), "a JPEG image"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database"),
        (bytes(range(256)) * 4, "binary data"),
        (b"\0" * 100, "binary data"),
        (b"text with \0 in it, and more of it", "binary data"),
        (b"\x01\x02\x03\x04 text", "binary data"),
    ],
)
def test_binary_files_are_refused_by_name(data: bytes, name: str) -> None:
    with pytest.raises(NotTextError, match=f"^it is {name}, not text$"):
        decode(data)


def test_a_text_that_begins_like_a_binary_is_a_text() -> None:
    assert decode(b"GIF87a was the first GIF.") == "GIF87a was the first GIF."


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "cp1253"])
def test_one_byte_encodings_of_other_scripts_are_refused_not_garbled(encoding: str) -> None:
    text = "Привет, мир. Это текст." if encoding != "cp1253" else "Καλημέρα κόσμε, κείμενο."
    with pytest.raises(NotTextError, match="save it as UTF-8"):
        decode(text.encode(encoding))


@pytest.mark.parametrize("encoding", ["shift_jis", "gbk", "euc-kr"])
def test_east_asian_encodings_are_refused_not_garbled(encoding: str) -> None:
    text = {
        "shift_jis": "日本語の文章です。検索",
        "gbk": "这是中文文本",
        "euc-kr": "한국어 문장입니다",
    }
    with pytest.raises(NotTextError):
        decode(text[encoding].encode(encoding))


def test_broken_utf8_is_refused_with_the_place() -> None:
    with pytest.raises(NotTextError, match="broken UTF-8 at byte 24"):
        decode("é".encode() * 12 + b"\xc3 end")


def test_broken_utf16_is_refused() -> None:
    with pytest.raises(NotTextError, match="broken UTF-16-LE"):
        decode(codecs.BOM_UTF16_LE + b"a\0\0\xd8a\0")
