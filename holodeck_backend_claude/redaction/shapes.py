"""What secrets look like: one line for each form of key, token and password.

A pattern keeps its groups ``before`` and ``after``, where it has them, and what is left of the
match is masked. What precedes the end of a match is bounded, so that no text takes more than
linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One form of secret.

    Attributes:
        name: Whose it is.
        hints: One of these a text has to hold for the pattern to be worth a try; in small
            letters where the pattern does not care.
        pattern: The form.
    """

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(name: str, hint: str, pattern: str, flags: int = re.ASCII) -> Shape:
    return Shape(name, (hint,), re.compile(pattern, flags))


_WORD = r"[A-Za-z0-9_-]"
_PLAIN = r"[A-Za-z0-9]"

FORMS = (
    # whole blocks
    _shape(
        "private key", "PRIVATE KEY",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----.*?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)", re.S,
    ),
    _shape("JSON web token", "eyJ", rf"\beyJ{_WORD}{{8,400}}\.{_WORD}{{4,}}\.{_WORD}*"),
    # models and what is built of them
    _shape("Anthropic, OpenAI, OpenRouter, DeepSeek, Langfuse", "sk-", rf"\bsk-{_WORD}{{8,}}"),
    _shape("Groq", "gsk_", rf"\bgsk_{_PLAIN}{{20,}}"),
    _shape("xAI", "xai-", rf"\bxai-{_PLAIN}{{20,}}"),
    _shape("Perplexity", "pplx-", rf"\bpplx-{_PLAIN}{{20,}}"),
    _shape("Replicate", "r8_", rf"\br8_{_PLAIN}{{20,}}"),
    _shape("Hugging Face", "hf_", rf"\bhf_{_PLAIN}{{20,}}"),
    _shape("Fireworks", "fw_", rf"\bfw_{_PLAIN}{{20,}}"),
    _shape("Together", "tgp_v1_", rf"\btgp_v1_{_WORD}{{20,}}"),
    _shape("NVIDIA", "nvapi-", rf"\bnvapi-{_WORD}{{20,}}"),
    _shape("Voyage", "pa-", rf"\bpa-(?={_WORD}{{0,60}}\d){_WORD}{{30,}}"),
    _shape("Jina", "jina_", rf"\bjina_{_WORD}{{20,}}"),
    _shape("Tavily", "tvly-", rf"\btvly-{_WORD}{{16,}}"),
    _shape("Pinecone", "pcsk_", rf"\bpcsk_{_WORD}{{20,}}"),
    _shape("LangSmith", "lsv2_", rf"\blsv2_(?:pt|sk)_{_WORD}{{20,}}"),
    # clouds
    _shape("AWS access key", "A", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}"),
    _shape("AWS session token", "oJb3JpZ2lu", r"\bI[A-Za-z0-9]oJb3JpZ2lu[A-Za-z0-9+/=]{20,}"),
    _shape("Amazon Bedrock", "ABSK", r"\bABSK[A-Za-z0-9+/=]{30,}"),
    _shape("Amazon Bedrock, short-term", "bedrock-api-key-", r"\bbedrock-api-key-[\w+/=-]{20,}"),
    _shape("Google API key", "AIza", rf"\bAIza{_WORD}{{20,}}"),
    _shape("Google access token", "ya29.", r"\bya29\.[\w.-]{10,}"),
    _shape("Google refresh token", "1//0", rf"\b1//0{_WORD}{{20,}}"),
    _shape("Google client secret", "GOCSPX-", rf"\bGOCSPX-{_WORD}{{10,}}"),
    _shape("Azure AI key", "JQQJ99", rf"\b{_PLAIN}{{52}}JQQJ99{_PLAIN}{{20,}}"),
    _shape("Azure client secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,}"),
    _shape("DigitalOcean", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{20,}"),
    _shape("Databricks", "dapi", r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    _shape("Vault", "hv", rf"\bhv[sbr]\.{_WORD}{{20,}}"),
    _shape("Terraform", ".atlasv1.", rf"\b{_PLAIN}{{10,20}}\.atlasv1\.{_WORD}{{20,}}"),
    _shape("Supabase", "sb", rf"\b(?:sbp_|sb_secret_){_WORD}{{20,}}"),
    # code and packages
    _shape("GitHub", "gh", rf"\bgh[opusr]_{_PLAIN}{{10,}}"),
    _shape("GitHub, fine-grained", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{10,}"),
    _shape("GitLab", "gl", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|soat|agent|oas)-[\w.-]{10,}"),
    _shape("npm", "npm_", rf"\bnpm_{_PLAIN}{{20,}}"),
    _shape("PyPI", "pypi-", rf"\bpypi-{_WORD}{{20,}}"),
    _shape("Docker", "dckr_", rf"\bdckr_[po]at_{_WORD}{{20,}}"),
    _shape("Atlassian", "ATATT3", rf"\bATATT3{_WORD}{{20,}}=?[A-F0-9]*"),
    _shape("Sentry", "sntry", r"\bsntry[su]_[\w+/=-]{20,}"),
    _shape("Grafana", "gl", r"\bgl(?:sa|c)_[\w=+/-]{20,}"),
    # messages and payments
    _shape("Slack", "xox", r"\bxox[abceoprs](?:\.xox[bp])?-[\w-]{8,}"),
    _shape("Slack app", "xapp-", rf"\bxapp-{_WORD}{{8,}}"),
    _shape(
        "Slack hook", "hooks.slack.com",
        r"(?P<before>hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]{8,}",
    ),
    _shape("Discord", ".", rf"\b[MNO]{_WORD}{{23,25}}\.{_WORD}{{6}}\.{_WORD}{{27,}}"),
    _shape(
        "Discord hook", "/api/webhooks/",
        rf"(?P<before>/api/webhooks/\d{{6,25}}/){_WORD}{{20,}}",
    ),
    _shape("Telegram", ":AA", rf"\b\d{{8,10}}:AA{_WORD}{{30,}}"),
    _shape("Stripe", "k_", rf"\b[sr]k_(?:live|test|prod)_{_PLAIN}{{10,}}"),
    _shape("Stripe hook", "whsec_", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    _shape("SendGrid", "SG.", rf"\bSG\.{_WORD}{{16,32}}\.{_WORD}{{16,}}"),
    _shape("Twilio", "SK", r"\bSK[a-f0-9]{32}\b"),
    _shape("Shopify", "shp", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}"),
    _shape("Notion", "ntn_", rf"\bntn_{_PLAIN}{{20,}}"),
    _shape("Linear", "lin_api_", rf"\blin_api_{_PLAIN}{{20,}}"),
    _shape("Airtable and others", "pat", rf"\bpat[_-]?{_PLAIN}{{14,}}(?:\.[a-f0-9]{{40,}})?"),
    # addresses; a password may hold an @ or a /, so up to the last @
    _shape(
        "password in a URL", "@",
        r"(?P<before>\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]{0,100}:)[^\s\"']{1,300}(?P<after>@)", re.I,
    ),
    _shape("token in a URL", "@", rf"(?P<before>://){_WORD}{{20,200}}(?P<after>@)"),
)  # fmt: skip
"""What no text says by chance."""


# Names of settings whose value is secret: whatever stands after the first kind, and after the
# second only what looks like it ("unexpected token: foo" is no secret).
_SURELY = (
    r"(?:(?:api|access|account|private|subscription|instrumentation|shared[ _-]?access)[ _-]?key"
    r"|secret|passw(?:or)?d|pwd|passphrase)"
)
_PERHAPS = r"(?:token|credentials?|sig|signature)"
_QUOTE = r"\\{0,3}[\"']?"  # in JSON within JSON it comes with backslashes
_NOT_MASKED = r"(?!\[secret\])"
_VALUE = r"[^\s\"',;&]"
_HEADER = rf"{_QUOTE}\s{{0,20}}[:=]\s{{0,20}}{_QUOTE}"
_SCHEME = r"(?:(?:bearer|basic|token|apikey|digest|negotiate|ntlm)\s{1,5})?"


_SURE_HINTS = ("key", "secret", "passw", "pwd", "passphrase")
_PERHAPS_HINTS = ("token", "credential", "sig")


def _announced(name: str, hints: tuple[str, ...], *pattern: str) -> Shape:
    return Shape(name, hints, re.compile("".join(pattern), re.IGNORECASE))


ANNOUNCED = (
    _announced(
        "scheme", ("bearer", "basic"), r"(?P<before>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}"
    ),
    _announced(
        "authorization",
        ("authorization",),
        rf"(?P<before>\bauthorization{_HEADER}{_SCHEME})",
        rf"(?={_VALUE}{{0,60}}\d){_NOT_MASKED}{_VALUE}{{8,}}",
    ),
    _announced(
        "cookie",
        ("cookie",),
        rf"(?P<before>\bcookie{_HEADER})(?=[^\s=;\"']{{1,200}}=){_NOT_MASKED}[^\r\n\"']{{4,}}",
    ),
    _announced(
        "parameter of a URL",
        ("?", "&"),
        r"(?P<before>[?&][\w-]{0,40}(?:token|key|sig|signature|secret|password|auth)=)",
        rf"{_NOT_MASKED}[^\s&\"'<>#]{{4,}}",
    ),
    # name=value, name: value and "name": "value"; the name may end a longer one
    _announced(
        "quoted value",
        _SURE_HINTS,
        rf"(?P<before>{_SURELY}{_QUOTE}\s*[=:]\s*(?P<quote>[\"']))",
        rf"{_NOT_MASKED}[^\"'\r\n]{{4,500}}(?P<after>(?P=quote))",
    ),
    _announced(
        "value in braces", _SURE_HINTS, rf"(?P<before>{_SURELY}\s*=\s*)\{{[^{{}}\r\n]{{1,200}}\}}"
    ),
    _announced(
        "value",
        _SURE_HINTS,
        rf"(?P<before>{_SURELY}{_QUOTE}(?: provided)?\s*[=:]\s*{_QUOTE})",
        rf"{_NOT_MASKED}{_VALUE}{{4,}}",
    ),
    _announced(
        "assigned value",
        _PERHAPS_HINTS,
        rf"(?P<before>{_PERHAPS}{_QUOTE}=\s*{_QUOTE}){_NOT_MASKED}{_VALUE}{{4,}}",
    ),
    _announced(
        "value after a colon",
        _PERHAPS_HINTS,
        rf"(?P<before>{_PERHAPS}{_QUOTE}\s*:\s*{_QUOTE})",
        rf"(?={_VALUE}{{0,60}}\d){_NOT_MASKED}{_VALUE}{{12,}}",
    ),
)
"""What stands after a word that announces a secret; it may also be an ordinary word."""
