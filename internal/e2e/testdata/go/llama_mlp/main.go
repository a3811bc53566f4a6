// Command llama_mlp computes an MLP on each of two ranks, with the Go package of an emitted folder, and compares the
// result with a computation in float64.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"example/llamamlp"
)

// value returns element [i, j] of a whole tensor, given by number. It is exact in bf16.
func value(tensor, i, j int) float64 { return float64((37*tensor+11*i+5*j)%17-8) / 16 }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	rank, err := strconv.Atoi(os.Getenv("HIRGEN_RANK"))
	fail(err)
	p, err := llamamlp.Open(ctx, llamamlp.Options{})
	fail(err)

	x, gamma, wg, wu, w2, y := new(llamamlp.X), new(llamamlp.Gamma), new(llamamlp.Wg), new(llamamlp.Wu), new(llamamlp.W2), new(llamamlp.Y)
	columns := len(wg[0])
	for i := range x {
		for k := range x[i] {
			x[i][k], gamma[k] = llamamlp.ToBF16(float32(value(0, i, k))), llamamlp.ToBF16(float32(value(1, 0, k)))
		}
	}
	for n := range columns {
		for k := range wg[0][n] {
			wg[0][n][k] = llamamlp.ToBF16(float32(value(2, rank*columns+n, k)))
			wu[0][n][k] = llamamlp.ToBF16(float32(value(3, rank*columns+n, k)))
			w2[0][k][n] = llamamlp.ToBF16(float32(value(4, rank*columns+n, k)))
		}
	}
	fail(errors.Join(p.X.Write(ctx, x), p.Gamma.Write(ctx, gamma), p.Wg.Write(ctx, wg), p.Wu.Write(ctx, wu), p.W2.Write(ctx, w2)))
	fail(p.Run(ctx))
	fail(p.Y.Read(ctx, y))
	for i := range y {
		for k, want := range row(i, len(x[i]), 2*columns) {
			if got := float64(y[i][k].Float32()); !(math.Abs(got-want) <= 0.03*(1+math.Abs(want))) {
				fail(fmt.Errorf("Y[%d][%d] is %v, want %v", i, k, got, want))
			}
		}
	}
	fail(p.Close())
	fmt.Println("all is right")
}

// row returns row i of Y = X + (silu(U Wg) * (U Wu)) W2, U = rms_norm(X). columns is the whole inner extent.
func row(i, size, columns int) []float64 {
	squares := 0.0
	for k := range size {
		squares += value(0, i, k) * value(0, i, k)
	}
	scale := 1 / math.Sqrt(squares/float64(size)+1e-5)
	y := make([]float64, size)
	for n := range columns {
		gate, up := 0.0, 0.0
		for k := range size {
			u := value(0, i, k) * scale * value(1, 0, k)
			gate, up = gate+u*value(2, n, k), up+u*value(3, n, k)
		}
		for k := range size {
			y[k] += gate / (1 + math.Exp(-gate)) * up * value(4, n, k)
		}
	}
	for k := range size {
		y[k] += value(0, i, k)
	}
	return y
}
