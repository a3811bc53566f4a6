"""The exception of a call of the C ABI that did not return HIRGEN_OK."""

_CODES = {
    2: "usage",
    3: "environment",
    4: "device",
    5: "peer",
    6: "timeout",
    7: "internal",
}


class HirgenError(RuntimeError):
    """A call failed on this rank or on another one; the message is the library's report.

    `code` is that of hirgen/c_api.h. After 2 (usage) the handle is as it was. After any other code it
    gives the same error until it is closed; the process may go on, and join anew.
    """

    def __init__(self, program: str, code: int, report: str):
        super().__init__(f"{program}: {report} ({_CODES.get(code, 'unknown')} error, code {code})")
        self.code = code
