"""The places Claude is reached at, on loopback: their paths, token services and answers."""

from __future__ import annotations

import base64
import json
import struct
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

TOKEN = "token-of-the-token-service"
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": _USAGE,
}  # fmt: skip
_EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "message_start", "message": _MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "hello"},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": _USAGE,
    },
    {"type": "message_stop"},
)


@dataclass(frozen=True)
class Received:
    """A request as it came; the names of its headers in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass
class CloudAPIs:
    """``with CloudAPIs() as apis``: every request is answered and kept."""

    requests: list[Received] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> Self:
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_words: object) -> None:
                pass

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append(Received(self.command, self.path, headers, body))
                media_type, content = _answer_to(self.path)
                self.send_response(200)
                self.send_header("content-type", media_type)
                self.send_header("content-length", str(len(content)))
                self.send_header("metadata-flavor", "Google")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_HEAD = answer  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def asked(self, path: str) -> Received:
        """The last request whose path has this in it."""
        return [request for request in self.requests if path in request.path][-1]


def _answer_to(path: str) -> tuple[str, bytes]:
    if "invoke-with-response-stream" in path:
        return "application/vnd.amazon.eventstream", b"".join(map(_frame, _EVENTS))
    if "streamRawPredict" in path or "/messages" in path:
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _EVENTS)
        return "text/event-stream", text.encode()
    return "application/json", json.dumps(_tokens()).encode()


def _tokens() -> dict[str, object]:
    """What token services answer: Google's, Azure's, and that of AWS containers."""
    return {
        "access_token": TOKEN, "expires_in": 3600, "expires_on": 4_102_444_800,
        "token_type": "Bearer", "resource": "r", "AccessKeyId": "AKIACONTAINEREXAMPLE",
        "SecretAccessKey": "container-secret", "Token": "container-session",
        "Expiration": "2099-01-01T00:00:00Z",
    }  # fmt: skip


def _frame(event: dict[str, Any]) -> bytes:
    """An event in the binary frames that Amazon streams."""
    inner = base64.b64encode(json.dumps(event).encode()).decode()
    payload = json.dumps({"bytes": inner}).encode()
    names = {":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in names.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))
