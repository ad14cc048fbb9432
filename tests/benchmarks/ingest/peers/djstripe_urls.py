"""dj-stripe's own routes, and its API pointed at a port without a listener."""

import importlib

vars(importlib.import_module("stripe"))["api_base"] = "http://127.0.0.1:9"
_urls = importlib.import_module("django.urls")
urlpatterns = [_urls.path("stripe/", _urls.include("djstripe.urls", namespace="djstripe"))]
