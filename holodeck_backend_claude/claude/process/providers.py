"""The ways to reach Claude: for each auth_provider the variables that Claude Code reads.

Measured with the programs of SDK 0.2.82 and 0.2.189. Of several ways the first that is complete is
taken, and nothing of the others is passed on: what Claude Code would prefer among them differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

PATHS = frozenset(
    {
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AZURE_FEDERATED_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
    }
)
"""Variables that name a file."""


@dataclass(frozen=True)
class Way:
    """One complete set of variables.

    Attributes:
        names: All of them have to be set.
        also: Passed on where they are set.
        exactly: The values that some of the names must have.
        files: Variables that name a file, with its usual place below the home folder; one of the
            files at least has to be there.
        passed_as: The one name under which Claude Code reads the value.
        is_secret: Whether the values are to be masked.
        note: What the way is for, where the names do not say it.
    """

    names: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    exactly: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    passed_as: str | None = None
    is_secret: bool = False
    note: str = ""

    @property
    def described(self) -> str:
        """The way as an error names it."""
        named = (f"{n}={self.exactly[n]}" if n in self.exactly else n for n in self.names)
        return " and ".join(named) + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Need:
    """What a provider cannot do without.

    Attributes:
        what: Its name in an error.
        ways: The variables that give it.
        advice: What else an error should say; begins with a space.
    """

    what: str
    ways: tuple[Way, ...]
    advice: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Every variable that has to do with it."""
        return frozenset(name for way in self.ways for name in (*way.names, *way.also, *way.files))


@dataclass(frozen=True)
class Provider:
    """One value of ``model.auth_provider``.

    Attributes:
        name: The value.
        title: What errors call it.
        address: The variable that ``model.endpoint`` is given as.
        key: The variable that ``model.api_key`` is given as; None where there is no such key.
        needs: What has to be there.
        fixed: Variables that are always set.
    """

    name: str
    title: str
    address: str
    key: str | None
    needs: tuple[Need, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)


def _secret(*names: str, also: tuple[str, ...] = ()) -> Way:
    return Way(names, also=also, is_secret=True)


_ANTHROPIC_URL = "ANTHROPIC_BASE_URL"

_AWS_CREDENTIAL = Need(
    "credential",
    (
        _secret("AWS_BEARER_TOKEN_BEDROCK"),
        _secret("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", also=("AWS_SESSION_TOKEN",)),
        Way(
            ("AWS_PROFILE",),
            files={
                "AWS_CONFIG_FILE": ".aws/config",
                "AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials",
            },
            note="with the files of that profile",
        ),
        Way(("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"), also=("AWS_ROLE_SESSION_NAME",)),
        Way(
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
            also=("AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        ),
        Way(("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",)),
        Way(
            ("AWS_EC2_METADATA_DISABLED",),
            exactly={"AWS_EC2_METADATA_DISABLED": "false"},
            note="the role of the EC2 instance",
        ),
    ),
)

_GOOGLE_CREDENTIAL = Need(
    "credential",
    (
        Way(("GOOGLE_APPLICATION_CREDENTIALS",)),
        Way(
            files={
                "GOOGLE_APPLICATION_CREDENTIALS": (
                    ".config/gcloud/application_default_credentials.json"
                )
            }
        ),
        Way(
            ("METADATA_SERVER_DETECTION",),
            also=("GCE_METADATA_HOST",),
            exactly={"METADATA_SERVER_DETECTION": "assume-present"},
            note="the service account of a machine of Google Cloud",
        ),
    ),
    advice=" Or run: gcloud auth application-default login.",
)

_AZURE_CREDENTIAL = Need(
    "credential",
    (
        _secret("ANTHROPIC_FOUNDRY_API_KEY"),
        _secret("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"),
        Way(("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE")),
        Way(("IDENTITY_ENDPOINT", "IDENTITY_HEADER"), also=("AZURE_CLIENT_ID",), is_secret=True),
    ),
)

_ALL = (
    Provider(
        "api_key",
        "Claude",
        _ANTHROPIC_URL,
        "ANTHROPIC_API_KEY",
        (Need("credential", (_secret("ANTHROPIC_API_KEY"),)),),
    ),
    Provider(
        "oauth_token",
        "Claude",
        _ANTHROPIC_URL,
        "CLAUDE_CODE_OAUTH_TOKEN",
        (
            Need(
                "credential",
                (_secret("CLAUDE_CODE_OAUTH_TOKEN"),),
                advice=" The command 'claude setup-token' makes one.",
            ),
        ),
    ),
    Provider(
        "bedrock",
        "Claude on Amazon Bedrock",
        "ANTHROPIC_BEDROCK_BASE_URL",
        "AWS_BEARER_TOKEN_BEDROCK",
        (
            Need(
                "region",
                (Way(("AWS_REGION",)), Way(("AWS_DEFAULT_REGION",), passed_as="AWS_REGION")),
                advice=" The region of a profile is not read.",  # SDK 0.2.82 takes us-east-1
            ),
            _AWS_CREDENTIAL,
        ),
        {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_EC2_METADATA_DISABLED": "true"},
    ),
    Provider(
        "vertex",
        "Claude on Google Vertex AI",
        "ANTHROPIC_VERTEX_BASE_URL",
        None,
        (
            Need("region", (Way(("CLOUD_ML_REGION",)),)),
            Need(
                "project",
                (
                    Way(("ANTHROPIC_VERTEX_PROJECT_ID",)),
                    Way(("GOOGLE_CLOUD_PROJECT",), passed_as="ANTHROPIC_VERTEX_PROJECT_ID"),
                    Way(("GCLOUD_PROJECT",), passed_as="ANTHROPIC_VERTEX_PROJECT_ID"),
                ),
            ),
            _GOOGLE_CREDENTIAL,
        ),
        {"CLAUDE_CODE_USE_VERTEX": "1", "METADATA_SERVER_DETECTION": "none"},
    ),
    Provider(
        "foundry",
        "Claude on Microsoft Foundry",
        "ANTHROPIC_FOUNDRY_BASE_URL",
        "ANTHROPIC_FOUNDRY_API_KEY",
        (
            Need(
                "resource",
                (Way(("ANTHROPIC_FOUNDRY_BASE_URL",)), Way(("ANTHROPIC_FOUNDRY_RESOURCE",))),
            ),
            _AZURE_CREDENTIAL,
        ),
        {"CLAUDE_CODE_USE_FOUNDRY": "1"},
    ),
    Provider(
        "custom",
        "the server at model.endpoint",
        _ANTHROPIC_URL,
        "ANTHROPIC_AUTH_TOKEN",
        (
            Need("address", (Way((_ANTHROPIC_URL,)),)),
            Need("credential", (_secret("ANTHROPIC_AUTH_TOKEN"),)),
        ),
    ),
)

PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _ALL})
"""By the value of ``model.auth_provider``."""
