package program

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// Options select how a rank joins the other ranks. With the zero value, everything comes from the environment of the
// launcher: hirgen run, torchrun, Open MPI, PMI or Slurm.
type Options struct {
	// World is the number of ranks. If it is 0, it comes from the launcher's environment, and the next four fields
	// are not read.
	World   int
	Rank    int    // number of this process, from 0
	Device  int    // ordinal of its GPU
	Address string // host name or address of rank 0
	Port    int    // TCP port of rank 0

	// Timeout bounds every wait for other ranks, in Open and in calls. It is at least a second; 0 stands for a minute.
	Timeout time.Duration
	// Plans is a file of GEMM algorithms that the program has written when it ran with --tune; empty: none.
	Plans string
}

// Open joins the other ranks, which must all open the same program, and allocates its tensors on the device.
//
// The ranks cannot be interrupted while they connect. If ctx is done first, Open returns the error of ctx. The connection
// then continues in the background, until it is complete and the program is closed, or until Timeout.
func Open(ctx context.Context, options Options) (*Program, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var p *Program
	opened := make(chan error, 1)
	go func() {
		var err error
		p, err = open(options)
		opened <- err
	}()
	select {
	case err := <-opened:
		return p, err
	case <-ctx.Done():
		go func() {
			if <-opened == nil {
				_ = p.Close() // Open has returned, so there is no caller for the error
			}
		}()
		return nil, ctx.Err()
	}
}

// open is Open without a context.
func open(options Options) (*Program, error) {
	for _, n := range []int{options.World, options.Rank, options.Device, options.Port} {
		if n < 0 || n > math.MaxInt32 {
			return nil, &Error{CodeUsage, fmt.Sprintf("options have the number %d", n)}
		}
	}
	c := C.hirgen_options{
		world: C.int32_t(options.World), rank: C.int32_t(options.Rank),
		device: C.int32_t(options.Device), port: C.int32_t(options.Port),
		timeout_seconds: C.double(options.Timeout.Seconds()),
	}
	if options.Address != "" {
		c.address = C.CString(options.Address)
		defer C.free(unsafe.Pointer(c.address))
	}
	if options.Plans != "" {
		c.plans = C.CString(options.Plans)
		defer C.free(unsafe.Pointer(c.plans))
	}
	l := &library{turn: make(chan struct{}, 1)}
	if err := failure(C.bridge_open(c, &l.part)); err != nil {
		return nil, err
	}
	l.turn <- struct{}{}
	p := &Program{library: l}
	if err := p.bind(); err != nil {
		_ = p.Close() // return the first error
		return nil, err
	}
	return p, nil
}

// Run executes the program once, together with all other ranks, and waits until the results can be read.
//
// If ctx is done first, Run returns the error of ctx. The call continues, because other ranks wait for this one. Later
// calls on the program, including Close, wait for its end, and results are undefined until another Run has returned nil.
// A call ends at the latest when Timeout has passed without progress.
//
// An [*Error] with another code than CodeUsage is permanent: every later Run returns it, on this and all other ranks. The
// process may close the program and open another one. If a call of CUDA or NCCL does not return within two seconds after
// it is aborted, the process ends with the report on standard error.
func (p *Program) Run(ctx context.Context) error {
	l := p.library
	if err := l.begin(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer l.end()
		done <- failure(C.bridge_run(l.part))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status returns nil, or the failure of this or another rank that every later Run returns.
func (p *Program) Status(ctx context.Context) error {
	l := p.library
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	return failure(C.bridge_status(l.part))
}

// Close waits for a running call, disconnects from the other ranks and frees the tensors. After a failure it returns the
// failure and does not free the memory of tensors, because another rank may still read it. A second Close does
// nothing.
func (p *Program) Close() error {
	l := p.library
	<-l.turn
	defer l.end()
	if l.part == nil {
		return nil
	}
	part := l.part
	l.part = nil
	return failure(C.bridge_close(part))
}

// A Tensor is this rank's shard of a tensor, in device memory that Open has allocated, so that its alignment suits the
// program. T is an array type with the shape of the shard, row-major.
type Tensor[T any] struct {
	library *library
	index   C.size_t
	present bool
}

// bind finds a tensor in the library, and checks that this rank's shard has the size of T in bytes.
func bind[T any](t *Tensor[T], l *library, index int) error {
	found := l.part.tensors[index]
	*t = Tensor[T]{l, C.size_t(index), found.local_bytes != 0}
	if want := reflect.TypeFor[T]().Size(); t.present && uintptr(found.local_bytes) != want {
		return &Error{CodeEnvironment, fmt.Sprintf("the library has %d bytes of %s, and this package %d: they are of two folders",
			found.local_bytes, C.GoString(found.name), want)}
	}
	return nil
}

// Present reports whether this rank has a shard of the tensor. If it has none, Write and Read do nothing.
func (t *Tensor[T]) Present() bool { return t.present }

// Write copies from the host's memory to the device's. If ctx is done while it waits for a running call, it returns the
// error of ctx. It does not interrupt a copy that has begun.
func (t *Tensor[T]) Write(ctx context.Context, from *T) error {
	if err := t.library.begin(ctx); err != nil {
		return err
	}
	defer t.library.end()
	if !t.present {
		return nil
	}
	return failure(C.bridge_write(t.library.part, t.index, unsafe.Pointer(from)))
}

// Read copies from the device's memory to the host's. It uses ctx like Write.
func (t *Tensor[T]) Read(ctx context.Context, to *T) error {
	if err := t.library.begin(ctx); err != nil {
		return err
	}
	defer t.library.end()
	if !t.present {
		return nil
	}
	return failure(C.bridge_read(t.library.part, t.index, unsafe.Pointer(to)))
}

// A library is the state that a Program shares with its tensors: the handle of the C library, and its lock.
type library struct {
	turn chan struct{}  // a lock for part: it holds one element while no call uses part
	part *C.bridge_part // nil if the program is closed
}

// begin locks the library. It returns the error of ctx, or ErrClosed if the program is closed.
func (l *library) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.part == nil {
		l.end()
		return ErrClosed
	}
	return nil
}

// end unlocks the library.
func (l *library) end() { l.turn <- struct{}{} }

// failure returns the error of an outcome, or nil, and frees the report of the outcome.
func failure(o C.bridge_outcome) error {
	if o.code == C.HIRGEN_OK {
		return nil
	}
	defer C.free(unsafe.Pointer(o.report))
	return &Error{Code(o.code), C.GoString(o.report)}
}
