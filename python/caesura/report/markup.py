"""A few lines to write SVG and HTML safely: every attribute and text is escaped."""

from __future__ import annotations

from html import escape


def tag(name: str, *children: str, **attributes: object) -> str:
    """<name attr="...">children</name>. Children are markup already; underscores become dashes.

    A trailing underscore keeps Python's words usable (class_); None leaves an attribute out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(number(value))}"')
    opening = " ".join(parts)
    if not children:
        return f"<{opening}/>"
    return f"<{opening}>{''.join(children)}</{name}>"


def text(content: object) -> str:
    return escape(str(content), quote=False)


def number(value: object) -> str:
    """Floats with at most two decimals: a page of thousands of boxes stays small."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
