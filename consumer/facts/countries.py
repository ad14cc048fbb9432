"""The two countries: zone, currency, payout cut-off, general rate of VAT and the shape their spreadsheets open."""

from dataclasses import dataclass
from datetime import time


@dataclass(frozen=True, slots=True)
class Country:
    code: str
    zone: str
    currency: str
    profile: str
    language: str
    cutoff: time | None
    vat_percent: int


COUNTRIES = {
    "cl": Country("cl", "America/Santiago", "CLP", profile="cl", language="es-CL", cutoff=time(14), vat_percent=19),
    "mx": Country("mx", "America/Mexico_City", "MXN", profile="mx", language="es-MX", cutoff=None, vat_percent=16),
}
