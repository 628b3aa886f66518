"""What is wrong with the `transport` of a configuration, as far as looking shows it: nobody is
connected to, and nothing is asked of a network."""

from __future__ import annotations

import stat
from pathlib import Path

_YES_NO = ("yes", "no")
_WORDS = {"on_loss": ("error", "write"), "trusted": _YES_NO, "copies": _YES_NO}
_NUMBERS = ("weight", "silence_s")


def problem_of(transport: str) -> str:
    """A sentence; empty: there is none, or none is named."""
    if not transport:
        return ""
    scheme, _, rest = transport.partition(":")
    if scheme != "service":
        return f"transport is {transport!r}; use service:ADDRESS, as `caesura serve` prints it"
    address, *keys = rest.split(",")
    return _of_address(address) or next(filter(None, map(_of_key, keys)), "")


def _of_address(address: str) -> str:
    kind, _, place = address.partition(":")
    if kind == "unix":
        return _of_socket(Path(place))
    if kind == "tcp":
        host, _, port = place.rpartition(":")
        known = host and port.isdecimal() and 0 < int(port) <= 65535
        return "" if known else f"transport: {address!r} is not tcp:HOST:PORT"
    return f"transport: {address!r} is neither unix:/path/of/socket nor tcp:HOST:PORT"


def _of_socket(path: Path) -> str:
    if not path.is_absolute():
        return f"transport: the path of the socket, {str(path)!r}, must begin with '/'"
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except OSError as error:
        return f"transport: {path}: {error.strerror}; has the service been started?"
    return "" if is_socket else f"transport: {path} is not a socket"


def _of_key(text: str) -> str:
    key, equals, value = text.partition("=")
    if not equals:
        return f"transport: {text!r} behind the address is no KEY=VALUE"
    if key in _WORDS and value not in _WORDS[key]:
        return f"transport: {key} is {value!r}; use {' or '.join(_WORDS[key])}"
    if key == "secret" and not Path(value).is_file():
        return f"transport: secret: there is no file {value}"
    if key in _NUMBERS and not _is_positive(value):
        return f"transport: {key} is {value!r}; it must be a number above 0"
    if key not in (*_WORDS, *_NUMBERS, "secret"):
        known = ", ".join((*_WORDS, *_NUMBERS, "secret"))
        return f"transport: there is no {key!r}; use one of {known}"
    return ""


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False
