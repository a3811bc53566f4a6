// Command survivor does what survivor.c does, with the Go package of the folder: it goes on after a peer has failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example/exchange"
)

func require(holds bool, what string, about ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, append([]any{"not so:", what}, about...)...)
		os.Exit(1)
	}
}

func number(name string) float64 {
	value, err := strconv.ParseFloat(os.Getenv(name), 64)
	require(err == nil, name+" is a number")
	return value
}

func fill(elements []exchange.BF16, value float32) {
	for i := range elements {
		elements[i] = exchange.ToBF16(value)
	}
}

// open opens the program at the port in an environment variable, and fills B with twos.
func open(ctx context.Context, port string) *exchange.Program {
	rank := int(number("HIRGEN_RANK"))
	p, err := exchange.Open(ctx, exchange.Options{
		World: int(number("HIRGEN_WORLD")), Rank: rank, Device: rank, Address: "127.0.0.1", Port: int(number(port)),
		Timeout: time.Duration(number("SURVIVOR_TIMEOUT") * float64(time.Second)),
	})
	require(err == nil, "Open", err)
	b := new(exchange.B)
	fill(b.Flat(), 2)
	require(p.B.Write(ctx, b) == nil, "Write")
	return p
}

// call makes call n of the program, and checks its results unless it fails. Adjacent calls have different
// results.
func call(ctx context.Context, p *exchange.Program, n int) error {
	a, c := new(exchange.A), new(exchange.C)
	factor := float32(1 + n%4)
	fill(a.Flat(), factor)
	require(p.A.Write(ctx, a) == nil, "Write")
	if err := p.Run(ctx); err != nil {
		return err
	}
	require(p.C.Read(ctx, c) == nil, "Read")
	for i, element := range c.Flat() {
		require(element.Float32() == factor*float32(2*len(exchange.B{})), "C is 2 K times A", i, element)
	}
	return nil
}

// outlive runs the program until it fails, and checks the errors. If idles is set, it makes three calls and
// then only asks for the status.
func outlive(ctx context.Context, p *exchange.Program, idles bool) {
	var err error
	last := time.Now()
	for calls := 0; err == nil; calls++ {
		last = time.Now()
		if idles && calls >= 3 {
			time.Sleep(10 * time.Millisecond)
			err = p.Status(ctx)
		} else {
			err = call(ctx, p, calls)
		}
	}
	var failure, again *exchange.Error
	require(errors.As(err, &failure), "a failure is an Error", err)
	fmt.Printf("failed after %.1f s: %v\n", time.Since(last).Seconds(), err)
	require(failure.Code == exchange.CodePeer || failure.Code == exchange.CodeTimeout, "its code is that of a peer", err)
	require(strings.Contains(failure.Report, "rank 1"), "the report names rank 1", err)
	require(errors.As(p.Run(ctx), &again) && *again == *failure, "Run has the same error", again)
	require(p.C.Read(ctx, new(exchange.C)) == nil, "the device does other work")
	require(errors.As(p.Close(), &again) && *again == *failure, "so has Close", again)
	require(errors.Is(p.Run(ctx), exchange.ErrClosed), "the program is closed")
}

func expectRight(ctx context.Context, p *exchange.Program) {
	for n := range 3 {
		require(call(ctx, p, n) == nil, "a call of the second program")
	}
	require(p.Close() == nil, "Close")
}

func main() {
	ctx := context.Background()
	role := os.Getenv("SURVIVOR_ROLE")
	if role != "replacement" {
		outlive(ctx, open(ctx, "HIRGEN_PORT"), role == "idler")
	}
	if role == "survivor" || role == "replacement" {
		expectRight(ctx, open(ctx, "SURVIVOR_PORT"))
	}
	fmt.Println("went on")
}
