"""dj-stripe as a WSGI application."""

import importlib
import os

os.environ["DJANGO_SETTINGS_MODULE"] = "djstripe_settings"
application = importlib.import_module("django.core.wsgi").get_wsgi_application()
