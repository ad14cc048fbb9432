"""Tables and the three rows without which dj-stripe's first event would call its provider: prints the endpoint."""

import importlib
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "djstripe_settings"
importlib.import_module("django").setup()
importlib.import_module("django.core.management").call_command("migrate", verbosity=0)
models = importlib.import_module("djstripe.models")
account = models.Account.objects.create(id="acct_bench", livemode=False, stripe_data={"id": "acct_bench"})
models.APIKey.objects.create(
    id="sk_bench", type="secret", secret="sk_test_" + "0" * 24, livemode=False, djstripe_owner_account=account
)
endpoint = models.WebhookEndpoint.objects.create(
    id="we_bench",
    secret=sys.argv[1],
    livemode=False,
    enabled_events=["*"],
    status="enabled",
    url="http://127.0.0.1/stripe",
    djstripe_owner_account=account,
)
sys.stdout.write(str(endpoint.djstripe_uuid))
