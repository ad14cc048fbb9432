"""Made-up companies, persons and merchants with valid tax ids, and how the provider writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sandbox.state.store import Object

COMPANY_WORDS = (
    (
        "Comercial",
        "Agrícola",
        "Ferretería",
        "Transportes",
        "Imprenta",
        "Viña",
        "Panadería",
        "Clínica",
        "Hotel",
        "Textil",
    ),
    ("Los Aromos", "Cordillera", "San Joaquín", "El Litre", "Quilapilún", "Río Claro", "Peñalolén", "Las Araucarias"),
    ("SpA", "Ltda.", "S.A.", "EIRL"),
)
MEXICAN_COMPANY_WORDS = (
    ("Distribuidora", "Abarrotes", "Refacciones", "Transportes", "Papelería", "Muebles", "Laboratorios", "Grupo"),
    ("del Bajío", "Tepeyac", "La Noria", "Ajusco", "Papaloapan", "Sierra Gorda", "Coyoacán", "El Roble"),
    ("SA de CV", "S de RL de CV", "SAPI de CV"),
)
FIRST_NAMES = ("Ana", "Benjamín", "Camila", "Diego", "Elena", "Felipe", "Gabriela", "Hernán", "Isidora", "Joaquín")
LAST_NAMES = ("Muñoz", "Rojas", "Soto", "Contreras", "Sepúlveda", "Araya", "Vergara", "Fuentes", "Ibáñez", "Cárdenas")
TAX_ID_TYPES = {"cl": "cl_rut", "mx": "mx_rfc"}


@dataclass(frozen=True, slots=True)
class Person:
    """A buyer or payer: a company or a human being."""

    customer_id: str  # the provider's id, whether or not the provider knows this customer
    name: str
    tax_id: str  # 76543210-3 in Chile, an RFC in Mexico
    email: str
    account: str
    institution: str


def rut_check_digit(body: int) -> str:
    """Modulo 11 with the weights 2 to 7 from the right."""
    total = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(str(body))))
    return "0123456789K0"[11 - total % 11]


def to_rut(body: int) -> str:
    """Return the body and its check digit, as people write it without dots."""
    return f"{body}-{rut_check_digit(body)}"


def to_provider_tax_id(tax_id: str) -> str:
    """Return the form the provider stores: neither dots nor hyphen."""
    return tax_id.replace("-", "").replace(".", "")


RFC_ALPHABET = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"


def rfc_check_digit(body: str) -> str:
    """Modulo 11 over the 11 characters of a company's RFC, padded to 12 places."""
    padded = body.rjust(12)
    total = sum(RFC_ALPHABET.index(letter) * (13 - place) for place, letter in enumerate(padded))
    return "0A987654321"[total % 11]


def clabe_check_digit(body: str) -> str:
    """Weights 3, 7, 1 over the 17 digits before it."""
    total = sum(int(digit) * (3, 7, 1)[place % 3] % 10 for place, digit in enumerate(body))
    return str((10 - total % 10) % 10)


def to_email(name: str, domain: str) -> str:
    """Return a lower-case ASCII address in a reserved domain."""
    plain = name.lower().translate(str.maketrans("áéíóúüñ", "aeiouun"))
    return "".join(letter if letter.isalnum() else "." for letter in plain).strip(".").replace("..", ".") + f"@{domain}"


def join_words(words: Sequence[str]) -> str:
    """Return a company's full name."""
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Merchant:
    """Whose money it is: the account payouts arrive on and the one buyers send to."""

    country: str
    name: str
    tax_id: str
    account: str
    institution: str
    collecting_account: str
    collecting_institution: str


CHILEAN_MERCHANT = Merchant(
    "cl", "Almacenes Tres Puentes SpA", "76543210-3", "000071402296", "cl_banco_security", "990013377", "cl_banco_bice"
)

MEXICAN_MERCHANT = Merchant(
    "mx", "Almacenes Tres Puentes SA de CV", "ATP190301KX8", "012180004118359719", "mx_banco_bbva",
    "646180157000000004", "mx_stp",
)  # fmt: skip
MERCHANTS = {"cl": CHILEAN_MERCHANT, "mx": MEXICAN_MERCHANT}
ACCOUNT_TYPES = {"cl": "checking", "mx": "clabe"}
CURRENCIES = {"cl": "CLP", "mx": "MXN"}


def to_seconds(at: datetime) -> str:
    """Return a moment without its fraction, as payment intents show it."""
    return at.isoformat(timespec="seconds")[:19] + "Z"


def to_millis(at: datetime) -> str:
    """Return a moment with milliseconds, as most other objects show it."""
    return at.isoformat(timespec="milliseconds")[:23] + "Z"


def to_object(kind: str, id_: str | None, /, *, mode: str = "test", **fields: object) -> Object:
    """Return an object as the provider begins all of them."""
    return {"id": id_, "object": kind, "mode": mode, **fields}


def to_account(person: Person) -> Object:
    """Return the account a person pays from."""
    return {
        "holder_id": to_provider_tax_id(person.tax_id),
        "institution_id": person.institution,
        "number": person.account,
        "type": "checking_account",
    }


def to_payout_account(merchant: Merchant) -> Object:
    """Return the merchant's account payouts arrive on."""
    return {
        "holder_id": to_provider_tax_id(merchant.tax_id),
        "institution_id": merchant.institution,
        "number": merchant.account,
        "type": "checking_account",
    }


def to_collecting_account(merchant: Merchant) -> Object:
    """Return the account buyers send their transfers to."""
    return to_payout_account(merchant) | {
        "institution_id": merchant.collecting_institution,
        "number": merchant.collecting_account,
    }


def to_customer(person: Person, merchant: Merchant, *, created_at: datetime, mode: str) -> Object:
    """Return a customer as the provider stores it."""
    return to_object(
        "customer",
        person.customer_id,
        mode=mode,
        created_at=to_millis(created_at),
        name=person.name,
        email=person.email,
        phone=None,
        address={"country": merchant.country},
        tax_id={"type": TAX_ID_TYPES[merchant.country], "value": to_provider_tax_id(person.tax_id)},
        metadata={},
    )
