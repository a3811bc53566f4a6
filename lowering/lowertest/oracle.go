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

// Interpreters make much that is soon of no use, in a heap that stays small: with Go's default, tests spend a third of
// their time on collecting it.
func init() { debug.SetGCPercent(400) }

// shards gives what each rank holds of the tensors named in values.
func shards(p *model.Pipeline, list []*model.Tensor, values map[string]*eval.Array) []map[string]*interp.Array {
	ranks := make([]map[string]*interp.Array, p.Meshes[0].Size())
	for r := range ranks {
		ranks[r] = map[string]*interp.Array{}
		for _, tensor := range list {
			a, ok := eval.Shard(tensor, values[tensor.Name], p.Meshes[0].Ranks[r])
			if ok {
				ranks[r][tensor.Name] = &interp.Array{Shape: a.Shape, Data: a.Data}
			}
		}
	}
	return ranks
}

// Oracle is what every rank must hold of the outputs, with the inputs for it. Outputs
// that cannot be exact are compared within the tolerance that the program has, too.
type Oracle struct {
	Inputs, want []map[string]*interp.Array
	tolerance    map[string]float64
	rms          map[string]float64 // of the whole outputs
}

// NewOracle is OracleOf for a test, which fails where there is none.
func NewOracle(t *testing.T, p *model.Pipeline, seed uint64) *Oracle {
	t.Helper()
	o, err := OracleOf(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// OracleOf evaluates a pipeline on inputs that a seed picks.
func OracleOf(p *model.Pipeline, seed uint64) (*Oracle, error) {
	inputs := eval.Fill(p, seed)
	values, err := eval.Run(p, inputs)
	if err != nil {
		return nil, err
	}
	o := &Oracle{
		Inputs: shards(p, p.Inputs, inputs), want: shards(p, p.Outputs, values),
		tolerance: map[string]float64{}, rms: map[string]float64{},
	}
	for out, tolerance := range eval.Tolerances(p) {
		o.tolerance[out.Name], o.rms[out.Name] = tolerance, eval.RootMeanSquare(values[out.Name])
	}
	return o, nil
}

// Check interprets a program on one node, and the fallback variant on several, and compares every
// rank's outputs.
func (o *Oracle) Check(program *hostir.Program, seed uint64) error { return o.Orders(program)(seed) }

// Orders gives Check for several orders of a program, which does not change any more.
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

// Partitions are ways to spread ranks over nodes: all on one, each on its own, halves, every other
// one, and the last one by itself.
func Partitions(ranks int) [][]int {
	one, own, halves, other, last := make([]int, ranks), make([]int, ranks), make([]int, ranks), make([]int, ranks), make([]int, ranks)
	for r := range ranks {
		own[r], halves[r], other[r], last[r] = r, 2*r/ranks, r%2, (r+1)/ranks
	}
	return [][]int{one, own, halves, other, last}
}

// OrdersOn interprets one program on nodes, one number a rank, in the orders of execution that seeds pick, and
// compares every rank's outputs; without nodes, all ranks share memory. The program is issued once.
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

// Compare compares every rank's outputs with what they must be; seed is for the message.
func (o *Oracle) Compare(got []map[string]*interp.Array, seed uint64) error {
	for r, want := range o.want {
		for name, a := range want {
			b := got[r][name]
			if b == nil {
				return fmt.Errorf("rank %d has no output %s", r, name)
			}
			if len(a.Data) != len(b.Data) {
				return fmt.Errorf("rank %d: %s has %d elements, want %d", r, name, len(b.Data), len(a.Data))
			}
			if wrong := eval.Wrong(b.Data, a.Data, o.tolerance[name], o.rms[name]); wrong > 0 {
				return fmt.Errorf("rank %d: %d of %d elements of %s are wrong (seed %d)", r, wrong, len(a.Data), name, seed)
			}
		}
	}
	return nil
}
