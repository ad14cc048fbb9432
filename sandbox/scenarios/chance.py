"""Everything a scenario leaves to chance, drawn from one seeded generator."""

import string
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from random import Random
from typing import TypeVar
from uuid import UUID

from sandbox.scenarios import people
from sandbox.scenarios.calendar import at_local
from sandbox.scenarios.fees import divide_half_up
from sandbox.scenarios.people import Person

T = TypeVar("T")
ALPHABET = string.ascii_letters + string.digits
VAT_BPS = {"cl": 1900, "mx": 1600}
PRICES = {
    "cl": (4_990, 7_990, 9_990, 12_990, 14_990, 19_990, 24_990, 29_990, 39_990, 49_990, 79_990),
    "mx": (19_900, 24_900, 34_900, 49_900, 59_900, 89_900, 129_900),
}
INSTITUTIONS = {
    "cl": ("cl_banco_estado", "cl_banco_de_chile", "cl_banco_santander", "cl_banco_bci", "cl_banco_itau", "cl_tenpo"),
    "mx": ("mx_banco_bbva", "mx_banco_santander", "mx_banco_banorte", "mx_stp"),
}
CLABE_BANKS = {"mx_banco_bbva": "012", "mx_banco_santander": "014", "mx_banco_banorte": "072", "mx_stp": "646"}


class Chance:
    """Draws ids, people, moments and amounts; no amount it calls free is ever drawn twice."""

    def __init__(self, country: str, key: str) -> None:
        self.country = country
        self._random = Random(key)
        self._taken: set[int] = set(PRICES[country])
        self._tax_ids: set[str] = set()
        self._ids: set[str] = set()

    def id(self, prefix: str, length: int = 16) -> str:
        """Return an opaque id that reveals neither order nor links."""
        draw, letters = self._random.random, len(ALPHABET)
        while True:
            drawn = f"{prefix}_" + "".join([ALPHABET[int(draw() * letters)] for _ in range(length)])
            if drawn not in self._ids:
                self._ids.add(drawn)
                return drawn

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options, each as likely."""
        return self._random.choice(options)

    def weigh(self, options: dict[T, int]) -> T:
        """Return one of the options, as likely as its weight says."""
        return self._random.choices(list(options), weights=list(options.values()))[0]

    def weigh_first(self, options: Sequence[tuple[T, int]]) -> T:
        """Return one of the options, given as pairs of option and weight."""
        return self._random.choices([option for option, _ in options], weights=[weight for _, weight in options])[0]

    def uuid(self) -> str:
        """Return a random version 4 UUID, lower case."""
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def order(self, options: Sequence[T]) -> list[T]:
        """Return the options in an order left to chance."""
        return self._random.sample(options, len(options))

    def whole(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        return self._random.randint(low, high)

    def happens(self, percent: int) -> bool:
        """Return whether something with this chance happens."""
        return self._random.randrange(100) < percent

    def digits(self, count: int) -> str:
        """That many digits, the first of them not zero."""
        return str(self._random.randrange(10 ** (count - 1), 10**count))

    def moment(self, on: date, *, since: time = time(8), until: time = time(22)) -> datetime:
        """Return a moment with milliseconds between two local times of one day."""
        first, last = at_local(on, since, self.country), at_local(on, until, self.country)
        return first + timedelta(milliseconds=self._random.randrange(int((last - first).total_seconds() * 1000)))

    def later(self, at: datetime, low: int, high: int) -> datetime:
        """Return a moment between `low` and `high` seconds after another."""
        return at + timedelta(milliseconds=self._random.randint(low * 1000, high * 1000))

    def claim(self, amount: int) -> bool:
        """Take an amount, if neither it nor its neighbours by one unit are taken."""
        if {amount - 1, amount, amount + 1} & self._taken:
            return False
        self._taken.add(amount)
        return True

    def free_total(self, low: int, high: int) -> tuple[int, int, int]:
        """Return net, VAT and total of a sale whose total is unique in the scenario."""
        while True:
            net = self._random.randint(low, high)
            vat = divide_half_up(net * VAT_BPS[self.country], 10_000)
            if self.claim(net + vat):
                return net, vat, net + vat

    def free_amount(self, low: int, high: int) -> int:
        """Return an amount that is unique in the scenario."""
        while True:
            amount = self._random.randint(low, high)
            if self.claim(amount):
                return amount

    def price(self) -> int:
        """Return a price of the list, which many sales share."""
        return self.pick(PRICES[self.country])

    def company(self) -> Person:
        """Return a company that is unique in the scenario."""
        words = people.COMPANY_WORDS if self.country == "cl" else people.MEXICAN_COMPANY_WORDS
        name = people.join_words([self.pick(choice) for choice in words])
        return self._person(name, self._tax_id(company=True))

    def human(self) -> Person:
        """Return a person who is unique in the scenario."""
        name = f"{self.pick(people.FIRST_NAMES)} {self.pick(people.LAST_NAMES)} {self.pick(people.LAST_NAMES)}"
        return self._person(name, self._tax_id(company=False))

    def _person(self, name: str, tax_id: str) -> Person:
        institution = self.pick(INSTITUTIONS[self.country])
        account = self.digits(11)
        if self.country == "mx":
            body = f"{CLABE_BANKS[institution]}180{account}"
            account = body + people.clabe_check_digit(body)
        email = people.to_email(name, f"{self.digits(3)}.example")
        return Person(self.id("cus"), name, tax_id, email, account, institution)

    def _tax_id(self, *, company: bool) -> str:
        while True:
            drawn = self._rut(company=company) if self.country == "cl" else self._rfc(company=company)
            if drawn not in self._tax_ids:
                self._tax_ids.add(drawn)
                return drawn

    def _rut(self, *, company: bool) -> str:
        low, high = (76_000_000, 78_999_999) if company else (7_000_000, 24_999_999)
        return people.to_rut(self._random.randint(low, high))

    def _rfc(self, *, company: bool) -> str:
        letters = "".join(self._random.choices("BCDFGHJLMNPRSTVZ", k=3 if company else 4))
        born = f"{self.whole(0, 22):02d}{self.whole(1, 12):02d}{self.whole(1, 28):02d}"
        body = letters + born + "".join(self._random.choices(string.ascii_uppercase, k=2))
        return body + people.rfc_check_digit(body)
