"""A document behind a URL: fetched once, within bounds, and never from where it may not be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from holodeck_backend_claude.retrieval.sources import Found, find_documents, web

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A web server whose answers are told by path."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.answers[self.path](self)

            def log_message(self, *_args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def says(body: str | bytes, status: int = 200, **headers: str) -> Answer:
    data = body.encode() if isinstance(body, str) else body

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def leads_to(url: str) -> Answer:
    return says("", 302, Location=url)


def find(site: Site, path: str, folder: Path) -> Found:
    return find_documents(f"{site.url}{path}", folder, downloads=folder / "downloads")


def text(found: Found) -> str:
    (file,) = found.files
    return file.real_path.read_text()


def cause(found: Found) -> str:
    assert found.files == []
    (skipped,) = found.skipped
    return skipped.cause


def test_a_document_is_fetched_and_called_by_its_url(site: Site, tmp_path: Path) -> None:
    site.answers["/guide.md?v=2"] = says("# Guide")
    found = find(site, "/guide.md?v=2", tmp_path)
    assert text(found) == "# Guide"
    assert found.files[0].path == f"{site.url}/guide.md"


@pytest.mark.parametrize(
    ("media_type", "suffix"),
    [("text/markdown; charset=utf-8", ".md"), ("text/plain", ".txt")],
)
def test_without_an_ending_the_server_says_what_it_is(
    media_type: str, suffix: str, site: Site, tmp_path: Path
) -> None:
    site.answers["/guide"] = says("# Guide", Content_Type=media_type)
    (file,) = find(site, "/guide", tmp_path).files
    assert file.path == f"{site.url}/guide{suffix}"


def test_an_unchanged_document_is_not_sent_again(site: Site, tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers["If-None-Match"] == '"1"':
            says("", 304)(handler)
        else:
            says("first", ETag='"1"')(handler)

    site.answers["/a.md"] = answer
    before = find(site, "/a.md", tmp_path).files
    assert find(site, "/a.md", tmp_path).files == before
    site.answers["/a.md"] = says("second", ETag='"2"')
    assert text(find(site, "/a.md", tmp_path)) == "second"


def test_the_same_bytes_without_an_etag_leave_the_file_as_it_is(site: Site, tmp_path: Path) -> None:
    site.answers["/a.md"] = says("same")
    assert find(site, "/a.md", tmp_path).files == find(site, "/a.md", tmp_path).files


@pytest.mark.parametrize("gone", [False, True])
def test_one_that_cannot_be_had_now_is_searched_as_it_was(
    gone: bool, site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.answers["/a.md"] = says("kept")
    find(site, "/a.md", tmp_path)
    site.answers["/a.md"] = says("", 404 if gone else 500)
    assert text(find(site, "/a.md", tmp_path)) == "kept"
    assert "searched as it was before" in caplog.text


def test_one_that_never_could_be_had_is_left_out_with_its_cause(site: Site, tmp_path: Path) -> None:
    site.answers["/a.md"] = says("", 404)
    assert cause(find(site, "/a.md", tmp_path)) == "it cannot be fetched: the server answered 404"
    nobody = find_documents("http://127.0.0.1:9/b.md", tmp_path, downloads=tmp_path / "d")
    assert "it cannot be fetched: " in cause(nobody)


def test_redirects_are_followed_and_counted(site: Site, tmp_path: Path) -> None:
    site.answers |= {"/a": leads_to("/b"), "/b": leads_to("/c.md"), "/c.md": says("here")}
    assert text(find(site, "/a", tmp_path)) == "here"
    site.answers["/loop"] = leads_to("/loop")
    assert "redirects more than 5 times" in cause(find(site, "/loop", tmp_path))
    assert site.asked.count("/loop") == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a", "http://10.0.0.1/"])
def test_a_redirect_to_another_kind_of_address_is_not_followed(
    target: str, site: Site, tmp_path: Path
) -> None:
    site.answers["/a.md"] = leads_to(target)
    assert "which is not followed" in cause(find(site, "/a.md", tmp_path))


def test_a_redirect_from_the_world_into_a_private_network_is_not_followed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_public(response: httpx.Response) -> bool:
        return response.url.path == "/out.md"

    monkeypatch.setattr(web, "_is_public", is_public)
    site.answers |= {"/out.md": leads_to("/in.md"), "/in.md": says("secret")}
    assert "private network" in cause(find(site, "/out.md", tmp_path))


def test_this_machine_is_no_public_address(site: Site, tmp_path: Path) -> None:
    site.answers["/a.md"] = says("x")
    with httpx.Client() as client, client.stream("GET", f"{site.url}/a.md") as response:
        assert not web._is_public(response)


def test_size_and_time_are_bounded(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/a.md"] = says("x" * 100_000)
    with monkeypatch.context() as small:
        small.setattr(web, "LARGEST_FILE", 50_000)
        assert "larger than" in cause(find(site, "/a.md", tmp_path))
    monkeypatch.setattr(web, "SECONDS", 0.0)
    assert "it cannot be fetched" in cause(find(site, "/a.md", tmp_path))


def test_a_password_in_the_address_is_shown_nowhere(site: Site, tmp_path: Path) -> None:
    site.answers["/a.md"] = says("", 401)
    found = find_documents(
        site.url.replace("//", "//me:hunter22@") + "/a.md", tmp_path, downloads=tmp_path / "d"
    )
    assert "hunter22" not in repr(found)
