"""What the machinery calls its parts, in a reader's words: streams of the provider, jobs, subjects without a row."""

from reports.shapes.dialects import say

# Name, English, Spanish.
_STREAMS = {
    "all": ("Everything", "Todo"),
    "events": ("Events", "Eventos"),
    "payouts": ("Payouts", "Liquidaciones"),
    "payout-items": ("Items of payouts", "Movimientos de liquidaciones"),
    "payment-intents": ("Payments", "Pagos"),
    "charges": ("Charges", "Cargos"),
    "refunds": ("Refunds", "Reembolsos"),
    "disputes": ("Disputes", "Disputas"),
    "checkout-sessions": ("Checkout sessions", "Sesiones de pago"),
    "payment-links": ("Payment links", "Links de pago"),
    "customers": ("Customers", "Clientes"),
    "subscriptions": ("Subscriptions", "Suscripciones"),
    "invoices": ("Invoices of subscriptions", "Cobros de suscripciones"),
    "payment-methods": ("Payment methods", "Medios de pago"),
    "transfers": ("Transfers", "Transferencias"),
    "accounts": ("Accounts", "Cuentas"),
    "account-numbers": ("Account numbers", "Números de cuenta"),
    "account-movements": ("Account movements", "Movimientos de cuentas"),
    "account-statements": ("Account statements", "Cartolas"),
    "account-verifications": ("Account verifications", "Verificaciones de cuentas"),
    "entities": ("Entities", "Empresas"),
    "links": ("Bank links", "Enlaces bancarios"),
    "link-accounts": ("Accounts of bank links", "Cuentas de enlaces bancarios"),
    "link-movements": ("Movements of bank links", "Movimientos de enlaces bancarios"),
    "tax-invoices": ("Tax invoices", "Documentos tributarios"),
    "tax-returns": ("Yearly tax returns", "Declaraciones de renta"),
    "tax-statements": ("Monthly tax statements", "Declaraciones mensuales de IVA"),
    "institutions": ("Banks", "Bancos"),
    "webhook-endpoints": ("Webhook endpoints", "Destinos de webhooks"),
}
_JOBS = {
    "nightly": ("Night", "Noche"),
    "banking-cut": ("Run after the banking cut", "Corrida tras el corte bancario"),
    "fiscal": ("Tax data", "Datos tributarios"),
    "endpoint": ("Look at the webhook endpoint", "Revisión del destino de webhooks"),
    "retention": ("Removal of what is old", "Retiro de lo antiguo"),
    "pull": ("Fetch", "Traer datos"),
    "backfill": ("Completion of the events", "Completar los eventos"),
    "by hand": ("by hand", "a mano"),
}
# What the name of a night ends with that a command started.
_BY_HAND = " by hand"
_KINDS = {
    "stream": ("data of the provider", "datos del proveedor"),
    "event": ("event", "evento"),
    "calendar": ("calendar", "calendario"),
    "transfer": ("transfer", "transferencia"),
    "bank": ("bank account and day", "cuenta y día del banco"),
    "dispute": ("dispute", "disputa"),
}


def stream(name: str, language: str) -> str:
    """Say a stream; one that nobody has met yet keeps its name."""
    return say(_STREAMS, name, language)


def job(name: str, language: str) -> str:
    """Say `pull:main:charges`: what is done, of which connection and of which stream, and whether by hand."""
    kind, _, rest = name.removesuffix(_BY_HAND).partition(":")
    connection, _, part = rest.partition(":")
    asked = say(_JOBS, "by hand", language) if name.endswith(_BY_HAND) else ""
    told = (say(_JOBS, kind, language), connection, stream(part, language) if part else "", asked)
    return " · ".join(filter(None, told))


def subject(text: str, language: str) -> str:
    """Say what an exception is about that is no payout, item or document: `stream:charges`."""
    kind, _, name = text.partition(":")
    if kind not in _KINDS:
        return text
    said = stream(name, language) if kind == "stream" else name.replace(":", " ")
    return f"{say(_KINDS, kind, language)}: {said}"
