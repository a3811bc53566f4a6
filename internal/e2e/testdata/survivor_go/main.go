// Command survivor_go does what survivor.c does, from Go by cgo: a process that outlives a peer.
package main

/*
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>
#include "exchange.h"

extern void noteFailure(void* data, int code, char* report);

static void note(void* data, int code, const char* report) { noteFailure(data, code, (char*)report); }

static int create(int rank, int world, int port, double timeout, hirgen_handle** handle) {
  hirgen_options options;
  memset(&options, 0, sizeof options);
  options.version = HIRGEN_ABI_VERSION;
  options.rank = options.device = rank;
  options.world = world;
  options.address = "127.0.0.1";
  options.port = port;
  options.timeout_seconds = timeout;
  options.on_failure = HIRGEN_FAILURE_RETURNS;
  options.failed = note;
  return hirgen_exchange_create(&options, handle);
}
*/
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// noted is what the callback was given, on a thread of the library.
var noted struct {
	sync.Mutex
	reports []string
}

//export noteFailure
func noteFailure(data unsafe.Pointer, code C.int, report *C.char) {
	noted.Lock()
	defer noted.Unlock()
	noted.reports = append(noted.reports, C.GoString(report))
}

func require(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "not so:", what)
		os.Exit(1)
	}
}

func number(name string) float64 {
	value, err := strconv.ParseFloat(os.Getenv(name), 64)
	require(err == nil, name+" is a number")
	return value
}

// program is a handle with the memory and the stream of its calls.
type program struct {
	handle *C.hirgen_handle
	tensor [C.HIRGEN_EXCHANGE_TENSORS]C.hirgen_tensor
	device *[C.HIRGEN_EXCHANGE_TENSORS]unsafe.Pointer // in memory of C
	stream C.cudaStream_t
}

func lastError(handle *C.hirgen_handle) string {
	return C.GoString(C.hirgen_exchange_last_error(handle))
}

func create(port string) *program {
	p := &program{device: (*[C.HIRGEN_EXCHANGE_TENSORS]unsafe.Pointer)(C.calloc(C.HIRGEN_EXCHANGE_TENSORS, 8))}
	rank := C.int(number("HIRGEN_RANK"))
	require(C.cudaSetDevice(rank) == 0, "the device is there")
	code := C.create(rank, C.int(number("HIRGEN_WORLD")), C.int(number(port)), C.double(number("SURVIVOR_TIMEOUT")), &p.handle)
	require(code == C.HIRGEN_OK, "create: "+lastError(nil))
	for i := range p.tensor {
		require(C.hirgen_exchange_tensor(p.handle, C.size_t(i), &p.tensor[i]) == C.HIRGEN_OK, "tensor")
		size := p.tensor[i].local_bytes
		require(C.cudaMalloc(&p.device[i], size) == 0, "memory")
		element := []byte{0x00, 0x40}
		if i == C.HIRGEN_EXCHANGE_A {
			element = []byte{0x80, 0x3F}
		}
		fill := bytes.Repeat(element, int(size)/2)
		require(C.cudaMemcpy(p.device[i], unsafe.Pointer(&fill[0]), size, C.cudaMemcpyHostToDevice) == 0, "copy")
	}
	require(C.cudaStreamCreate(&p.stream) == 0, "stream")
	return p
}

func (p *program) run() C.int {
	return C.hirgen_exchange_run(p.handle, unsafe.Pointer(p.stream), &p.device[0])
}

func (p *program) call() C.int {
	if code := p.run(); code != C.HIRGEN_OK {
		return code
	}
	require(C.cudaStreamSynchronize(p.stream) == 0, "the stream runs empty")
	return C.hirgen_exchange_status(p.handle)
}

func (p *program) expectRight() {
	for range 3 {
		require(p.call() == C.HIRGEN_OK, "a call of the second handle")
	}
	result := make([]byte, p.tensor[C.HIRGEN_EXCHANGE_C].local_bytes)
	require(C.cudaMemcpy(unsafe.Pointer(&result[0]), p.device[C.HIRGEN_EXCHANGE_C], C.size_t(len(result)),
		C.cudaMemcpyDeviceToHost) == 0, "copy")
	require(bytes.Equal(result, bytes.Repeat([]byte{0x80, 0x42}, len(result)/2)), "C is 2 K") // 64
}

func (p *program) outlive(idles bool) {
	code, last := C.int(C.HIRGEN_OK), time.Now()
	for calls := 0; code == C.HIRGEN_OK; calls++ {
		last = time.Now()
		if idles && calls >= 3 {
			time.Sleep(10 * time.Millisecond)
			code = C.hirgen_exchange_status(p.handle)
		} else {
			code = p.call()
		}
	}
	fmt.Printf("failed after %.1f s with code %d\n", time.Since(last).Seconds(), code)
	require(p.run() == code, "run again has the code")
	report := lastError(p.handle)
	require(strings.Contains(report, "rank 1"), "the report names rank 1")
	noted.Lock()
	require(len(noted.reports) == 1 && noted.reports[0] == report, "the callback has had the report, once")
	noted.Unlock()
	require(C.cudaMemset(p.device[0], 0, p.tensor[0].local_bytes) == 0, "the device does other work")
	require(C.cudaDeviceSynchronize() == 0, "the device is idle")
	for _, memory := range p.device {
		require(C.cudaFree(memory) == 0, "free")
	}
	require(C.cudaStreamDestroy(p.stream) == 0, "the stream goes")
	require(C.hirgen_exchange_destroy(p.handle) == code, "destroy has the code")
	require(lastError(nil) == report, "last_error(NULL) has the report")
	require(p.run() == C.HIRGEN_USAGE, "the handle is no more")
}

func main() {
	// The device, and what last_error(NULL) gives, belong to a thread.
	runtime.LockOSThread()
	role := os.Getenv("SURVIVOR_ROLE")
	if role != "replacement" {
		create("HIRGEN_PORT").outlive(role == "idler")
	}
	if role == "survivor" || role == "replacement" {
		second := create("SURVIVOR_PORT")
		second.expectRight()
		require(C.hirgen_exchange_destroy(second.handle) == C.HIRGEN_OK, "destroy")
	}
	fmt.Println("went on")
}
