"""Does what survivor.c does, from Python by ctypes: a process that outlives a peer."""

import ctypes
import os
import time

LIBRARIES = os.environ["SURVIVOR_LIBRARIES"]
ROLE = os.environ["SURVIVOR_ROLE"]
OK, WRONG, USAGE = 0, 1, 2
VERSION, RETURNS = 3, 1
TO_DEVICE, TO_HOST = 1, 2

Failed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class Options(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("world", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("port", ctypes.c_int32),
        ("address", ctypes.c_char_p),
        ("timeout_seconds", ctypes.c_double),
        ("plans", ctypes.c_char_p),
        ("on_failure", ctypes.c_int32),
        ("failed", Failed),
        ("failed_data", ctypes.c_void_p),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("output", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("extent", ctypes.c_int64 * 8),
        ("local_extent", ctypes.c_int64 * 8),
        ("local_bytes", ctypes.c_size_t),
    ]


cuda = ctypes.CDLL(os.path.join(LIBRARIES, "libhirgen_cpu.so"))
for function in (cuda.cudaFree, cuda.cudaStreamSynchronize, cuda.cudaStreamDestroy):
    function.argtypes = [ctypes.c_void_p]
cuda.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
cuda.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
cuda.cudaMemset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
library = ctypes.CDLL(os.path.join(LIBRARIES, "libhirgen_exchange.so"))
library.hirgen_exchange_last_error.restype = ctypes.c_char_p
library.hirgen_exchange_last_error.argtypes = [ctypes.c_void_p]
library.hirgen_exchange_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
library.hirgen_exchange_status.argtypes = [ctypes.c_void_p]
library.hirgen_exchange_destroy.argtypes = [ctypes.c_void_p]
library.hirgen_exchange_tensor.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def require(holds, what):
    if not holds:
        raise SystemExit(f"not so: {what}")


class Handle:
    def __init__(self, port):
        self.noted = []
        self.note = Failed(lambda data, code, report: self.noted.append((code, report)))
        options = Options(
            version=VERSION,
            rank=int(os.environ["HIRGEN_RANK"]),
            world=int(os.environ["HIRGEN_WORLD"]),
            device=int(os.environ["HIRGEN_RANK"]),
            port=int(port),
            address=b"127.0.0.1",
            timeout_seconds=float(os.environ["SURVIVOR_TIMEOUT"]),
            on_failure=RETURNS,
            failed=self.note,
        )
        require(cuda.cudaSetDevice(options.device) == 0, "the device is there")
        self.handle = ctypes.c_void_p()
        code = library.hirgen_exchange_create(ctypes.byref(options), ctypes.byref(self.handle))
        require(code == OK, f"create: {self.error(None)}")
        self.tensors, self.stream = [], ctypes.c_void_p()
        self.device = (ctypes.c_void_p * 3)()
        for i in range(3):
            self.tensors.append(Tensor())
            require(library.hirgen_exchange_tensor(self.handle, i, ctypes.byref(self.tensors[i])) == OK, "tensor")
            size = self.tensors[i].local_bytes
            fill = (b"\x80\x3f" if self.tensors[i].name == b"A" else b"\x00\x40") * (size // 2)
            memory = ctypes.c_void_p()
            require(cuda.cudaMalloc(ctypes.byref(memory), size) == 0, "memory")
            self.device[i] = memory
            require(cuda.cudaMemcpy(memory, fill, size, TO_DEVICE) == 0, "copy")
        require(cuda.cudaStreamCreate(ctypes.byref(self.stream)) == 0, "stream")

    def run(self):
        return library.hirgen_exchange_run(self.handle, self.stream, self.device)

    def status(self):
        return library.hirgen_exchange_status(self.handle)

    def call(self):
        code = self.run()
        if code != OK:
            return code
        require(cuda.cudaStreamSynchronize(self.stream) == 0, "the stream runs empty")
        return self.status()

    @staticmethod
    def error(handle):
        return library.hirgen_exchange_last_error(handle)

    def expect_right(self):
        for _ in range(3):
            require(self.call() == OK, "a call of the second handle")
        c = next(i for i in range(3) if self.tensors[i].output)
        result = ctypes.create_string_buffer(self.tensors[c].local_bytes)
        require(cuda.cudaMemcpy(result, self.device[c], len(result), TO_HOST) == 0, "copy")
        require(result.raw == b"\x80\x42" * (len(result) // 2), "C is 2 K")  # 64

    def outlive(self):
        code, calls = OK, 0
        while code == OK:
            last = time.monotonic()
            if ROLE == "idler" and calls >= 3:
                time.sleep(0.01)
                code = self.status()
            else:
                code = self.call()
            calls += 1
        print(f"failed after {time.monotonic() - last:.1f} s with code {code}", flush=True)
        require(self.run() == code, "run again has the code")
        report = self.error(self.handle)
        require(b"rank 1" in report, "the report names rank 1")
        require(self.noted == [(code, report)], "the callback has had the report, once")
        require(cuda.cudaMemset(self.device[0], 0, self.tensors[0].local_bytes) == 0, "the device does other work")
        require(cuda.cudaDeviceSynchronize() == 0, "the device is idle")
        for memory in self.device:
            require(cuda.cudaFree(memory) == 0, "free")
        require(cuda.cudaStreamDestroy(self.stream) == 0, "the stream goes")
        require(library.hirgen_exchange_destroy(self.handle) == code, "destroy has the code")
        require(self.error(None) == report, "last_error(NULL) has the report")
        require(self.run() == USAGE, "the handle is no more")


if ROLE != "replacement":
    Handle(os.environ["HIRGEN_PORT"]).outlive()
if ROLE in ("survivor", "replacement"):
    second = Handle(os.environ["SURVIVOR_PORT"])
    second.expect_right()
    require(library.hirgen_exchange_destroy(second.handle) == OK, "destroy")
print("went on")
