package lowertest

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/eval"
)

// init raises the GC target. Interpreters allocate many short-lived values in a small heap. With Go's default GC
// target, tests spend a third of their time on garbage collection.
func init() { debug.SetGCPercent(400) }

// shards returns the shards that each rank holds of the tensors in list.
func shards(p *model.Pipeline, list []*model.Tensor, values map[string]*eval.Array) []map[string]*interp.Array {
	ranks := make([]map[string]*interp.Array, p.Meshes[0].Size())
	for r := range ranks {
		ranks[r] = map[string]*interp.Array{}
		for _, tensor := range list {
			a, ok := eval.Shard(tensor, values[tensor.Name], p.Meshes[0].Ranks[r])
			if ok {
				ranks[r][tensor.Name] = a
			}
		}
	}
	return ranks
}

// Oracle has the inputs and the expected outputs of every rank. If it allows for rounding, it also has an upper bound
// of the error of each output element; otherwise the bounds are nil and outputs must be equal.
type Oracle struct {
	Inputs, want, bounds []map[string]*interp.Array
	Values, Bounds       map[string]*eval.Array // whole tensors
}

// WrongError is the error of a program that ran and computed wrong results.
type WrongError struct{ Message string }

func (e *WrongError) Error() string { return e.Message }

// NewOracle is OracleOf for a test. It fails the test on an error.
func NewOracle(t *testing.T, p *model.Pipeline, seed uint64) *Oracle {
	t.Helper()
	o, err := OracleOf(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// OracleOf returns the oracle of a pipeline on inputs that a seed picks. It allows for rounding unless the check is exact.
func OracleOf(p *model.Pipeline, seed uint64) (*Oracle, error) {
	inputs := eval.Fill(p, seed)
	if eval.Exact(p) {
		values, err := eval.Run(p, inputs)
		if err != nil {
			return nil, err
		}
		return &Oracle{Inputs: shards(p, p.Inputs, inputs), want: shards(p, p.Outputs, values), Values: values}, nil
	}
	return Within(p, inputs)
}

// Within returns the oracle of a pipeline on the given inputs, with bounds for rounding.
func Within(p *model.Pipeline, inputs map[string]*eval.Array) (*Oracle, error) {
	values, bounds, err := eval.Bounds(p, inputs)
	if err != nil {
		return nil, err
	}
	return &Oracle{shards(p, p.Inputs, inputs), shards(p, p.Outputs, values), shards(p, p.Outputs, bounds), values, bounds}, nil
}

// Check interprets a program on one node and its fallback variant, if there is one, on the Partitions, and compares every rank's
// outputs.
func (o *Oracle) Check(program *hostir.Program, seed uint64) error { return o.Orders(program)(seed) }

// Orders returns a function that does what Check does for a seed. The program must not change between its calls.
func (o *Oracle) Orders(program *hostir.Program) (check func(seed uint64) error) {
	checks := []func(uint64) error{o.OrdersOn(nil, program)}
	if program.Fallback != nil {
		for _, nodes := range Partitions(len(o.Inputs)) {
			on := o.OrdersOn(nodes, program.Fallback)
			checks = append(checks, func(seed uint64) error {
				if err := on(seed); err != nil {
					return fmt.Errorf("nodes %v: %w", nodes, err)
				}
				return nil
			})
		}
	}
	return func(seed uint64) error {
		for _, check := range checks {
			if err := check(seed); err != nil {
				return err
			}
		}
		return nil
	}
}

// Partitions returns ways to place ranks on nodes: all on one, one rank per node, two halves, even and odd ranks, and
// the last rank alone.
func Partitions(ranks int) [][]int {
	one, own, halves, other, last := make([]int, ranks), make([]int, ranks), make([]int, ranks), make([]int, ranks), make([]int, ranks)
	for r := range ranks {
		own[r], halves[r], other[r], last[r] = r, 2*r/ranks, r%2, (r+1)/ranks
	}
	return [][]int{one, own, halves, other, last}
}

// OrdersOn interprets one program in the orders of execution that seeds pick, and compares every rank's outputs. nodes
// has the node of each rank; if it is nil, all ranks share memory. The program is issued once.
func (o *Oracle) OrdersOn(nodes []int, program *hostir.Program) (check func(seed uint64) error) {
	var issued *interp.Issued
	return func(seed uint64) (err error) {
		if issued == nil {
			if issued, err = interp.Issue(nodes, program, o.Inputs); err != nil {
				return err
			}
		}
		got, err := issued.Run(seed)
		if err != nil {
			return err
		}
		return o.Compare(got, seed)
	}
}

// Compare compares every rank's outputs with the expected ones. seed is for the error message.
func (o *Oracle) Compare(got []map[string]*interp.Array, seed uint64) error {
	for r, want := range o.want {
		for name, a := range want {
			b := got[r][name]
			if b == nil || len(a.Data) != len(b.Data) {
				return &WrongError{fmt.Sprintf("rank %d has no output %s of %d elements", r, name, len(a.Data))}
			}
			var bounds []float64
			if o.bounds != nil {
				bounds = o.bounds[r][name].Data
			}
			if wrong := eval.Wrong(b.Data, a.Data, bounds); wrong > 0 {
				return &WrongError{fmt.Sprintf("rank %d: %d of %d elements of %s are wrong (seed %d)\n got %v\nwant %v",
					r, wrong, len(a.Data), name, seed, b.Data[:min(16, len(b.Data))], a.Data[:min(16, len(a.Data))])}
			}
		}
	}
	return nil
}
