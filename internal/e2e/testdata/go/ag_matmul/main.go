// Command ag_matmul multiplies matrices on each of two ranks, with the Go package of an emitted folder. In one call,
// rank 0 also stops waiting at a deadline.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"example/agmatmul"
)

// aAt returns an element of A in a row of slice s of a rank, and bAt one of B. They are small integers, so sums
// are exact.
func aAt(s, rank, row, k int) float32 { return float32((3*s+5*rank+7*row+k)%3 - 1) }
func bAt(k, n int) float32            { return float32((k+2*n)%5 - 2) }

func require(holds bool, what string, about ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, append([]any{"not so:", what}, about...)...)
		os.Exit(1)
	}
}

func main() {
	rank, err := strconv.Atoi(os.Getenv("HIRGEN_RANK"))
	require(err == nil && len(os.Args) == 2, "arguments")
	ctx := context.Background()
	over, cancel := context.WithCancel(ctx)
	cancel()

	_, err = agmatmul.Open(over, agmatmul.Options{})
	require(errors.Is(err, context.Canceled), "Open takes no context that is over", err)
	var failure *agmatmul.Error
	_, err = agmatmul.Open(ctx, agmatmul.Options{World: 1, Rank: 1})
	require(errors.As(err, &failure) && failure.Code == agmatmul.CodeUsage, "Open takes no rank beyond the world", err)

	p, err := agmatmul.Open(ctx, agmatmul.Options{Timeout: 20 * time.Second})
	require(err == nil, "Open", err)
	write(ctx, p, rank)
	giveUp(ctx, p, rank, os.Args[1])
	require(p.Run(ctx) == nil && p.Status(ctx) == nil, "Run")
	read(ctx, p)
	require(p.Run(over) != nil && p.A.Write(over, new(agmatmul.A)) != nil, "no call takes a context that is over")
	require(p.Close() == nil && p.Close() == nil, "Close")
	require(errors.Is(p.Run(ctx), agmatmul.ErrClosed) && errors.Is(p.C.Read(ctx, nil), agmatmul.ErrClosed), "the program is closed")
	fmt.Println("all is right")
}

func write(ctx context.Context, p *agmatmul.Program, rank int) {
	a, b := new(agmatmul.A), new(agmatmul.B)
	for s := range a {
		for row := range a[s][0] {
			for k := range a[s][0][row] {
				a[s][0][row][k] = agmatmul.ToBF16(aAt(s, rank, row, k))
			}
		}
	}
	for k := range b {
		for n := range b[k] {
			b[k][n] = agmatmul.ToBF16(bAt(k, n))
		}
	}
	err := errors.Join(p.A.Write(ctx, a), p.B.Write(ctx, b))
	require(err == nil && p.A.Present(), "Write", err)
}

// giveUp makes rank 0 wait, with a deadline, for a call that rank 1 makes only after rank 0 has stopped waiting.
func giveUp(ctx context.Context, p *agmatmul.Program, rank int, gaveUp string) {
	if rank == 0 {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		require(errors.Is(p.Run(short), context.DeadlineExceeded), "Run ends at the deadline")
		again, cancelAgain := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancelAgain()
		require(errors.Is(p.C.Read(again, new(agmatmul.C)), context.DeadlineExceeded), "Read waits for the call")
		require(os.WriteFile(gaveUp, nil, 0o600) == nil, "rank 1 is told")
		return
	}
	for _, err := os.Stat(gaveUp); err != nil; _, err = os.Stat(gaveUp) {
		time.Sleep(10 * time.Millisecond)
	}
	require(p.Run(ctx) == nil, "the call that rank 0 made")
}

func read(ctx context.Context, p *agmatmul.Program) {
	c := new(agmatmul.C)
	require(p.C.Read(ctx, c) == nil, "Read")
	inner := len(agmatmul.B{})
	for s := range c {
		for from := range c[s] {
			for row := range c[s][from] {
				for n, got := range c[s][from][row] {
					want := float32(0)
					for k := range inner {
						want += aAt(s, from, row, k) * bAt(k, n)
					}
					require(got.Float32() == want, "C is A times B", s, from, row, n, got, want)
				}
			}
		}
	}
	require(len(c.Flat()) == len(c)*len(c[0])*len(c[0][0])*len(c[0][0][0]), "Flat has all elements")
}
