"""Documents made to be slow or to be torn: each is cut in time that grows with its length alone.

What took time with the square of the length would not end within the time limit of a test.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from holodeck_backend_claude.retrieval.documents.chunking import Structure, cut_sections
from holodeck_backend_claude.retrieval.documents.domains import DOMAINS, Domain
from holodeck_backend_claude.retrieval.documents.markdown import sections
from holodeck_backend_claude.retrieval.wordpiece import count_tokens

SIZE = 100_000

SLOW = {
    "blanks in a heading": "# a" + " " * SIZE + "b",
    "blanks behind a term": '"a"' + " " * SIZE + "x",
    "blanks behind a verb": '"a" shall' + " " * SIZE + "x",
    "terms in brackets": '(the "a") ' * (SIZE // 10),
    "terms in one long sentence": "b " * (SIZE // 2) + '(the "a")' * 2_000,
    "blanks behind a word that names a part": "Title" + " " * SIZE + "x",
    "a number without end": "§ 1" + "-1" * (SIZE // 2),
    "digits without end": "§ " + "1" * SIZE,
    "brackets without end": "section 1" + "(1)" * (SIZE // 3),
    "emphasis that never closes": "# " + "*a" * (SIZE // 2),
    "links that never close": "[](#" * (SIZE // 4),
    "fences that never close": "\n".join("    " + "~" * (3 + n) for n in range(440)),
    "comments that never close": "<!--\n" * (SIZE // 5),
    "nested lists": "".join(" " * (2 * min(n, 100)) + "- x\n" for n in range(10_000)),
    "headings": "# a\n" * 10_000,
    "one line": "a" * SIZE,
    "marks on letters": "e" + "\u0301" * SIZE,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SLOW)
def test_time_grows_with_the_length_alone(name: str) -> None:
    structure = Structure("us_legislative", definitions=True, references=True)
    cut = cut_sections(sections(SLOW[name]), size=800, overlap=50, structure=structure)
    assert all(count_tokens(chunk.content) <= 800 for chunk in cut.chunks)


PARTS = (
    "# A{n}\n", "## B{n} ##\n", "C{n}\n===\n", "D{n}\nand {n}\n---\n", "### \n", "#\n",
    "text w{n} more. And v{n}!\n", "\n", "\n\n", "- i{n}\n", "  - j{n}\n", "1. k{n}\n",
    "```py\ncode{n} = 1\n\n# no{n}\n```\n", "~~~\nt{n}\n```\nx{n}\n~~~\n",
    "a{n} | b\n---|---\nc{n} | d\n", "<!-- h{n}\n# no\n-->\n", "<pre>\np{n}\n# no\n</pre>\n",
    "<div>\nq{n}\n</div>\n", "> quote{n}\n", "    indented{n}\n",
    "§ {n} Title{n}\n(a) sub{n}\n(b) see § {n}(a)\n", '"Term{n}" means thing{n}.\n',
    "**T{n}**: m{n}\n", "\0z{n}\n", "e\u0301{n}\ufb01 \u5b57{n}\n", "\u2028u{n}\n",
    "many words {n} " * 20 + "\n", "```\n" + "line{n} of code\n" * 40 + "```\n",
    "h{n} | g\n-|-\n" + "row{n} | cell\n" * 40 + "\n",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_lost_torn_or_too_long_whatever_stands_next_to_what(seed: int) -> None:
    random = Random(seed)
    parts = [random.choice(PARTS) for _ in range(random.randint(1, 25))]
    text = "".join(part.replace("{n}", str(number)) for number, part in enumerate(parts))
    domain: Domain = random.choice(list(DOMAINS))
    structure = Structure(domain, random.choice([None, 1, 2]), definitions=True, references=True)
    cut = cut_sections(sections(text), size=40, overlap=10, structure=structure)

    kept = "\n".join(f"{chunk.context}\n{chunk.content}" for chunk in cut.chunks)
    assert {word for word in re.findall(r"[a-zA-Z]+\d+", text) if word not in kept} == set()
    for chunk in cut.chunks:
        assert count_tokens(chunk.content) <= 40
        assert open_fence(chunk.content) is None


def open_fence(text: str) -> str | None:
    """The fence of a passage that is not closed in it."""
    fence: str | None = None
    for line in map(str.strip, text.split("\n")):
        mark = re.match(r"`{3,}|~{3,}", line)
        if fence is None:
            fence = mark[0] if mark else None
        elif mark and mark[0] == line and line[0] == fence[0] and len(line) >= len(fence):
            fence = None
    return fence
