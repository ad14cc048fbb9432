"""Every column a report can have: its kind, and its label in the three languages people read."""

from dataclasses import dataclass
from enum import StrEnum

LANGUAGES = ("es-CL", "es-MX", "en")


class Kind(StrEnum):
    """What a cell holds; `id` is text that must never be read as a number."""

    TEXT = "text"
    ID = "id"
    MONEY = "money"
    INT = "int"
    DATE = "date"
    INSTANT = "instant"
    DECIMAL = "decimal"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    es_cl: str
    es_mx: str
    en: str

    def label(self, language: str) -> str:
        return {"es-CL": self.es_cl, "es-MX": self.es_mx, "en": self.en}[language]


# kind, name, Spanish, English and, where Mexico says it otherwise, its own words.
_TEXT = """
text connection|Conexión|Connection
text mode|Modo|Mode
text country|País|Country
text currency|Moneda|Currency
text status|Estado del proveedor|Provider status
id payout_id|Liquidación|Payout
instant created_at_utc|Creada (UTC)|Created (UTC)
instant succeeded_at_utc|Exitosa (UTC)|Succeeded (UTC)
date payout_date|Fecha de liquidación|Payout date
date bank_day|Día bancario|Bank day
instant window_start|Inicio de ventana (UTC)|Window start (UTC)
instant window_end|Fin de ventana (UTC)|Window end (UTC)
text recipient_institution|Banco receptor|Recipient bank
id recipient_account_last4|Cuenta (últimos 4)|Account (last 4)|Cuenta CLABE (últimos 4)
int payments_count|N.º de pagos|Payments count
money payments_gross|Pagos brutos|Payments gross
int charges_count|N.º de cargos|Charges count
money charges_gross|Cargos brutos|Charges gross
int refunds_count|N.º de reembolsos|Refunds count
money refunds_gross|Reembolsos|Refunds gross
money refund_adjustments|Reembolsos fallidos|Refund adjustments
money disputes|Disputas perdidas|Disputes lost
money fee_total|Comisión total|Fee total
money fee_net|Comisión neta|Fee net
money fee_vat|IVA de comisión|Fee VAT
decimal fee_rate_pct|Tasa de comisión %|Fee rate %
text fee_source|Origen de comisión|Fee source
money computed_amount|Monto calculado|Computed amount|Importe calculado
money payout_amount|Monto liquidado|Payout amount|Importe liquidado
money difference|Diferencia|Difference
date expected_arrival|Llegada esperada|Expected arrival
date bank_date|Fecha en banco|Bank date
id bank_movement_id|Movimiento bancario|Bank movement
money bank_amount|Monto en banco|Bank amount|Importe en banco
money bank_difference|Diferencia con banco|Bank difference
int days_late|Días de atraso|Days late
int matched_count|Conciliados|Matched
int unmatched_count|Sin conciliar|Unmatched
text status_recon|Conciliación|Reconciliation
int exceptions|Excepciones|Exceptions
text resource_type|Tipo de movimiento|Item type
text resource_subtype|Medio de pago|Payment method
id resource_id|Movimiento|Item
int line|Línea|Line
id source_event_id|Evento de origen|Source event
instant occurred_at_utc|Ocurrido (UTC)|Occurred (UTC)
date local_date|Fecha local|Local date
text local_time|Hora local|Local time
money amount_signed|Monto con signo|Signed amount|Importe con signo
money net_amount|Monto neto|Net amount|Importe neto
id customer_tax_id|RUT del cliente|Customer tax id|RFC del cliente
text customer_name|Cliente|Customer
id order_ref|Pedido|Order
text outcome|Resultado|Outcome
text match_stage|Etapa|Match stage
text match_rule|Regla|Match rule
text rivals|Candidatos rivales|Rivals
text doc_country|País del documento|Document country
id doc_type|Tipo de documento|Document type
id doc_series|Serie|Series
id doc_folio|Folio|Folio
id doc_uuid|UUID|UUID|Folio fiscal (UUID)
date doc_date|Fecha del documento|Document date
date doc_due_date|Vencimiento|Due date
money doc_total|Total del documento|Document total
money applied_amount|Monto aplicado|Applied amount|Importe aplicado
money doc_balance_after|Saldo del documento|Document balance after
text expected_doc|Documento esperado|Expected document
text exception_code|Excepción|Exception
text note|Nota|Note
id match_to|Conciliar con (documento)|Match with (document)
int version|Versión (no cambiar)|Version (leave as it is)
id exception_id|Excepción (id)|Exception id
text code|Código|Code
text severity|Gravedad|Severity
text title|Título|Title
date opened_on|Abierta el|Opened on
date last_seen_on|Vista por última vez|Last seen on
int age_business_days|Antigüedad (días bancarios)|Age (bank days)
text age_bucket|Tramo de antigüedad|Age bucket
money amount_at_risk|Monto en riesgo|Amount at risk|Importe en riesgo
id doc_key|Documento|Document
text evidence|Evidencia|Evidence
text suggested_action|Acción sugerida|Suggested action
text owner|Responsable|Owner
text state|Estado|State
date resolved_on|Resuelta el|Resolved on
text resolution|Resolución|Resolution
date fact_on|Fecha del hecho|Date of the fact
date due_on|Vence el|Due on
id run_first|Primera corrida|First run
id run_last|Última corrida|Last run
id series|Serie|Series
id folio|Folio|Folio
id uuid|UUID|UUID|Folio fiscal (UUID)
date issue_date|Fecha de emisión|Issue date
date due_date|Vencimiento|Due date
money total|Total|Total
money paid|Pagado|Paid
money credited|Acreditado o aceptado|Credited or accepted
money balance|Saldo|Balance
money balance_owed|Saldo por cobrar|Balance owed
money credit_balance|Saldo a favor|Credit balance
money payments|Pagos|Payments
int days_overdue|Días vencido|Days overdue
text bucket|Tramo|Bucket
id last_payment_id|Último pago|Last payment
date date|Fecha|Date
money opening|Saldo inicial|Opening
money charges|Cargos|Charges
money refunds|Reembolsos|Refunds
money fees|Comisiones|Fees
money payouts|Liquidaciones|Payouts
money other|Otros|Other
money closing|Saldo final|Closing
int closing_items_count|Partidas del saldo|Closing items
date expected_payout_day|Liquidación esperada|Expected payout day
id transfer_id|Transferencia|Transfer
text direction|Dirección|Direction
money amount|Monto|Amount|Importe
id counterparty_tax_id|RUT de la contraparte|Counterparty tax id|RFC de la contraparte
text counterparty_name|Contraparte|Counterparty
text institution|Banco|Institution
id account_masked|Cuenta|Account
id tracking_key|Clave de rastreo|Tracking key
date operating_date|Fecha de operación|Operating date
instant calendar_ts|Fecha y hora (UTC)|Calendar time (UTC)
id return_code|Código de devolución|Return code
text return_label|Motivo de devolución|Return reason
text return_raw|Devolución (texto original)|Return (raw)
instant returned_at|Devuelta (UTC)|Returned (UTC)
id movement_id|Movimiento|Movement
id statement_period|Período de cartola|Statement period|Periodo del estado de cuenta
id matched_to|Conciliada con|Matched to
id account_id|Cuenta|Account
id period|Período|Period|Periodo
money inbound|Entradas|Inbound
money outbound|Salidas|Outbound
money computed_closing|Saldo final calculado|Computed closing
int movements_missing_here|Movimientos que faltan aquí|Movements missing here
int movements_missing_there|Movimientos que faltan allá|Movements missing there
id taxpayer_id|RUT del contribuyente|Taxpayer id|RFC del contribuyente
id document_number|Folio del formulario|Document number
money total_debit|Total débitos|Total debit
money total_credit|Total créditos|Total credit
money retention_fee|Retención de honorarios|Fee retention
money salary_tax|Impuesto único de trabajadores|Salary tax
money monthly_provisional_payments|PPM|Monthly provisional payments
money total_payment|Total a pagar|Total payment
money computed_payment|Pago calculado|Computed payment
money identity_difference|Diferencia|Identity difference
int fiscal_year|Año tributario|Fiscal year|Ejercicio fiscal
money due_amount|Monto a pagar|Due amount|Importe a pagar
money refund_amount|Devolución|Refund amount
money salary|Sueldos|Salary
money withheld_fees|Honorarios retenidos|Withheld fees
id issuer_id|RUT del emisor|Issuer id|RFC del emisor
id receiver_id|RUT del receptor|Receiver id|RFC del receptor
text issue_type|Emitido o recibido|Issued or received
text document_type|Tipo de documento|Document type
id number|Número|Number
id tax_period|Período tributario|Tax period|Periodo fiscal
money vat_amount|IVA|VAT
money exempt_amount|Exento|Exempt
money total_amount|Total|Total
text has_note|Tiene nota|Has a note
text stream|Flujo|Stream
id id|Identificador|Id
text kind|Clase|Kind
text field|Campo|Field
text ours|Nuestro valor|Ours
text theirs|Valor del proveedor|Theirs
text subject|Asunto|Subject
text before|Antes|Before
text after|Después|After
text cause|Causa|Cause
text figure|Cifra|Figure
text source|Origen|Source
text ties_to|Cuadra con|Ties to
money other_amount|Otro monto|Other amount|Otro importe
text verdict|Veredicto|Verdict
"""


def _to_column(row: str) -> Column:
    kind, rest = row.split(" ", 1)
    name, spanish, english, *mexican = rest.split("|")
    return Column(name, Kind(kind), spanish, mexican[0] if mexican else spanish, english)


COLUMNS = {column.name: column for column in map(_to_column, _TEXT.strip().splitlines())}
