"""Bringing an index up to date: only what changed is done, and nothing stale stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval import ChunkSettings, Database, Index, Skipped
from holodeck_backend_claude.retrieval.documents.chunking import plain_section
from holodeck_backend_claude.retrieval.documents.markdown import Section
from holodeck_backend_claude.retrieval.indexing import sync
from holodeck_backend_claude.retrieval.sources import SourceFile, read_bytes

from .lab import Lab, WordEmbedder


def stored(lab: Lab) -> list[tuple[object, ...]]:
    return lab.rows(
        "SELECT f.path, c.ordinal, c.content FROM chunks c JOIN files f ON f.id = c.file_id"
        " ORDER BY f.path, c.ordinal"
    )


def paths(lab: Lab) -> list[object]:
    return sorted({row[0] for row in stored(lab)}, key=str)


def assert_keywords_match_chunks(lab: Lab) -> None:
    assert lab.rows("SELECT rowid FROM keywords ORDER BY rowid") == lab.rows(
        "SELECT id FROM chunks ORDER BY id"
    )


async def test_the_first_run_reports_what_it_did(lab: Lab, embedder: WordEmbedder) -> None:
    lab.write("a.md", "# A\n\nOne.\n\n# B\n\nTwo.")
    lab.write("b.txt", "Three.")
    lab.write("c.odt", b"%PDF-1.4")
    report = await lab.update(embedder)
    assert (report.files, report.chunks, report.embedded, report.changed) == (2, 3, 3, 2)
    assert report.skipped == (Skipped("c.odt", "not supported: .odt"),)
    assert report.not_embedded == ()
    assert report.mode == "hybrid"


async def test_progress_is_told_for_reading_and_embedding(lab: Lab, embedder: WordEmbedder) -> None:
    for number in range(100):
        lab.write(f"{number}.txt", f"Text {number}.")
    await lab.update(embedder)
    assert [told for told in lab.progress if told[0] == "reading"] == [
        ("reading", done, 100) for done in range(1, 101)
    ]
    assert [told for told in lab.progress if told[0] == "embedding"][-1] == ("embedding", 100, 100)


class TestSecondStart:
    async def test_nothing_is_embedded_again(self, lab: Lab, embedder: WordEmbedder) -> None:
        lab.write("a.md", "One.")
        await lab.update(embedder)
        calls = len(embedder.calls)
        report = await lab.update(embedder)
        assert len(embedder.calls) == calls
        assert (report.chunks, report.embedded, report.changed) == (1, 1, 0)

    async def test_unchanged_files_are_not_even_read(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync, "_FINE_TICK_NS", -(10**18))
        monkeypatch.setattr(sync, "_COARSE_TICK_NS", -(10**18))
        read: list[str] = []

        def counting(file: SourceFile) -> bytes:
            read.append(file.path)
            return read_bytes(file)

        monkeypatch.setattr(sync, "read_bytes", counting)
        lab.write("a.md", "One.")
        lab.write("b.md", "")
        await lab.update()
        await lab.update()
        assert read == ["a.md", "b.md"]

    async def test_a_file_that_was_written_just_now_is_compared_by_content(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        path = lab.write("a.md", "One.")
        await lab.update(embedder)
        status = path.stat()
        path.write_text("Two.")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        await lab.update(embedder)
        assert [row[2] for row in stored(lab)] == ["Two."]

    async def test_an_index_that_is_complete_is_not_written(
        self, lab: Lab, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync, "_FINE_TICK_NS", -(10**18))
        lab.write("a.md", "One.")
        await lab.update(embedder)
        before = lab.rows("SELECT value FROM meta WHERE key = 'generation'")
        await lab.update(embedder)
        assert lab.rows("SELECT value FROM meta WHERE key = 'generation'") == before

    async def test_skipped_files_are_reported_again(self, lab: Lab) -> None:
        lab.write("a.md", "One.")
        lab.write("b.md", "")
        lab.write("c.txt", b"\x00\x01\x02")
        first = await lab.update()
        assert (await lab.update()).skipped == first.skipped
        assert [skipped.path for skipped in first.skipped] == ["b.md", "c.txt"]


class TestNothingStaleStays:
    async def test_a_changed_file_answers_with_its_new_text(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "The old wording.")
        await lab.update(embedder)
        lab.write("a.md", "The new phrasing.")
        report = await lab.update(embedder)
        assert [row[2] for row in stored(lab)] == ["The new phrasing."]
        assert report.changed == 1
        assert not await lab.search("wording")

    async def test_a_shortened_file_leaves_no_old_chunk(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "\n\n".join(f"# Part {n}\n\nText {n}." for n in range(20)))
        assert (await lab.update(embedder)).chunks == 20
        lab.write("a.md", "# Part 0\n\nText 0.")
        assert (await lab.update(embedder)).chunks == 1
        assert_keywords_match_chunks(lab)

    async def test_a_deleted_file_is_gone(self, lab: Lab, embedder: WordEmbedder) -> None:
        lab.write("a.md", "Stays.")
        lab.write("b.md", "Goes.")
        await lab.update(embedder)
        (lab.docs / "b.md").unlink()
        report = await lab.update(embedder)
        assert (paths(lab), report.removed) == (["a.md"], 1)
        assert await lab.sources("goes", embedder) == ["a.md"]
        assert_keywords_match_chunks(lab)

    async def test_a_renamed_file_answers_under_its_new_name_and_is_not_embedded_again(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "Refunds.")
        await lab.update(embedder)
        calls = len(embedder.calls)
        (lab.docs / "a.md").rename(lab.docs / "b.md")
        await lab.update(embedder)
        assert await lab.sources("refunds", embedder) == ["b.md"]
        assert len(embedder.calls) == calls

    async def test_a_file_that_became_binary_is_gone_and_reported(self, lab: Lab) -> None:
        lab.write("a.md", "Stays.")
        lab.write("b.md", "Text.")
        await lab.update()
        lab.write("b.md", b"\x89PNG\r\n\x1a\n\0\0\0")
        report = await lab.update()
        assert report.skipped == (Skipped("b.md", "it is a PNG image, not text"),)
        assert paths(lab) == ["a.md"]

    async def test_a_file_that_became_unreadable_is_gone_and_reported(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lab.write("a.md", "Stays.")
        lab.write("b.md", "Text.")
        await lab.update()
        monkeypatch.setattr("holodeck_backend_claude.retrieval.sources.reading.LARGEST_FILE", 10)
        lab.write("b.md", "A text that is too long now.")
        report = await lab.update()
        assert [skipped.path for skipped in report.skipped] == ["b.md"]
        assert paths(lab) == ["a.md"]

    async def test_one_deleted_copy_leaves_the_other(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "Same.")
        lab.write("b.md", "Same.")
        assert (await lab.update(embedder)).embedded == 2
        assert embedder.texts == ["Same."]
        (lab.docs / "a.md").unlink()
        assert (await lab.update(embedder)).embedded == 1

    async def test_another_folder_of_the_same_tool_replaces_the_first(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        lab.write("a.md", "First folder.")
        await lab.update()
        status = (lab.docs / "a.md").stat()
        other = tmp_path / "other"
        other.mkdir()
        (other / "a.md").write_text("Other folder")
        os.utime(other / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
        lab.docs.rename(tmp_path / "away")
        other.rename(tmp_path / "docs")
        await lab.update()
        assert [row[2] for row in stored(lab)] == ["Other folder"]


class TestSettings:
    async def test_other_chunk_settings_cut_everything_anew(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", " ".join(f"Sentence {n} is here." for n in range(40)))
        long = await lab.update(embedder, size=120)
        short = await lab.update(embedder, size=30)
        assert short.chunks > long.chunks
        assert short.embedded == short.chunks
        assert (await lab.update(embedder, size=120)).chunks == long.chunks
        assert_keywords_match_chunks(lab)

    async def test_another_overlap_cuts_everything_anew(self, lab: Lab) -> None:
        lab.write("a.md", " ".join(f"Sentence {n} is here." for n in range(40)))
        without = await lab.index(size=40).update()
        overlapping = await lab.index(size=40, overlap=20).update()
        assert overlapping.chunks > without.chunks

    async def test_another_model_embeds_everything_anew(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "One.")
        await lab.update(embedder)
        other = WordEmbedder(fingerprint="words-2")
        assert (await lab.update(other)).embedded == 1
        assert other.texts == ["One."]

    async def test_the_same_model_with_other_dimensions_embeds_everything_anew(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "One.")
        await lab.update(embedder)
        other = WordEmbedder(dimensions=32)
        assert (await lab.update(other)).embedded == 1
        assert await lab.sources("one", other) == ["a.md"]

    async def test_going_back_to_a_model_costs_no_call(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "One.")
        await lab.update(embedder)
        await lab.update(WordEmbedder(fingerprint="words-2"))
        calls = len(embedder.calls)
        assert (await lab.update(embedder)).embedded == 1
        assert len(embedder.calls) == calls

    async def test_a_run_without_embedder_keeps_the_vectors_for_the_next(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        lab.write("a.md", "One.")
        await lab.update(embedder)
        without = await lab.update(None)
        assert (without.mode, without.embedded) == ("keyword", 0)
        calls = len(embedder.calls)
        assert (await lab.update(embedder)).embedded == 1
        assert len(embedder.calls) == calls

    async def test_vectors_that_nobody_needs_do_not_pile_up(
        self, lab: Lab, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("holodeck_backend_claude.retrieval.indexing.vectors._SPARE_VECTORS", 3)
        for number in range(20):
            lab.write("a.md", f"Version {number}.")
            await lab.update(embedder)
        ((count,),) = lab.rows("SELECT count(*) FROM vectors")
        assert isinstance(count, int)
        assert count <= 2 + 3 + 1
        assert await lab.sources("version", embedder) == ["a.md"]


class TestNothingToIndex:
    @pytest.mark.parametrize(
        ("name", "content", "told"),
        [
            (".hidden.md", "text", "it holds no documents (.md, "),
            ("a.odt", "text", "not supported: .odt"),
            ("a.md", "", "a.md: it is empty"),
            ("a.txt", "\0\1\2", "a.txt: it is binary data, not text"),
        ],
    )
    async def test_it_is_an_error_that_says_why(
        self, lab: Lab, name: str, content: str, told: str
    ) -> None:
        lab.write(name, content)
        with pytest.raises(ConfigError) as failure:
            await lab.update()
        assert str(failure.value).startswith(f"nothing to index in {lab.docs}: ")
        assert told in str(failure.value)

    async def test_a_source_that_became_empty_is_one_too(self, lab: Lab) -> None:
        lab.write("a.md", "Text.")
        await lab.update()
        (lab.docs / "a.md").unlink()
        with pytest.raises(ConfigError, match="nothing to index"):
            await lab.update()

    async def test_a_missing_source_makes_no_index(self, lab: Lab) -> None:
        index = Index(
            Database(lab.base / "other" / "index.db"),
            source="missing",
            base_dir=lab.base,
            settings=ChunkSettings(64, 0),
            embedder=None,
            progress=lambda *_: None,
        )
        with pytest.raises(ConfigError, match=str(lab.base / "missing")):
            await index.update()
        index.database.close()


async def test_one_bad_file_of_each_kind_stops_nothing(lab: Lab) -> None:
    lab.write("good.md", "Good.")
    lab.write("empty.md", "")
    lab.write("binary.md", bytes(range(256)))
    lab.write("cyrillic.txt", "Привет, мир.".encode("cp1251"))
    lab.write("broken.txt", b"\xff\xfea\0\0\xd8a\0")
    os.mkfifo(lab.docs / "pipe.txt")
    (lab.docs / "dangling.md").symlink_to("nowhere")
    report = await lab.update()
    assert paths(lab) == ["good.md"]
    assert [skipped.path for skipped in report.skipped] == [
        "binary.md",
        "broken.txt",
        "cyrillic.txt",
        "dangling.md",
        "empty.md",
        "pipe.txt",
    ]
    assert all(skipped.cause for skipped in report.skipped)


async def test_a_document_on_which_the_chunker_fails_stops_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(text: str) -> Section:
        if "poison" in text:
            raise RecursionError("too deep")
        return plain_section(text)

    monkeypatch.setattr(sync, "plain_section", failing)
    lab.write("good.txt", "Good.")
    lab.write("bad.txt", "poison")
    report = await lab.update()
    assert report.skipped == (
        Skipped("bad.txt", "it cannot be cut into chunks (RecursionError: too deep)"),
    )
    assert paths(lab) == ["good.txt"]
