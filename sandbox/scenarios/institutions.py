"""The banks the provider knows, and the two forms their ids have in Mexico."""

from sandbox.state.store import Object

NAMES = {
    "cl_banco_estado": "Banco Estado",
    "cl_banco_bci": "Banco BCI",
    "cl_banco_bice": "Banco BICE",
    "cl_banco_de_chile": "Banco de Chile",
    "cl_banco_falabella": "Banco Falabella",
    "cl_banco_itau": "Banco Itaú",
    "cl_banco_ripley": "Banco Ripley",
    "cl_banco_santander": "Banco Santander",
    "cl_banco_consorcio": "Banco Consorcio",
    "cl_banco_scotiabank": "Scotiabank",
    "cl_mercado_pago": "Mercado Pago",
    "cl_mach": "MACH",
    "cl_tenpo": "Tenpo",
    "cl_banco_security": "Banco Security",
    "cl_tapp_caja_los_andes": "Tapp Caja Los Andes",
    "cl_banco_internacional": "Banco Internacional",
    "cl_banco_coopeuch": "Coopeuch",
    "cl_copec_pay": "Copec Pay",
    "cl_prepago_los_heroes": "Prepago Los Héroes",
    "cl_banco_bbva": "BBVA Chile",
    "cl_banco_hsbc": "HSBC Chile",
    "mx_banco_bbva": "BBVA México",
    "mx_banco_santander": "Santander México",
    "mx_banco_banorte": "Banorte",
    "mx_stp": "STP",
    "40002": "Banamex",
    "40012": "BBVA México",
    "40014": "Santander México",
    "40021": "HSBC México",
    "40044": "Scotiabank México",
    "40072": "Banorte",
    "90646": "STP",
    "90723": "Cuenca",
    "90735": "Fintoc",
}
CLABE_LENGTH = 18
# Two digits for the sort of institution stand before the three of its CLABE: 37 development banks, 40 banks, 90 others.
DEVELOPMENT_BANKS = {"006", "009", "019", "135", "166", "168"}
OTHERS = ("6", "7", "9")


def country_of(id_: str) -> str:
    """Return the country of an institution's id: only Mexican ones are figures alone."""
    return "mx" if id_.isdigit() else id_[:2]


def is_clabe(number: str) -> bool:
    return len(number) == CLABE_LENGTH and number.isascii() and number.isdigit()


def code_of(clabe: str) -> str:
    """Return the code under which business accounts name the bank of a CLABE: 90735 for 735…"""
    bank = clabe[:3]
    sort = "37" if bank in DEVELOPMENT_BANKS else "90" if bank.startswith(OTHERS) else "40"
    return sort + bank


def institution_of(country: str, number: str, id_: str | None = None) -> Object | None:
    """Return the institution as counterparties bear it; in Mexico the CLABE says it and not the caller."""
    if country == "mx" and is_clabe(number):
        id_ = code_of(number)
    return {"id": id_, "name": NAMES.get(id_), "country": country} if id_ else None
