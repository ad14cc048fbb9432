"""A person's hand on the pages: it counts what it clicks, and the guide's table says how often that may be."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Download, Locator, Page, expect

LOOKS = {"desk": (1280, 800), "phone": (390, 844)}
# What a thumb can hit, in pixels.
LEAST = 24
TABLE = Path(__file__).resolve().parent.parent.parent / "docs" / "performance.md"
PATIENCE = 300_000
_ROW = re.compile(r"^\| ([^|]+?) \| (\d+) \| ([^|]*) \| [^|]* \| [^|]* \|$", re.MULTILINE)


@dataclass(slots=True)
class Hand:
    """A page and the clicks on it: links, buttons, boxes, choices, and keys that press something; typing is none."""

    page: Page
    home: str
    clicks: int = 0
    problems: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def log_in(self, email: str, password: str) -> None:
        self.page.goto(f"{self.home}/login")
        self.page.locator("#email").fill(email)
        self.page.locator("#password").fill(password)
        self.page.locator("button.main").click()
        self.page.locator("nav").first.wait_for()
        self.start()

    def start(self, path: str = "/") -> None:
        """Begin a job on a page, with no click yet."""
        self.page.goto(self.home + path)
        self.clicks, self.began = 0, time.monotonic()

    def click(self, what: Locator) -> None:
        self.reach(what)
        what.click()
        self.clicks += 1

    def reach(self, what: Locator) -> None:
        """Find out if a target is large enough for a thumb, and the page no wider than its window."""
        width = self.page.viewport_size["width"] if self.page.viewport_size else 0
        what.scroll_into_view_if_needed()
        box = what.bounding_box()
        if box is None or width > LOOKS["phone"][0]:
            return
        if min(box["width"], box["height"]) < LEAST or box["x"] < 0 or box["x"] + box["width"] > width:
            self.problems.append(f"{what} is out of a thumb's reach: {box}")
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide != width:
            self.problems.append(f"{self.page.url} is {wide} pixels wide")

    def link(self, name: str | re.Pattern[str], *, exact: bool = False) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=exact).first)

    def button(self, name: str | re.Pattern[str]) -> None:
        self.click(self.page.get_by_role("button", name=name).first)

    def tick(self, name: str) -> None:
        self.click(self.page.get_by_role("checkbox", name=name, exact=True))

    def bring(self, path: Path) -> None:
        """Choose a file: one click opens the choice, one takes it."""
        self.page.get_by_label("Archivo", exact=True).set_input_files(path)
        self.clicks += 2

    def download(self, name: str) -> Download:
        with self.page.expect_download() as waiting:
            self.link(name, exact=True)
        return waiting.value

    def sees(self, *texts: str) -> None:
        """Wait until the page says all of this."""
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text, timeout=PATIENCE)

    def done(self, job: str) -> None:
        """End a job: it took the clicks of the table, no more than asked, and nothing went wrong on the way."""
        clicks, asked = documented()[job]
        sys.stdout.write(f"{job}: {self.clicks} clicks, {time.monotonic() - self.began:.1f} s\n")
        assert (self.clicks, self.problems) == (clicks, [])
        assert asked is None or clicks <= asked


@contextmanager
def open_hand(browser: Browser, look: str, home: str, email: str, password: str) -> Iterator[Hand]:
    """Log a person in at a desk or with a phone; what went wrong outside of a job ends the test too."""
    width, height = LOOKS[look]
    context = browser.new_context(
        viewport={"width": width, "height": height}, locale="es-CL", accept_downloads=True, has_touch=look == "phone"
    )
    hand = Hand(context.new_page(), home)
    hand.log_in(email, password)
    yield hand
    assert hand.problems == []
    assert hand.page.evaluate("document.documentElement.scrollWidth") == width
    context.close()


def documented() -> dict[str, tuple[int, int | None]]:
    """Return the clicks of every job that the table names, and how many were asked at most."""
    text = TABLE.read_text(encoding="utf-8").partition("## Jobs of finance")[2].partition("\n## ")[0]
    return {job: (int(clicks), int(asked) if asked.isdigit() else None) for job, clicks, asked in _ROW.findall(text)}
