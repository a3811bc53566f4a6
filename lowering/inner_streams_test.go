package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestStreamAxesAnywhere checks Stream axes in unusual positions: after other axes, in operations that reduce,
// broadcast or reshape adjacent axes, and next to an axis that is split over ranks.
func TestStreamAxesAnywhere(t *testing.T) {
	for _, c := range []struct{ name, tensors, op, schedule string }{
		{"a reduction of an axis behind it", "{A: [2, 2, 3], C: [2, Stream(2)]}", "C = min(A, axis=2)", ""},
		{"a reshape beside it", "{A: [3, 2, 2], B: [1, 3, 2, Stream(2)]}", "B = reshape(A, shape=[1, 3, 2, 2])\n  - C = set(B)", ""},
		{"a reshape of what is streamed along an inner axis", "{A: [2, 2, 2], T: [2, 2, Stream(2)]}",
			"M = relu(A)\n  - T = set(M)\n  - B = reshape(M, shape=[2, 4])", ""},
		{"a broadcast of what is folded", "{A: [2, 3, 2, 2], C: [2, 3, Stream(2), 2]}", "C = softmax(A, axis=1)", ""},
		{"a rank's slices, scattered", "{A: [DIDx, 4], C: [Stream(2), DIDx, 2]}", "C = reshape(A)", "preset: eager"},
		{"a split axis that is left", "{A: [DIDx, 2, 3], C: [Stream(2), DIDx, 3]}", "C = set(A)", "pipeline: broadcast"},
		{"the same at a distance", "{A: [DIDx, 2, 3], C: [Stream(2), DIDx, 3]}", "C = set(A)", "pipeline: p2p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf("hirgen: 1\nname: p\nmesh: {x: 2}\ndtype: fp32\ntensors: %s\nops:\n  - %s\nschedule: {%s}\n", c.tensors, c.op,
				c.schedule)
			p, err := model.Load("spec.yaml", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			followPasses(t, p, lowertest.NewOracle(t, p, 7))
		})
	}
}
