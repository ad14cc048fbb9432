"""The provider, imitated over HTTP: its objects, its webhooks, its faults, and a month of trade with known truth."""
