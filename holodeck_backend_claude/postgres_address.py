"""Where a PostgreSQL database is, in words that hold no password."""

from __future__ import annotations


def postgres_address(url: str) -> str | None:
    """What may be said about where a database is.

    Args:
        url: As libpq understands it.

    Returns:
        ``'name' on host:port``; None where it is no address, which must not be quoted then: it
        may hold a password.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        said = conninfo_to_dict(url)
    except psycopg.Error:
        return None
    where = f"{said.get('host') or 'this machine'}:{said.get('port') or 5432}"
    return f"{said.get('dbname') or said.get('user') or ''!r} on {where}"
