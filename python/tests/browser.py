"""Chromium without a window, driven over its DevTools pipe: what tests of pages look through.

No package is needed beside the browser: commands and answers are JSON with a NUL behind each, on
file descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_S = 120.0  # for one answer; a slow machine that is busy takes its time


def browser_path() -> str | None:
    """CAESURA_BROWSER, or the first that is installed."""
    named = os.environ.get("CAESURA_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page at a time. Use as a context manager."""

    def __init__(self, profile: Path) -> None:
        command = [
            browser_path(),
            "--headless=new",
            "--no-sandbox",  # which root may not have
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--force-prefers-reduced-motion",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        def place() -> None:  # of the child: where Chromium looks for them
            # They may be 3 and 4 themselves, the wrong way round.
            first, second = os.dup(to_read), os.dup(to_write)
            high = (os.dup2(first, 90), os.dup2(second, 91))
            os.dup2(high[0], 3, inheritable=True)
            os.dup2(high[1], 4, inheritable=True)

        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            close_fds=False,
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._ask(f"{domain}.enable", {})

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = None
            self._ask("Browser.close", {})
            self._process.wait(timeout=30)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        wanted = self._number
        answer = self._until(lambda said: said.get("id") == wanted)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        ends_s = time.monotonic() + _PATIENCE_S
        while True:
            message, found, self._rest = self._rest.partition(b"\0")
            if found:
                said = json.loads(message)
                if "method" in said:
                    self.events.append(said)
                if matches(said):
                    return said
                continue
            self._rest = message
            ready, _, _ = select.select([self._from], [], [], max(0.0, ends_s - time.monotonic()))
            more = os.read(self._from, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("the browser said nothing more")
            self._rest += more

    # ------------------------------------------------------------------------------ for tests

    def open(self, page: Path, width: int = 1280, height: int = 900) -> None:
        """And wait until it is loaded and drawn."""
        self.resize(width, height)
        self.events.clear()
        self._ask("Page.navigate", {"url": page.as_uri()})
        if not any(one["method"] == "Page.loadEventFired" for one in self.events):
            self._until(lambda said: said.get("method") == "Page.loadEventFired")
        self.drawn()

    def resize(self, width: int, height: int = 900) -> None:
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """kind: "print" or "" (the screen)."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", {"media": kind, "features": features})

    def on_paper(self) -> None:
        """The open page as it is printed, about as wide as A4 without margins."""
        self.media("print")
        self.resize(700)
        self.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.drawn()

    def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression is, as JSON has it; promises are waited for."""
        answer = self._ask(
            "Runtime.evaluate",
            {"expression": expression, "returnByValue": True, "awaitPromise": True},
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def drawn(self) -> None:
        """Two frames later, what a script has put off to the next one is there."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    def press(self, key: str) -> None:
        """A key of the keyboard, by its DOM name."""
        codes = {"Tab": 9, "Enter": 13, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
                 "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                 "+": 187, "-": 189}  # fmt: skip
        said = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if len(key) == 1:
            said["text"] = key
        if key == "Enter":
            said["text"] = "\r"
        self._ask("Input.dispatchKeyEvent", {"type": "keyDown", **said})
        self._ask("Input.dispatchKeyEvent", {"type": "keyUp", **said})
        self.drawn()

    def screenshot(self, path: Path) -> None:
        """The whole page."""
        size = self._ask("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self._ask(
            "Page.captureScreenshot",
            {"format": "png", "captureBeyondViewport": True, "clip": clip},
        )
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """Printed on A4."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
        return base64.b64decode(self._ask("Page.printToPDF", size)["data"])

    def requested(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            one["params"]["request"]["url"]
            for one in self.events
            if one["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """What scripts and the browser have complained of."""
        return [
            json.dumps(one["params"])
            for one in self.events
            if one["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]

    # ------------------------------------------------------------------- how a page reads

    def cut_off(self) -> list[str]:
        """Elements whose content is wider than they are and cannot be scrolled to."""
        return self.evaluate(
            """[...document.querySelectorAll("main *")].filter((one) => {
                 const style = getComputedStyle(one), box = one.getBoundingClientRect();
                 if (one.closest("svg") && one.tagName !== "svg") return false;
                 const scrolls = one.closest(".scroll") &&
                   getComputedStyle(one.closest(".scroll")).overflowX !== "visible";
                 return box.width > 0 && !scrolls && style.display !== "inline" &&
                   box.right > document.documentElement.clientWidth + 1;
               }).map((one) => one.outerHTML.slice(0, 80))"""
        )

    def clipped(self) -> list[str]:
        """What would have to be scrolled to, as on paper nobody can."""
        return self.evaluate(
            """[...document.querySelectorAll(".scroll")]
                 .filter((one) => one.scrollWidth > one.clientWidth + 1)
                 .map((one) => one.innerHTML.slice(0, 60))"""
        )

    def weak_texts(self) -> list[Any]:
        """Texts whose contrast to what lies under them is below 4.5, and that contrast."""
        return self.evaluate(
            """(() => {
              const light = (colour) => {
                const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255)
                  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const found = [];
              for (const one of document.querySelectorAll("main p, main td, main th, main h1, " +
                  "main h2, main li, main summary, main figcaption, main button, .plot text")) {
                const svg = one.namespaceURI.endsWith("svg");
                let under = one, back = "rgba(0, 0, 0, 0)";
                while (under && back.endsWith(", 0)")) {
                  back = getComputedStyle(under).backgroundColor;
                  under = under.parentElement;
                }
                const style = getComputedStyle(one);
                const a = light(svg ? style.fill : style.color), b = light(back);
                const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (contrast < 4.5) found.push([one.outerHTML.slice(0, 60), contrast]);
              }
              return found;
            })()"""
        )
