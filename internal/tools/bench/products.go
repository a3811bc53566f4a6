package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// productsAlone returns a pipeline that runs the given GEMMs one after the other on every rank, and nothing else.
func productsAlone(products []cost.Product, ranks int) (*model.Pipeline, error) {
	b := model.New("products").DType(products[0].DType)
	b.World().Axis("x", strconv.Itoa(ranks))
	var outputs []string
	for i, p := range products {
		a, w, c := fmt.Sprintf("A%d", i+1), fmt.Sprintf("B%d", i+1), fmt.Sprintf("C%d", i+1)
		declare(b, a, p.DType, p.Batch, p.M, p.K)
		op := "matmul"
		if p.Transposed && p.Batch == 1 {
			op = "linear"
			declare(b, w, p.DType, 1, p.N, p.K)
		} else {
			declare(b, w, p.DType, p.Batch, p.K, p.N)
		}
		b.Op(fmt.Sprintf("%s = %s(%s, %s)", c, op, a, w))
		outputs = append(outputs, c)
	}
	return b.Outputs(outputs...).Build()
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
		words = append(words, fmt.Sprintf("%dx%dx%dx%d%s%v", p.Batch, p.M, p.N, p.K, p.DType, p.Transposed))
	}
	return strings.Join(words, " ")
}
