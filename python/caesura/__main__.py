"""`python -m caesura` and the console script."""

from __future__ import annotations


def main() -> None:
    try:
        from caesura.cli import app
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"caesura: the command line needs {error.name}; run `pip install typer rich`"
        ) from None
    app(prog_name="caesura")


if __name__ == "__main__":
    main()
