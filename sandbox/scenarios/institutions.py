"""Banks the provider knows, in both modes."""

from datetime import datetime

from sandbox.state.happening import Happening

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
}


def tell_institutions(at: datetime) -> list[Happening]:
    """All of them, there from the beginning."""
    return [
        Happening(
            at, "institutions", {"id": id_, "object": "institution", "mode": mode, "name": name, "country": id_[:2]}
        )
        for mode in ("test", "live")
        for id_, name in NAMES.items()
    ]
