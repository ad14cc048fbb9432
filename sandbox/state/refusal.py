"""The provider's errors: one class that carries its status, its code and the parameter at fault."""

from sandbox.state.store import Object

DOC_URL = "https://docs.fintoc.com/reference/errors"


class RefusalError(Exception):
    """A request the provider turns down, in the words of its error object."""

    type = "invalid_request_error"

    def __init__(self, status: int, code: str, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    def body(self) -> Object:
        error: Object = {"type": self.type, "code": self.code}
        if self.param is not None:
            error["param"] = self.param
        error["message"] = str(self)
        if self.type == "invalid_request_error":
            error["doc_url"] = DOC_URL
        return {"error": error}


class UnauthenticatedError(RefusalError):
    """The key, token or signature was not accepted."""

    type = "authentication_error"

    def __init__(self, code: str = "invalid_api_key", message: str = "Invalid API key") -> None:
        super().__init__(401, code, message)


class BrokenError(RefusalError):
    """The provider's own trouble, on purpose."""

    type = "api_error"


def missing_resource(what: str, id_: str, *, param: str = "id") -> RefusalError:
    return RefusalError(404, "missing_resource", f"No such {what}: {id_}", param=param)


def missing_parameter(param: str) -> RefusalError:
    return RefusalError(400, "missing_parameter", f"Missing required parameter: {param}", param=param)


def invalid_enum(param: str, value: object, allowed: tuple[str, ...]) -> RefusalError:
    return RefusalError(400, "invalid_enum", f"{param} cannot be {value!r}; allowed: {', '.join(allowed)}", param=param)


def invalid(kind: str, param: str, expected: str) -> RefusalError:
    """Return an `invalid_<kind>` on one parameter."""
    return RefusalError(400, f"invalid_{kind}", f"{param} must be {expected}", param=param)
