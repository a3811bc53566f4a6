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

// Options say how a rank joins the others. The zero value leaves it all to the launcher: hirgen run, torchrun,
// Open MPI, PMI or Slurm.
type Options struct {
	// World is the number of ranks. If it is 0, the launcher's environment says it, and the four fields below it
	// are not read.
	World   int
	Rank    int    // of this process, from 0
	Device  int    // ordinal of its GPU
	Address string // host name or address of rank 0
	Port    int    // TCP port of rank 0

	// Timeout bounds every wait for other ranks, in Open and in calls. At least a second; 0 is a minute.
	Timeout time.Duration
	// Plans is a file of the GEMMs' algorithms, as the program writes it with --tune; empty: none.
	Plans string
}

// Open joins the other ranks, which all have to open the same program, and allocates its tensors on the device.
//
// Nobody can call the ranks back while they meet. When ctx is done before they have, Open returns its error, and what
// was begun goes on in the background: until they have met, and the program is closed, or until Timeout.
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
				_ = p.Close() // nobody is left to tell
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
		_ = p.Close() // the first error is the one to tell
		return nil, err
	}
	return p, nil
}

// Run makes one call, on all ranks, and waits for it: then the results can be read.
//
// When ctx is done first, Run returns its error and the call goes on, since other ranks wait for this one. What is
// asked of the program next waits for it, Close too, and results are undefined until another Run has returned nil. A
// call ends at the latest when Timeout has passed without any progress.
//
// An [*Error] other than of CodeUsage is for good: every later Run returns it, here and on all other ranks. The
// process goes on; it may close the program and open another one. Only when CUDA or NCCL do not come back from
// a call two seconds after they were told to does the process end, with the report on standard error.
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

// Status is nil, or the failure of this or another rank, which every Run returns from now on.
func (p *Program) Status(ctx context.Context) error {
	l := p.library
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	return failure(C.bridge_status(l.part))
}

// Close waits for a call that is under way, leaves the other ranks and frees the tensors. After a failure it returns
// that, and the memory of tensors is lost, since a rank that lives may still read it. A second Close does
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

// A Tensor is this rank's part of a tensor, in memory of the device that Open has allocated: the program is given no pointer
// of a caller, whose alignment it would have to refuse. T is its shape, row by row.
type Tensor[T any] struct {
	library *library
	index   C.size_t
	present bool
}

// bind finds a tensor in the library, and holds it to its type.
func bind[T any](t *Tensor[T], l *library, index int) error {
	found := l.part.tensors[index]
	*t = Tensor[T]{l, C.size_t(index), found.local_bytes != 0}
	if want := reflect.TypeFor[T]().Size(); t.present && uintptr(found.local_bytes) != want {
		return &Error{CodeEnvironment, fmt.Sprintf("the library has %d bytes of %s, and this package %d: they are of two folders",
			found.local_bytes, C.GoString(found.name), want)}
	}
	return nil
}

// Present reports whether this rank has a part of the tensor. Where it has none, Write and Read do nothing.
func (t *Tensor[T]) Present() bool { return t.present }

// Write copies from the host's memory to the device's. ctx ends the wait for what is under way; a copy that has begun
// is brief and not interrupted.
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

// Read copies from the device's memory to the host's. ctx is as in Write.
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

// A library is what a Program and its tensors have in C.
type library struct {
	turn chan struct{}  // who takes what is in it may use part, and puts it back
	part *C.bridge_part // nil: closed
}

// begin waits for its turn with a library that is open.
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

// end lets others have their turn.
func (l *library) end() { l.turn <- struct{}{} }

// failure is the error of an outcome, which it frees.
func failure(o C.bridge_outcome) error {
	if o.code == C.HIRGEN_OK {
		return nil
	}
	defer C.free(unsafe.Pointer(o.report))
	return &Error{Code(o.code), C.GoString(o.report)}
}
