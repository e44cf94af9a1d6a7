"""Which command lines run an excluded command, which do not, and of which nobody can tell.

The excluded command is ``zap``, so that bash itself can be asked: it is a harmless program here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.claude.permissions.shell.command_line import check

from .fuzz_command_lines import runs_it, stub

EXCLUDED = [
    "zap",
    "zap -rf x",
    "echo a | zap",
    "true && zap",
    "false || zap",
    "true; zap",
    "true\nzap",
    "true & zap",
    "echo $(zap)",
    "echo `zap`",
    'echo "$(zap)"',
    'echo "`zap`"',
    "cat <(zap)",
    "x=$(zap)",
    "echo ${x:-$(zap)}",
    "echo a > $(zap)",
    "cat <<< $(zap)",
    "cat <<EOF\n$(zap)\nEOF",
    "cat <<EOF\ntext\nEOF\nzap",
    "(zap)",
    "{ zap; }",
    "! zap",
    "if zap; then :; fi",
    "if true; then zap; fi",
    "for i in 1; do zap; done",
    "while zap; do break; done",
    "until zap; do :; done",
    "case a in a) zap;; esac",
    "f() { zap; }; f",
    "function g { zap; }\ng",
    "[ -n a ] && zap",
    "[[ -n a ]] && zap",
    "X=1 zap",
    "X=1 Y=2 zap",
    "> file zap",
    "2>/dev/null zap",
    "env > file zap",
    "nohup 2>/dev/null zap",
    "\\zap",
    "'z'ap",
    '"z"ap',
    "z\\ap",
    "z''a\"\"p",
    '"zap"',
    "env zap",
    "env X=1 zap",
    "env -u X -- zap",
    "nohup zap",
    "setsid zap",
    "timeout 5 zap",
    "timeout -k 1 --signal=KILL 5s zap",
    "nice zap",
    "nice -n 5 zap",
    "nice -5 zap",
    "time zap",
    "time -p zap",
    "time X=1 zap",
    "stdbuf -oL zap",
    "command zap",
    "exec zap",
    "exec -a other zap",
    "env nohup nice zap",
    "echo a | xargs zap",
    "echo a | xargs -n1 -P 2 env zap",
    "echo a | xargs -I{} zap {}",
    "find . -exec zap {} \\;",
    "find . -maxdepth 0 -exec zap {} +",
    "find . -maxdepth 0 -execdir env zap {} \\;",
    "sh -c zap",
    "bash -c 'true && zap'",
    "bash -ec 'zap'",
    "sh -c 'sh -c \"zap\"'",
    "trap zap EXIT",
    "eval zap",
    "eval 'true; zap'",
]

NOT_RUNNABLE = [  # here, but elsewhere
    "bin/../bin/zap",
    "command -p zap",
    "coproc zap",
    "sudo zap",
    "sudo -u nobody -E zap -rf x",
    "sudo -n -- zap",
    "doas zap",
    "busybox zap",
    "/usr/local/bin/zap x",
    "~/bin/zap",
    "ZAP",
]

DOUBTFUL = [
    "$x",
    "${x} a",
    '"$x" a',
    "$(echo zap)",
    "`echo zap`",
    "z$x",
    "za?",
    "z[a]p",
    "{zap,a}",
    "$'zap'",
    "eval $x",
    'eval "$x"',
    "eval echo a",
    "source file",
    ". ./file",
    "alias x=zap",
    "echo zap | sh",
    "echo zap | bash -s",
    "sh < file",
    "sh <<'EOF'\nzap\nEOF",
    "bash <<< zap",
    "sh file",
    "bash ./file.sh",
    'sh -c "$x"',
    "env $x",
    "env -i PATH=$PATH zap",
    "echo a | xargs -I{} sh -c 'zap {}'",
    "nohup $x",
    "timeout 5 $x",
    "xargs -I{} {} a < file",
    "echo zap | xargs env",
    "echo zap | xargs -n1 sh -c",
    "find . -exec $x {} \\;",
    "find . $x",
    "find . -exec {} \\;",
    "env -S 'zap a'",
    "echo $((x))",
    "((x++))",
    "for ((i=0;i<x;i++)); do :; done",
    "echo ${!x}",
    "echo ${x@P}",
    "echo ${a[$x]}",
    "[[ x -eq 1 ]]",
    "test -v 'a[$(zap)]'",
    "declare -i x='a[$(zap)]'",
    "declare -n r=x",
    "read 'a[$(zap)]'",
    "unset 'a[$(zap)]'",
    "printf -v 'a[$(zap)]' x",
    "let x=1",
    "PATH=. ls",
    "export PATH=.",
    "BASH_ENV=f bash -c ls",
    "PS4='$(zap)'; set -x",
    "mapfile -C zap -c 1 a",
    "complete -C zap ls",
    "hash -p /bin/zap ls",
    "enable -f x y",
    "shopt -s extglob",
    "python -c 'import os'",
    "python3 - < f",
    "perl -e 'x'",
    "perl -ne 'x' f",
    "node -e 'x'",
    "ruby -e 'x'",
    "awk 'BEGIN { system(\"zap\") }'",
    "awk '{ print | \"zap\" }'",
    "sed '1e zap' f",
    "sed 's/a/zap/e' f",
    "tar --to-command=zap -xf f",
    "git -c alias.x='!zap' x",
    "ssh host zap",
    "docker run image zap",
    "parallel zap ::: a",
    "watch zap",
    "make",
    "za\\\np",
    "echo a;#b",
    "cmd >& 'a[$(zap)]'",
    'cat <<E"O"F\nzap\nEOF',
    "cat <<A <<B\nzap\nA\nB",
    "echo 'a",
    "if true; then",
    "echo a\x00b",
    "true\rzap",
    "true\u00a0zap",
    "true\n\\zap\n",
    ": " + "x" * 30_000,
    "(" * 400 + "ls" + ")" * 400,
]

HARMLESS = [
    "ls -la",
    "echo zap",
    "grep -rn zap src | head -5",
    "git status && git diff HEAD~1 -- zap",
    "cat zap.txt > zap",
    "find . -name '*.py' -not -path './zap/*' -exec grep -l x {} \\;",
    'find "$dir" -name zap',
    'for f in *.txt; do wc -l "$f"; done',
    "while read -r line; do echo \"$line\"; done < file",
    "cat <<'EOF' > notes.md\nzap `zap` $(zap); zap\nEOF",
    "cat <<EOF\nzap $x\nEOF",
    "cat <<-EOF\n\tzap\n\tEOF",
    "x=zap; echo $x ${x} ${x:-zap} ${x%.py} ${#x}",
    'echo "$(date) zap"',
    "echo $((1 + 2))",
    "command -v zap",
    "type zap || which zap",
    "sudo -l",
    "cd src && npm test 2>&1 | tail -20",
    "pytest -q tests/zap.py",
    "python script.py zap",
    "python3 manage.py zap",
    "sed -n '1,10p' zap",
    "sed -i 's/zap/zip/g; 3d' file",
    "awk '{print $1}' zap",
    "sort a | uniq -c | sort -rn > b",
    "curl -s http://127.0.0.1/zap | jq .zap",
    "tar czf zap.tgz zap",
    "mkdir -p a/b && cp -r zap a/b",
    "[ -f zap ] && echo yes",
    '[[ "$x" == zap* ]] && echo yes',
    'if [ "$x" -gt 1 ]; then echo zap; fi',
    "case $x in zap) echo a;; *) echo b;; esac",
    "export NAME=zap; unset NAME",
    "set -euo pipefail; ls",
    "ls | xargs -n1 echo zap",
    "echo a \\\n  zap",
    "echo a # zap",
    "# zap\nls",
    "sh -c 'ls zap'",
    "zapper",
    "zap.sh",
]  # fmt: skip


@pytest.mark.parametrize("text", EXCLUDED + NOT_RUNNABLE)
def test_an_excluded_command_is_found_wherever_it_stands(text: str) -> None:
    for allow_unsafe in (False, True):
        refusal = check(text, ["zap"], allow_unsafe=allow_unsafe)
        assert refusal == "'zap' is excluded by bash.excluded_commands"


def test_bash_itself_runs_the_excluded_command_in_each_of_these(tmp_path: Path) -> None:
    stub(tmp_path)
    assert [text for text in EXCLUDED if not runs_it(text, tmp_path)] == []


@pytest.mark.parametrize("text", DOUBTFUL)
def test_what_cannot_be_told_is_denied_unless_that_is_allowed(text: str) -> None:
    refusal = check(text, ["zap"])
    assert refusal is not None
    assert "it cannot be told whether this runs an excluded command, because " in refusal
    assert len(refusal) < 400
    assert check(text, ["zap"], allow_unsafe=True) is None


@pytest.mark.parametrize("text", HARMLESS)
def test_other_command_lines_are_let_through(text: str) -> None:
    assert check(text, ["zap"]) is None


@pytest.mark.parametrize("text", [*DOUBTFUL[:20], *EXCLUDED[:20]])
def test_without_exclusions_nothing_is_looked_at(text: str) -> None:
    assert check(text, []) is None


@pytest.mark.parametrize(
    ("entry", "text", "refused"),
    [
        ("git push", "git push", True),
        ("git push", "git -C x push --force", True),
        ("git push", "git pull", False),
        ("git push", "git log push", True),
        ("git push", "git $x", True),
        ("git push", "echo push | xargs git", True),
        ("git push", "git status", False),
        ("rm -rf", "rm -rf x", True),
        ("rm -rf", "rm -r -f x", True),
        ("rm -rf", "rm -fvr x", True),
        ("rm -rf", "rm x", False),
        ("sudo rm -rf", "sudo rm -rf x", True),
        ("sudo rm -rf", "sudo rm x", False),
        ("sudo rm -rf", "rm -rf x", False),
        ("/bin/rm", "rm x", True),
        ("npm publish", "npm run build && npm publish", True),
    ],
)
def test_an_exclusion_of_several_words_is_of_a_command_with_these_words(
    entry: str, text: str, *, refused: bool
) -> None:
    assert (check(text, [entry]) is not None) == refused
