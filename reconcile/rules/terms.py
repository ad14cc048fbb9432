"""The merchant's own terms, which must be readable when the program starts: tariff, rules and calendars."""

from consumer.facts.calendars import CalendarError, read_calendar
from consumer.facts.installation import ConfigError, Settings
from reconcile.rules.settings import RulesError, to_rules
from reconcile.rules.tariff import TariffError, to_tariff


def check_terms(settings: Settings) -> None:
    """Refuse a tariff, rules or a calendar that cannot be read now, not when it reconciles."""
    try:
        to_tariff(settings.tariff)
        to_rules(settings.rules)
        for connection in settings.all_connections:
            read_calendar(settings.data_dir, connection.country_code)
    except (TariffError, RulesError, CalendarError) as error:
        raise ConfigError(str(error)) from None
