package interp

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
)

// crossed gathers two halves of A on two communicators, each with a separate stream. ORDER is a condition: the ranks
// for which it holds gather the second half first.
const crossed = `calls crossed from "spec.yaml"
streams 1
Param(name D, spec "D", value 2)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Team(name x_, mesh mesh_world, where "x")
Team(name y_, mesh mesh_world, where "y")
Argument(name A, tensor "A", type fp32, used, elements 8)
Argument(name C, tensor "C", type fp32, output, used, elements 16)
Events(name ready_, label "ready", count 1, where kGather)
Events(name done_, label "done", count 2, where kGather)
Label(name kGather, text "gather")

Let(name rank)
EventRecord(event ready_, index 0, on caller) @5:5 kGather
StreamWait(event ready_, index 0, on x_.stream) @5:5 kGather
StreamWait(event ready_, index 0, on y_.stream) @5:5 kGather
If(cond ORDER): @5:5
  NcclCall(kind allgather, in A + 4, out C + 8, count 4, type fp32, on y_.stream, team y_) @5:5 kGather
  NcclCall(kind allgather, in A, out C, count 4, type fp32, on x_.stream, team x_) @5:5 kGather
Else:
  NcclCall(kind allgather, in A, out C, count 4, type fp32, on x_.stream, team x_) @5:5 kGather
  NcclCall(kind allgather, in A + 4, out C + 8, count 4, type fp32, on y_.stream, team y_) @5:5 kGather
EventRecord(event done_, index 0, on x_.stream) @5:5 kGather
EventRecord(event done_, index 1, on y_.stream) @5:5 kGather
StreamWait(event done_, index 0, on caller) @5:5 kGather
StreamWait(event done_, index 1, on caller) @5:5 kGather
`

// TestSerialized runs two collectives that ranks issue in different orders, on separate communicators and streams. They
// complete if both can run at the same time, and deadlock otherwise. If all ranks issue them in the same order, they
// always complete.
func TestSerialized(t *testing.T) {
	inputs := []map[string]*Array{}
	for r := range 2 {
		a := &Array{Shape: []int64{8}, Data: make([]float64, 8)}
		for i := range a.Data {
			a.Data[i] = float64(8*r + i)
		}
		inputs = append(inputs, map[string]*Array{"A": a})
	}
	type run func(*calls.Program, []int, []map[string]*Array, uint64) ([]map[string]*Array, error)
	for _, c := range []struct {
		order string
		run   run
		hangs bool
	}{
		{"rank == 0", Run, false}, {"rank == 0", RunSerialized, true},
		{"rank == 2", Run, false}, {"rank == 2", RunSerialized, false},
	} {
		p, err := text.Parse("calls", strings.Replace(crossed, "ORDER", c.order, 1))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(4) {
			got, err := c.run(p, nil, inputs, seed)
			switch {
			case c.hangs:
				if err == nil || !strings.HasPrefix(err.Error(), "deadlock") {
					t.Errorf("%s: it does not hang: %v", c.order, err)
				}
			case err != nil:
				t.Errorf("%s: %v", c.order, err)
			case got[0]["C"].Data[12] != 12 || got[1]["C"].Data[7] != 11:
				t.Errorf("%s: %v", c.order, got[0]["C"].Data)
			}
		}
	}
}
