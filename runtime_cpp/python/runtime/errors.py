"""The exception for failed calls of an emitted library."""

_CODES = {
    2: "usage",
    3: "environment",
    4: "device",
    5: "peer",
    6: "timeout",
    7: "internal",
}


class HirgenError(RuntimeError):
    """A failure of this or another rank. The message contains the report of the library or of this package.

    `code` is a result code of hirgen/c_api.h. After code 2 (usage) the handle is unchanged. If the library's run or status
    returned any other code, later calls raise the same error until the handle is closed. Then the process can join again.
    """

    def __init__(self, program: str, code: int, report: str):
        super().__init__(f"{program}: {report} ({_CODES.get(code, 'unknown')} error, code {code})")
        self.code = code
