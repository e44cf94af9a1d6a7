"""An MCP server over stdio, of the standard library alone, that does what a test says.

``python mcp_raw_server.py '{"record": path, ...}'``; the keys are those of ``DEFAULTS``. Every
message it gets is a line of ``record``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "record": None,  # a file for what it gets
    "stderr": "",  # written at the start
    "stdout": "",  # written at the start, no message
    "exit": None,  # the exit code to end with at once
    "silent": False,  # never answers initialize
    "initialize": None,  # another answer to it
    "tools": None,  # other tools, as JSON
    "page": 1_000,  # tools on one page
    "loop": False,  # pages that never end
    "encoding": "utf-8",
    "ignore_term": False,  # neither SIGTERM nor the end of its input ends it
    "capabilities": {"tools": {}},
    "lives": None,  # a file with how often it may still be started
    "quotes": [],  # variables whose values it quotes wherever something goes wrong
}


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Tool {name}",
        "inputSchema": {"type": "object", "properties": schema},
    }


OWN_TOOLS = [
    tool("echo", text={"type": "string"}),
    tool("env"),
    tool("die", code={"type": "integer"}),
    tool("hang"),
    tool("spawn", alone={"type": "boolean"}),
    tool("fail"),
    tool("refuse"),
    tool("misanswer"),
    tool("show", content={"type": "array"}, structured={}),
    tool("progress"),
    tool("noise"),
    tool("roots"),
]


class Server:
    def __init__(self, said: dict[str, Any]) -> None:
        self.said = {**DEFAULTS, **said}
        self.tools = self.said["tools"] or OWN_TOOLS
        self.asked: Any = None

    def run(self) -> None:
        said = self.said
        if said["ignore_term"]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stderr.write(said["stderr"])
        if said["quotes"]:
            sys.stderr.write(f"{self.quoted()}\n")
        sys.stderr.flush()
        self.write(said["stdout"])
        if said["lives"] is not None and not self.may_live():
            sys.exit(7)
        if said["exit"] is not None:
            sys.exit(said["exit"])
        with open(0, encoding=said["encoding"], newline="\n") as lines:
            for line in lines:
                self.take(json.loads(line))
        while said["ignore_term"]:
            time.sleep(60)

    def quoted(self) -> str:
        return " ".join(os.environ.get(name, "") for name in self.said["quotes"])

    def may_live(self) -> bool:
        file = Path(self.said["lives"])
        left = int(file.read_text())
        file.write_text(str(left - 1))
        return left > 0

    def take(self, message: dict[str, Any]) -> None:
        if self.said["record"]:
            with Path(self.said["record"]).open("a") as record:
                record.write(json.dumps({**message, "pid": os.getpid()}) + "\n")
        method = message.get("method")
        if method is None:  # the answer to our own question
            self.answer(self.asked, text(json.dumps(message.get("result", message.get("error")))))
        elif method == "initialize" and not self.said["silent"]:
            self.answer(message["id"], self.said["initialize"] or self.greeting(message))
        elif method == "tools/list":
            self.answer(message["id"], self.listed(message))
        elif method == "tools/call":
            name = message["params"]["name"]
            getattr(self, f"do_{name}")(message, message["params"].get("arguments") or {})
        elif method != "initialize" and "id" in message:  # Claude Code asks, and waits for seconds
            error = {"code": -32601, "message": "Method not found"}
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def greeting(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": self.said["capabilities"],
            "serverInfo": {"name": "raw", "version": "1"},
        }

    def listed(self, message: dict[str, Any]) -> dict[str, Any]:
        if self.said["loop"]:
            return {"tools": self.tools[:1], "nextCursor": "again"}
        start = int((message.get("params") or {}).get("cursor") or 0)
        end = start + self.said["page"]
        more = {"nextCursor": str(end)} if end < len(self.tools) else {}
        return {"tools": self.tools[start:end], **more}

    # ----------------------------------------------------------------------------- the tools

    def do_echo(self, message: dict[str, Any], arguments: dict[str, Any]) -> None:
        self.answer(message["id"], text(json.dumps(arguments)))

    def do_env(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        here = {"env": dict(os.environ), "cwd": str(Path.cwd()), "argv": sys.argv}
        self.answer(message["id"], text(json.dumps({**here, "pid": os.getpid()})))

    def do_die(self, _message: dict[str, Any], arguments: dict[str, Any]) -> None:
        sys.stderr.write(f"about to die {self.quoted()}".strip() + "\n")
        sys.stderr.flush()
        os._exit(arguments.get("code", 3))

    def do_hang(self, _message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        pass  # it goes on to read, so that it sees the cancellation

    def do_spawn(self, message: dict[str, Any], arguments: dict[str, Any]) -> None:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=arguments.get("alone", False))
        self.answer(message["id"], text(str(child.pid)))

    def do_fail(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        words = f"no such thing; key sk-ant-api03-AAAABBBB {self.quoted()}".strip()
        self.answer(message["id"], {**text(words), **ERROR})

    def do_refuse(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        error = {"code": -32602, "message": f"that is not allowed {self.quoted()}".strip()}
        self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def do_misanswer(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        self.answer(message["id"], {"content": [{"type": "smell"}]})

    def do_show(self, message: dict[str, Any], arguments: dict[str, Any]) -> None:
        structured = arguments.get("structured")
        rest = {} if structured is None else {"structuredContent": structured}
        self.answer(message["id"], {"content": arguments.get("content", []), **rest})

    def do_progress(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        token = message["params"]["_meta"]["progressToken"]
        told = {"progressToken": token, "progress": 1, "total": 4, "message": "a quarter"}
        self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
        self.answer(message["id"], text("done"))

    def do_noise(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        self.write('Listening on port 80\n{"half": \n[1, 2]\n\n')
        self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        self.send({"jsonrpc": "2.0", "id": 9_999, "result": {}})
        self.answer(message["id"], text("after the noise"))

    def do_say(self, message: dict[str, Any], arguments: dict[str, Any]) -> None:
        self.write(arguments["line"].replace("{id}", str(message["id"])) + "\n")

    def do_roots(self, message: dict[str, Any], _arguments: dict[str, Any]) -> None:
        self.asked = message["id"]
        self.send({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})

    # -------------------------------------------------------------------------------- wire

    def answer(self, request_id: Any, result: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message, ensure_ascii=False) + "\n")

    def write(self, words: str) -> None:
        os.write(1, words.encode(self.said["encoding"]))


ERROR = {"isError": True}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


if __name__ == "__main__":
    Server(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")).run()
