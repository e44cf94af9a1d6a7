"""Further programs that run what they are told to, by argument or by input."""

from __future__ import annotations

import re

_NAMES = """
    psql mysql mariadb sqlite sqlite3 less more most
    view rview rvim rvi vimdiff gvim gview nvimdiff emacsclient
    npx bunx pnpx uv uvx pipx poetry pipenv hatch pdm conda mamba micromamba bundle pnpm yarn
    nix-shell nix direnv mise asdf pyenv rbenv nodenv rustup
    xvfb-run xinit startx dbus-launch openvt systemd-inhibit systemd-nspawn
    logsave choom uclampset cpulimit eatmydata faketime chronic ifne pee capsh aa-exec coreutils
    proxychains proxychains4 torsocks trickle tsocks ip sg newgrp ssh-agent gpg-agent
    gnuplot guile octave ghci jshell swift groovy scala elixir iex erl sbcl clisp clojure racket
    raku ocaml wish irb pry psysh
    mail mailx mutt ftp lftp telnet
    tex latex pdftex pdflatex xetex xelatex luatex lualatex
"""
_STARTERS = frozenset(_NAMES.split())
_LOADER = re.compile(r"ld-(?:linux|musl).*|ld\.so.*|ld-2\..*")


def is_starter(name: str) -> bool:
    """Whether nobody can tell from its name and arguments what a program runs."""
    return name in _STARTERS or bool(_LOADER.fullmatch(name))
