"""The first contact with a server elsewhere: redirects, refusals and certificates."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.asyncio.server import ServerConnection, serve

from holodeck_backend_claude.config import MCPTool
from holodeck_backend_claude.contract import BackendInitError
from tests.support.mcp_http_faults import faulty_server

from .conftest import Bench

TRANSPORTS = ["http", "sse", "websocket"]


def config(transport: str, url: str) -> MCPTool:
    if transport == "websocket":
        url = url.replace("http", "ws", 1)
    headers = {"Authorization": "Bearer tok-1234567890", "X-Key": "key-1234567890"}
    settings = {"name": "far", "description": "A far server.", "timeout": 5, "headers": headers}
    return MCPTool.model_validate({**settings, "transport": transport, "url": url})


@asynccontextmanager
async def answering(status: str, *headers: str) -> AsyncIterator[tuple[str, list[bytes]]]:
    """The address of a server that answers every request so, and what it got."""
    got: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read(1_000))
        lines = (f"HTTP/1.1 {status}", "content-length: 0", *headers, "\r\n")
        writer.write("\r\n".join(lines).encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x", got
    server.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_no_redirect_leads_to_another_server(bench: Bench, transport: str) -> None:
    async with answering("403 Forbidden") as (address, got):
        stranger = address.replace("http", "ws", 1) if transport == "websocket" else address
        async with answering("302 Found", f"location: {stranger}") as (url, _):
            with pytest.raises(BackendInitError, match=f"it answered 302 Found to {stranger}"):
                await bench.open(config(transport, url))
        assert got == []


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_refusal_says_its_status(bench: Bench, transport: str) -> None:
    async with answering("403 Forbidden") as (url, _):
        with pytest.raises(BackendInitError, match="MCP server failed: far: it answered 403 Forb"):
            await bench.open(config(transport, url))


async def test_a_frame_that_is_too_long_says_so(bench: Bench) -> None:
    async def flood(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send([b" " * 1_000_000] * 70)

    async with serve(flood, "127.0.0.1", 0, subprotocols=["mcp"]) as server:  # type: ignore[list-item]
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(BackendInitError, match="it sent a message of over 67108864 bytes"):
            await bench.open(config("websocket", f"http://127.0.0.1:{port}/x"))


@pytest.fixture
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of 127.0.0.1, signed by nobody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "far")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("certificate") / "far.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


@pytest.fixture
def encrypting(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_certificate_that_is_not_trusted_is_called_so(
    bench: Bench, transport: str, encrypting: ssl.SSLContext
) -> None:
    async with faulty_server(tls=encrypting) as there:
        says = "its certificate is not trusted: self-signed certificate; .* set SSL_CERT_FILE"
        with pytest.raises(BackendInitError, match=says):
            await bench.open(config(transport, there.url))


async def test_a_certificate_of_the_users_own_authority_is_trusted(
    bench: Bench, encrypting: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with faulty_server(tls=encrypting) as there:
        opened = await bench.open(config("http", there.url))
        assert (await opened.tools[0].call({})).text == "fine"
        await opened.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_that_does_not_encrypt_is_called_so(bench: Bench, transport: str) -> None:
    async with answering("400 Bad Request") as (url, _):
        says = "no encrypted connection came about .* check host, port and scheme in 'url'"
        with pytest.raises(BackendInitError, match=says):
            await bench.open(config(transport, url.replace("http", "https", 1)))
