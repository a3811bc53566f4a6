package collective

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hirgen/hirgen/model/domain"
)

// TestDeliver compares what each of three ranks receives with lists written by hand. The operand of the q-th rank,
// counted from 1, is [q1], or [q1, q2, q3] if the operand has a slice for each rank. The root is the second rank.
func TestDeliver(t *testing.T) {
	one := [][]float64{{11}, {21}, {31}}
	all := [][]float64{{11, 12, 13}, {21, 22, 23}, {31, 32, 33}}
	sum := Arithmetic{Combine: domain.BinaryFn("sum")}
	for kind, c := range map[Type]struct {
		in   [][]float64
		want [3][]float64
	}{
		Allgather:     {one, [3][]float64{{11, 21, 31}, {11, 21, 31}, {11, 21, 31}}},
		Allreduce:     {one, [3][]float64{{63}, {63}, {63}}},
		ReduceScatter: {all, [3][]float64{{63}, {66}, {69}}},
		Gather:        {one, [3][]float64{nil, {11, 21, 31}, nil}},
		Scatter:       {[][]float64{nil, {21, 22, 23}, nil}, [3][]float64{{21}, {22}, {23}}},
		Reduce:        {one, [3][]float64{nil, {63}, nil}},
		Broadcast:     {[][]float64{nil, {21}, nil}, [3][]float64{{21}, {21}, {21}}},
		AllToAll:      {all, [3][]float64{{11, 21, 31}, {12, 22, 32}, {13, 23, 33}}},
	} {
		row := kind.Row()
		sent, received := row.Slices(3)
		for q, want := range c.want {
			got, err := row.Deliver(c.in, 1, int64(q), 1, sum)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: rank %d receives %v and not %v: %v", kind, q, got, want, err)
			}
			if want != nil && int64(len(want)) != received || c.in[q] != nil && int64(len(c.in[q])) != sent {
				t.Errorf("%s: %d slices for %v, and %d for %v", kind, sent, c.in[q], received, want)
			}
			if sends, receives := row.Sides(q == 1); sends != (c.in[q] != nil) || receives != (want != nil) {
				t.Errorf("%s: rank %d sends %t, receives %t", kind, q, sends, receives)
			}
		}
	}
}

// TestDeliverRefuses checks that Deliver returns an error and does not panic for wrong operands, counts and roots, and
// without a Combine function.
func TestDeliverRefuses(t *testing.T) {
	in := [][]float64{{1, 2}, {3}}
	for _, c := range []struct {
		kind        Type
		count, root int64
	}{{Broadcast, 1, 2}, {Gather, 1, -1}, {Scatter, 1, 1}, {Allgather, 2, -1}, {Allreduce, 1, -1}} {
		if got, err := c.kind.Row().Deliver(in, c.count, 1, c.root, Arithmetic{}); err == nil {
			t.Errorf("%s of %d elements from rank %d delivers %v", c.kind, c.count, c.root, got)
		}
	}
}

func TestInFP32RoundsEachStep(t *testing.T) {
	const big = 1 << 24 // adding 1 to it in fp32 has no effect
	got, err := Allreduce.Row().Deliver([][]float64{{big}, {1}, {1}}, 1, 0, -1, InFP32("sum", domain.FP32))
	if err != nil || got[0] != big {
		t.Errorf("the sum is %v: %v", got, err)
	}
	if got, _ = Allreduce.Row().Deliver([][]float64{{256}, {1}}, 1, 0, -1, InFP32("sum", domain.BF16)); got[0] != 256 {
		t.Errorf("the sum in bf16 is %v", got)
	}
}

// TestInFP32DropsNaN checks that a max or min is NaN only if all ranks have NaN, and a sum if any rank has NaN.
func TestInFP32DropsNaN(t *testing.T) {
	in := [][]float64{{math.NaN(), 2, math.NaN()}, {2, math.NaN(), math.NaN()}}
	for fn, want := range map[string]float64{"max": 2, "min": 2, "sum": math.NaN()} {
		got, err := Allreduce.Row().Deliver(in, 3, 0, -1, InFP32(fn, domain.FP32))
		if !cmp.Equal(got, []float64{want, want, math.NaN()}, cmpopts.EquateNaNs()) {
			t.Errorf("the %s is %v: %v", fn, got, err)
		}
	}
}

// TestRowsDiffer checks that a type, a call or a form identifies exactly one row.
func TestRowsDiffer(t *testing.T) {
	for _, r := range Rows() {
		if r.Type.Row() != r || Of(r.Call) != r || r.Form.Type() != r.Type {
			t.Errorf("two rows are alike: %+v", *r)
		}
	}
	if Of("send") != nil || Type("Unknown").Row() != nil || (Form{FromRoot: true, Reduces: true}).Type() != "" {
		t.Error("an unknown collective has a row")
	}
}

func TestRing(t *testing.T) {
	for kind, want := range map[Type][2]float64{
		Allgather: {300, 3}, Gather: {300, 3}, ReduceScatter: {75, 3}, AllToAll: {75, 3}, Scatter: {75, 3},
		Allreduce: {150, 6}, Broadcast: {100, 3}, Reduce: {100, 3}, SendRecv: {100, 3},
	} {
		if bytes, steps := kind.Row().Ring(100, 0, 4); bytes != want[0] || steps != want[1] {
			t.Errorf("%s sends %v bytes in %v steps, and not %v", kind, bytes, steps, want)
		}
	}
}

// TestOwn checks the only overlap of an operand and a result that NCCL allows, on rank 2 of 4.
func TestOwn(t *testing.T) {
	for kind, want := range map[Type]string{
		Allgather: "0 2 true", Allreduce: "0 0 true", ReduceScatter: "2 0 true", Gather: "0 2 true", Scatter: "2 0 true",
		Reduce: "0 0 true", Broadcast: "0 0 true", AllToAll: "2 2 false", SendRecv: "0 0 true",
	} {
		sent, received, ok := kind.Row().Own(4, 2)
		if got := fmt.Sprint(sent, received, ok); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
