"""Institutions: the banks the provider knows."""

from sandbox.api.call import Route
from sandbox.api.listing import cursor_list, exactly, get_one, offset_list

INSTITUTIONS = "institutions"

ROUTES = (
    Route("GET", "/v1/institutions", "list institutions", offset_list(INSTITUTIONS, exactly("country"))),
    Route("GET", "/v2/institutions", "list institutions (v2)", cursor_list(INSTITUTIONS, exactly("country"))),
    Route("GET", "/v1/institutions/{id}", "get institution", get_one(INSTITUTIONS)),
    Route("GET", "/v2/institutions/{id}", "get institution (v2)", get_one(INSTITUTIONS)),
)
