"""The least Django needs to serve dj-stripe's webhook view; runs in an environment of its own, without ours."""

import os
from urllib.parse import urlsplit

_at = urlsplit(os.environ["BENCH_DATABASE_URL"])
SECRET_KEY = "only-for-a-benchmark"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sites", "djstripe"]
SITE_ID = 1
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "djstripe_urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _at.path.lstrip("/"),
        "USER": _at.username,
        "HOST": _at.hostname,
        "PORT": _at.port,
        "CONN_MAX_AGE": None,
    }
}
STRIPE_LIVE_MODE = False
STRIPE_TEST_SECRET_KEY = "sk_test_" + "0" * 24
DJSTRIPE_FOREIGN_KEY_TO_FIELD = "id"
LOGGING_CONFIG = None
