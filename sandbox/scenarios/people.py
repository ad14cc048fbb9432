"""Made-up companies and persons of Chile and Mexico, with tax ids whose check digits hold."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    """The body and its check digit, as people write it without dots."""
    return f"{body}-{rut_check_digit(body)}"


def to_provider_tax_id(tax_id: str) -> str:
    """The form the provider stores: neither dots nor hyphen."""
    return tax_id.replace("-", "").replace(".", "")


def to_dotted_rut(tax_id: str) -> str:
    """The form people type: 76.543.210-3."""
    body, _, check = tax_id.partition("-")
    return f"{int(body):,}".replace(",", ".") + f"-{check}"


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
    """A lower-case ASCII address in a domain nobody owns."""
    plain = name.lower().translate(str.maketrans("áéíóúüñ", "aeiouun"))
    return "".join(letter if letter.isalnum() else "." for letter in plain).strip(".").replace("..", ".") + f"@{domain}"


def join_words(words: Sequence[str]) -> str:
    """A company's full name."""
    return " ".join(words)
