package scaling

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// longPipeline makes a pipeline of about n operations.
type longPipeline struct {
	name string
	make func(n int) *model.Builder
	test int // the smaller n of TestLongPipelinesTakeLinearTime
}

// longPipelines have, between them, many weights, inputs, views of views, readers of one tensor, transfers and
// pipelines. A step could take a time that is quadratic in one of these numbers.
var longPipelines = []longPipeline{
	{"layers", layers, 2000}, {"products", products, 2000}, {"views", views, 2000}, {"open", open, 500},
	{"transfers", transfers, 500}, {"exchanges", exchanges, 300}, {"alternating", alternating, 2000}, {"zigzag", zigzag, 2000},
	{"few", few, 1000},
}

func startLong(name string, schedule ...string) *model.Builder {
	b := model.New(name).Param("D", 2).Param("S", 4).Param("M", 64).Param("K", 16).Param("N", 32)
	b.World().Axis("x", "D")
	for choice := range slices.Chunk(schedule, 2) {
		b.Schedule(choice[0], choice[1])
	}
	return b
}

// layers is a deep tensor-parallel MLP: two weights, a gather and a reduce-scatter in each
// layer. Only the first input, the weights and the sums are declared: the rest is propagated.
func layers(n int) *model.Builder {
	b := startLong("layers")
	b.Tensor("Y0", "Stream(S)", "DIDx", "M/(S*D)", "K")
	for i := 1; 7*i < n+7; i++ {
		name := func(text string) string { return fmt.Sprint(text, i) }
		before := fmt.Sprint("Y", i-1)
		b.Tensor(name("W"), "DIDx", "N/D", "K")
		b.Tensor(name("V"), "DIDx", "K", "N/D")
		b.Tensor(name("T"), "Stream(S)", "r(D)", "DIDx", "M/(S*D)", "K")
		b.Reshape(name("U"), before, "S", "1", "M/S", "K")
		b.Linear(name("Z"), name("U"), name("W"))
		b.Unary("relu", name("A"), name("Z"))
		b.Linear(name("P"), name("A"), name("V"))
		b.Reshape(name("R"), name("P"), "S", "D", "D", "M/(S*D)", "K")
		b.Reduce("sum", name("T"), name("R"), 1)
		b.Binary("add", name("Y"), name("T"), before)
	}
	return b
}

// few is a deep MLP of few rows without communication, in a CUDA graph.
func few(n int) *model.Builder {
	b := startLong("few", "preset", "none", "graph", "true")
	b.Tensor("Y0", "M", "K")
	b.Tensor("W", "K", "K")
	for i := 1; i <= n; i++ {
		b.Linear(fmt.Sprint("Y", i), fmt.Sprint("Y", i-1), "W")
	}
	return b
}

// open is a deep MLP with split weights, of which every fourth layer adds the first input. Only inputs and the output are declared:
// placements are derived.
func open(n int) *model.Builder {
	b := startLong("open", "preset", "none")
	b.Tensor("Y0", "M", "K")
	for i := 1; 6*i < n+6; i++ {
		name := func(text string) string { return fmt.Sprint(text, i) }
		b.Tensor(name("W"), "DIDx", "N/D", "K")
		b.Tensor(name("V"), "K", "DIDx", "N/D")
		b.Reshape(name("R"), name("W"), "N", "K")
		b.Reshape(name("S"), name("V"), "K", "N")
		b.Linear(name("Z"), fmt.Sprint("Y", i-1), name("R"))
		b.Unary("relu", name("A"), name("Z"))
		b.Linear(name("P"), name("A"), name("S"))
		before := fmt.Sprint("Y", i-1)
		if i%4 == 0 {
			before = "Y0"
		}
		b.Binary("add", name("Y"), name("P"), before)
	}
	return b
}

// products are independent matmuls, each with its own inputs.
func products(n int) *model.Builder {
	b := startLong("products")
	for i := range n {
		name := func(text string) string { return fmt.Sprint(text, i) }
		b.Tensor(name("A"), "DIDx", "M/D", "K")
		b.Tensor(name("B"), "K", "N")
		b.Matmul(name("C"), name("A"), name("B"))
	}
	return b
}

// views transposes an input again and again, which makes views of views. In place of every eighth transpose, it adds the
// latest view to a sum, and continues with the latest view plus first, a tensor that many statements read.
func views(n int) *model.Builder {
	b := startLong("views")
	b.Tensor("V0", "DIDx", "K", "K")
	b.Tensor("first", "DIDx", "K", "K")
	sum := "first"
	for i := 1; i < n; i++ {
		if i%8 == 0 {
			next := fmt.Sprint("sum", i)
			b.Binary("add", next, sum, fmt.Sprint("V", i-1))
			b.Binary("add", fmt.Sprint("V", i), "first", fmt.Sprint("V", i-1))
			sum = next
			continue
		}
		b.Permute(fmt.Sprint("V", i), fmt.Sprint("V", i-1), 0, 2, 1)
	}
	return b
}

// transfers are independent p2p gathers over CUDA IPC, each with a matmul.
func transfers(n int) *model.Builder {
	b := startLong("transfers", "pipeline", "p2p", "all.via", "ipc-get")
	for i := range n {
		name := func(text string) string { return fmt.Sprint(text, i) }
		b.Tensor(name("A"), "DIDx", "M/D", "K")
		b.Tensor(name("B"), "K", "N")
		b.Tensor(name("C"), "Stream(D)", "M/D", "N")
		b.Matmul(name("C"), name("A"), name("B"))
	}
	return b
}

// exchanges are sums of matmuls over ranks, each sum in one kernel with its transfers.
func exchanges(n int) *model.Builder {
	b := startLong("exchanges", "pipeline", "p2p", "all.via", "ipc-put", "all.copy", "sm", "all.signals", "batched", "all.fuse", "exchange")
	b.Tensor("Y0", "S", "M*4")
	for i := 1; 2*i < n+2; i++ {
		name := func(text string) string { return fmt.Sprint(text, i) }
		b.Tensor(name("W"), "DIDx", "M*4", "M*4")
		b.Tensor(name("Y"), "S", "M*4")
		b.Matmul(name("P"), fmt.Sprint("Y", i-1), name("W"))
		b.Reduce("sum", name("Y"), name("P"), 0)
	}
	return b
}

// alternating alternates operations of a pipeline with other operations. Most of these depend on nothing in the
// pipeline, so lowering moves them in front of it. The rest read its results, and so end it.
func alternating(n int) *model.Builder {
	b := startLong("alternating", "buffers", "free")
	b.Tensor("A0", "Stream(S)", "DIDx", "K")
	b.Tensor("B0", "DIDx", "K")
	for i := 1; 3*i < n+3; i++ {
		a, c := fmt.Sprint("A", i), fmt.Sprint("B", i)
		b.Unary("neg", a, fmt.Sprint("A", i-1))
		b.Unary("relu", c, fmt.Sprint("B", i-1))
		if i%5 == 0 {
			b.Tensor(fmt.Sprint("sum", i), "r(S)", "DIDx", "K")
			b.Reduce("sum", fmt.Sprint("sum", i), a, 0)
		}
	}
	return b
}

// zigzag propagates the Stream axis of C through all T and X, one after the other. Each X gets the axis from one operand and
// passes it to its other operand. The next X gets the axis from that operand.
func zigzag(n int) *model.Builder {
	b := startLong("zigzag")
	b.Tensor("A", "S", "K")
	b.Tensor("C", "Stream(S)", "K")
	for i := range n / 3 {
		b.Unary("neg", fmt.Sprint("T", i), "A")
	}
	b.Set("C", "T0")
	for i := 1; i < n/3; i++ {
		b.Binary("add", fmt.Sprint("X", i), fmt.Sprint("T", i-1), fmt.Sprint("T", i))
		b.Reduce("sum", fmt.Sprint("E", i), fmt.Sprint("X", i), 1)
	}
	return b
}

func (l longPipeline) build(tb testing.TB, n int) *model.Pipeline {
	tb.Helper()
	p, err := l.make(n).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
