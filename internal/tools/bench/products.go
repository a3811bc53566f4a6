package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// productsAlone returns a pipeline that runs the given GEMMs one after the other on every rank, and nothing else.
func productsAlone(products []cost.Product, ranks int) (*model.Pipeline, error) {
	b := model.New("products")
	b.World().Axis("x", strconv.Itoa(ranks))
	var outputs []string
	for i, p := range products {
		c := fmt.Sprintf("C%d", i+1)
		b.Op(fmt.Sprintf("%s = %s, dtype=%s)", c, callOf(b, p, strconv.Itoa(i+1)), p.Result))
		outputs = append(outputs, c)
	}
	return b.Outputs(outputs...).Build()
}

// callOf declares the operands of a GEMM, with a number in their names, and returns the text of the operation up to its operands.
func callOf(b *model.Builder, p cost.Product, number string) string {
	a, w, s, t := "A"+number, "B"+number, "S"+number, "T"+number
	declare(b, a, p.DType, p.Batch, p.M, p.K)
	if !p.Transposed {
		declare(b, w, p.TypeB, p.Batch, p.K, p.N)
		return fmt.Sprintf("matmul(%s, %s", a, w)
	}
	declare(b, w, p.TypeB, p.Batch, p.N, p.K)
	switch {
	case p.BlockScales:
		declare(b, s, domain.FP32, p.Batch, p.M, p.K/domain.BlockRow)
		declare(b, t, domain.FP32, p.Batch, p.N/domain.BlockRow, p.K/domain.BlockRow)
		return fmt.Sprintf("block_linear(%s, %s, %s, %s", a, w, s, t)
	case p.RowScales:
		declare(b, s, domain.FP32, p.Batch, p.M)
		declare(b, t, domain.FP32, p.Batch, p.N)
		return fmt.Sprintf("scaled_linear(%s, %s, %s, %s", a, s, w, t)
	}
	return fmt.Sprintf("linear(%s, %s", a, w)
}

// declare adds a tensor that is whole on every rank. It omits the first extent if that is 1.
func declare(b *model.Builder, name string, dtype domain.DType, extents ...int64) {
	var axes []string
	for i, extent := range extents {
		if i > 0 || extent > 1 {
			axes = append(axes, strconv.FormatInt(extent, 10))
		}
	}
	b.Tensor(name, axes...).DType(dtype)
}

// flops returns the number of floating-point operations of some GEMMs.
func flops(products []cost.Product) float64 {
	sum := 0.0
	for _, p := range products {
		sum += p.Flops()
	}
	return sum
}

// spelled returns a text that identifies a list of GEMMs to time.
func spelled(products []cost.Product) string {
	var words []string
	for _, p := range products {
		p.Pos, p.Time, p.Peak = diag.Pos{}, 0, 0
		words = append(words, fmt.Sprint(p))
	}
	return strings.Join(words, " ")
}
