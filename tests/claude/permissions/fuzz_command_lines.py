"""Random command lines, read here and run by bash: what is let through runs no excluded command.

``python -m tests.claude.permissions.fuzz_command_lines [SECONDS] [SEED]``; not a part of the
tests. The excluded command is a harmless one of the fuzzer's own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holodeck_backend_claude.claude.permissions.shell.command_line import check

PIECES = [
    *["zap"] * 14,
    *[
        "echo",
        "cat",
        "env",
        "true",
        ":",
        "test",
        "[",
        "]",
        "[[",
        "]]",
        "command",
        "exec",
        "xargs",
        "find",
        "nohup",
        "time",
        "sh",
        "bash",
        "eval",
        "f",
    ],
    *[
        "if",
        "then",
        "else",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "{",
        "}",
        "(",
        ")",
        "!",
        "function",
        "select",
        "coproc",
    ],
    *["\n"] * 8,
    *[" "] * 30,
    *["'", '"', "\\", "`", "$(", ")", "(", "$", "${", "}", "$'", '$"', "<(", ">(", "$((", "))"],
    *[";", "&&", "||", "|", "&", "|&", ";;", "<<EOF", "<<'EOF'", "<<-EOF", "EOF", "\nEOF\n", "<<<"],
    *[
        "<<E\\OF",
        '<<"E"OF',
        "<<\\EOF",
        "\t",
        "\tEOF\n",
        "#",
        " # ",
        "\\\n",
        "x",
        "x=",
        "a",
        "b",
        "1",
    ],
    *[
        ">f",
        "> f ",
        "2>&1",
        "<f",
        "-c",
        "-exec",
        "{}",
        "\\;",
        "+",
        "-i",
        "--",
        "-u",
        "=",
        "==",
        "*",
    ],
    *[
        "$x",
        '"$x"',
        "${x:-",
        "$1",
        "za",
        "p",
        "z'ap'",
        "\\zap",
        "./",
        "x() ",
        "f() {",
        "; }",
        "~",
        "?",
    ],
    *["a)", "*)", "[0]", "x[", "((", "&>", ">|", "<>", "-a", "-o", "!(", "@(", "^", ",", "..", "%"],
]


COMMANDS = [
    *["zap", "zap x", "\\zap", "z'ap'", '"zap"', "./zap", "env zap", "command zap", "exec zap"],
    *["env X=1 zap", "nohup zap", "timeout 1 zap", "nice zap", "time zap", "sh -c 'zap'"],
    *["bash -c zap", "eval zap", "find . -exec zap {} \\;", "echo a | xargs zap", "$x", "$(zap)"],
    *["echo zap | sh", "cat <(zap)", "x=zap", "x=$(zap)", "echo ${x:-$(zap)}", "echo `zap`"],
    *["f() { zap; }", "f", "alias g=zap", "g", "trap zap EXIT", "printf '%s' zap", "echo zap"],
    *["cat <<EOF\nzap\nEOF", "cat <<EOF\n$(zap)\nEOF", "cat <<'EOF'\n$(zap)\nEOF", "true", ":"],
    *["cat <<EOF\n'\nEOF", "echo 'a", "b'", 'echo "a', 'b"', "# '", "x='zap'", "[ -n a ]", "! zap"],
    *["case a in a) zap;; esac", "if true; then zap; fi", "for i in zap; do $i; done", "{ zap; }"],
    *[
        "for i in 1; do zap; done",
        "while zap; do break; done",
        "(zap)",
        "[[ a ]] && zap",
        "env > f zap",
    ],
    *[
        "coproc zap",
        "coproc N { zap; }",
        "cat <<-EOF\n\tzap\n\tEOF",
        "((x))",
        "echo $((1))",
        "x=1 zap",
    ],
    *["a[$(zap)]=1", "declare -i y='a[$(zap)]'", "echo $((y))", "y='a[$(zap)]'", "[[ y -eq 1 ]]"],
    *["read y <<< 'a[$(zap)]'", "unset 'a[$(zap)]'", "test -v 'a[$(zap)]'", "set -- zap", '"$@"'],
    *[
        "PS4='$(zap)'",
        "set -x",
        "echo ${y@P}",
        "y='$(zap)'",
        "sed '1e zap' <<< a",
        "let 'y=a[$(zap)]'",
    ],
    *["awk 'BEGIN{system(\"zap\")}'", "echo zap > s", ". ./s", "sh s", "bash < s", "source s"],
    *["command -p zap", "builtin command zap", "xargs -I X X < s", "stdbuf -o0 zap", "env -- zap"],
    *[
        "echo {zap,a}",
        "{zap,a}",
        "za\\\np",
        "zap\\\n",
        "echo a \\\n zap",
        "<<< a zap",
        ">f zap",
        "{fd}>f zap",
    ],
    *[
        "select i in a; do zap; done <<< 1",
        "until zap; do :; done",
        "echo \\",
        "function h { zap; }",
        "h",
    ],
]
JOINTS = [
    " ; ",
    "\n",
    " && ",
    " || ",
    " | ",
    " & ",
    "\n\n",
    ";",
    " ",
    ")\n",
    " # ",
    "'",
    '"',
    "`",
    "\\",
]


def script(draw: random.Random) -> str:
    """Commands between joints, with a little noise, or nothing but noise."""
    if draw.random() < 0.3:
        count = draw.randint(1, 10)
        return "".join(draw.choice(PIECES) + draw.choice(["", " ", " "]) for _ in range(count))
    text = draw.choice(COMMANDS)
    for _ in range(draw.randint(0, 4)):
        text += draw.choice(JOINTS) + draw.choice(COMMANDS)
    for _ in range(draw.choice([0, 0, 1, 2])):
        place = draw.randint(0, len(text))
        cut = draw.choice([0, 0, 1, 2])
        text = text[:place] + draw.choice([*PIECES, ""]) + text[place + cut :]
    return text


_numbers = itertools.count()


def runs_it(text: str, folder: Path) -> bool:
    """Whether bash, as Claude Code calls it, runs the excluded command."""
    mark = folder / f"mark-{next(_numbers)}"  # its own: what ran before may still be running
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        wrapped = ["bash", "-c", 'shopt -s expand_aliases; eval "$1" </dev/null', "bash", text]
        running = subprocess.Popen(
            wrapped,
            cwd=place,
            env={"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": place, "ZAP_MARK": str(mark)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(3)
        ran = mark.exists()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # what it left in the background too
        running.wait()
    return ran


def stub(folder: Path) -> None:
    """Make the harmless program that stands for an excluded one."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "zap"
    program.write_text('#!/bin/sh\necho ran >> "$ZAP_MARK"\n')
    program.chmod(0o755)


def main(seconds: float, seed: int) -> int:
    draw = random.Random(seed)
    end = time.monotonic() + seconds
    allowed = denied = ran = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        stub(folder)
        while time.monotonic() < end:
            text = script(draw)
            if check(text, ["zap"]) is not None:
                denied += 1
                continue
            allowed += 1
            if runs_it(text, folder):
                ran += 1
                sys.stdout.write(f"let through, and it ran: {text!r}" + "\n")
    summary = f"{allowed} let through, {denied} denied, {ran} of those let through ran it"
    sys.stdout.write(f"seed {seed}: {summary}\n")
    return 1 if ran else 0


if __name__ == "__main__":
    given = [float(value) for value in sys.argv[1:]]
    sys.exit(main(given[0] if given else 60, int(given[1]) if len(given) > 1 else 1))
