"""What may go along with a message, and how the rest is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import HoloDeckError, InputFile
from holodeck_backend_claude.input_files import InputFileError, check_takes_files, read_files
from holodeck_backend_claude.input_files import reading as limits
from holodeck_backend_claude.input_files.image_sizes import size_of
from tests.support.pictures import PDF, gif, jpeg, png, webp


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(), "image/png"),
        (jpeg(), "image/jpeg"),
        (gif(), "image/gif"),
        (webp(), "image/webp"),
        (PDF, "application/pdf"),
        (b"plain words", "text/plain"),
        (b'{"json": 1}', "text/plain"),
        ("Grüße, 世界".encode(), "text/plain"),
        (b"BM is how this text begins", "text/plain"),
    ],
)
@pytest.mark.parametrize("name", ["a.bin", "a.png", "a"])
def test_a_file_is_what_its_content_says(
    tmp_path: Path, data: bytes, media_type: str, name: str
) -> None:
    (tmp_path / name).write_bytes(data)
    [file] = read_files([tmp_path / name])
    assert (file.name, file.media_type, file.data) == (name, media_type, data)


@pytest.mark.parametrize("given", [str, Path])
def test_paths_are_texts_or_paths(tmp_path: Path, given: type) -> None:
    (tmp_path / "a.txt").write_text("words")
    [file] = read_files([given(tmp_path / "a.txt")])
    assert read_files([file]) == (file,)


@pytest.mark.parametrize(
    "data",
    ["\ufeffGrüße".encode(), "Grüße".encode("utf-16"), b"\xfe\xff" + "Grüße".encode("utf-16-be")],
)
def test_a_text_comes_as_utf_8_without_a_mark(data: bytes) -> None:
    [file] = read_files([InputFile("a.txt", "text/plain", data)])
    assert file.data.decode() == "Grüße"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(640, 480), "image/png"),
        (jpeg(640, 480), "image/jpeg"),
        (gif(640, 480), "image/gif"),
        *[(webp(kind, 640, 480), "image/webp") for kind in (b"VP8X", b"VP8L", b"VP8 ")],
    ],
)
def test_the_size_of_an_image_is_in_its_header(data: bytes, media_type: str) -> None:
    assert size_of(data, media_type) == (640, 480)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "x.bin is empty"),
        (b"  \n", "x.bin is empty"),
        (png()[:20], "x.bin is a damaged image/png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 40, "x.bin is a damaged image/jpeg"),
        (gif(0, 0), "x.bin is a damaged image/gif"),
        (webp()[:14], "x.bin is a damaged image/webp"),
        (png(8_001, 1), "x.bin has 8001 x 1 pixels, and 8000 are taken each way"),
        (PDF + b"/Encrypt 5 0 R", "x.bin is an encrypted PDF"),
        (PDF + b"trailer << /Encrypt << /Filter /Standard >> >>", "x.bin is an encrypted PDF"),
        (b"PK\x03\x04\x14\x00\x06\x00", "x.bin is a ZIP archive, as .docx"),
        (b"II*\x00\x08\x00", "x.bin is a TIFF image; save it as PNG"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00", "x.bin is a HEIF image; save it as JPEG"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "x.bin is of no kind that a model takes: images"),
        (b"words\x00words", "x.bin is of no kind that a model takes"),
        (b"x" * (limits.MAX_TEXT_BYTES + 1), "x.bin is larger than 1.0 MB"),
        (png() + b"\0" * limits.MAX_IMAGE_BYTES, "x.bin is larger than 3.9 MB"),
        (PDF + b" " * limits.MAX_PDF_BYTES, "x.bin is larger than 22.5 MB"),
    ],
)
def test_anything_else_is_refused_by_name_with_the_reason(
    tmp_path: Path, data: bytes, why: str
) -> None:
    (tmp_path / "x.bin").write_bytes(data)
    with pytest.raises(InputFileError) as caught:
        read_files([tmp_path / "x.bin"])
    assert why in str(caught.value)
    assert isinstance(caught.value, HoloDeckError)
    assert isinstance(caught.value, ValueError)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in [("nothing", "there is no file"), ("", "is a folder"), ("pipe", "no regular")]:
        with pytest.raises(InputFileError, match=why) as caught:
            read_files([tmp_path / name])
        assert str(caught.value).count(str(tmp_path)) == 1
    with pytest.raises(InputFileError, match="cannot be read"):
        read_files(["a\0b"])


def test_a_file_that_is_not_what_it_is_said_to_be_is_refused() -> None:
    with pytest.raises(InputFileError, match="a is application/pdf, and not image/png"):
        read_files([InputFile("a", "image/png", PDF)])
    assert read_files([InputFile("a", "text/markdown", b"# A")])[0].media_type == "text/plain"


def test_number_and_sum_are_bounded() -> None:
    small = InputFile("a", "text/plain", b"a")
    assert len(read_files([small] * limits.MAX_FILES)) == limits.MAX_FILES
    with pytest.raises(InputFileError, match="21 files are too many"):
        read_files([small] * (limits.MAX_FILES + 1))
    half = InputFile("a", "application/pdf", PDF + b" " * (limits.MAX_TOTAL_BYTES // 2))
    with pytest.raises(InputFileError, match=r"45\.0 MB|22\.5 MB together"):
        read_files([half, half])


@pytest.mark.parametrize("files", ["a.png", Path("a.png"), InputFile("a", "text/plain", b"a")])
def test_one_file_alone_is_no_list(files: object) -> None:
    with pytest.raises(InputFileError, match="files is a list"):
        read_files(files)  # type: ignore[arg-type]


def test_what_was_written_before_there_were_files_takes_none() -> None:
    def old(message: str) -> None: ...
    def new(message: str, *, files: object = ()) -> None: ...
    def any_(message: str, **more: object) -> None: ...

    check_takes_files(new, "it")
    check_takes_files(any_, "it")
    with pytest.raises(InputFileError, match="this session takes no files"):
        check_takes_files(old, "this session")


def test_the_content_of_a_file_is_in_no_log() -> None:
    assert "secret" not in repr(InputFile("a", "text/plain", b"secret"))
