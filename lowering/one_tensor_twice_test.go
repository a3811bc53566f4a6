package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestOneTensorTwiceInAProduct checks a tensor that is both operands of a linear. A pass may replace only the first
// operand by a copy.
func TestOneTensorTwiceInAProduct(t *testing.T) {
	program := keepsResult(t, lowertest.Pipeline(t, 2, "A: [2, 2, 3], b: [2, 2], C: [2, Stream(2), 2]", "C = linear(A, A, b)"), 2)
	for s := range hostir.All(program.Body) {
		if l, ok := s.(*hostir.Linear); ok && l.W.Name != "A" {
			t.Errorf("the weight of %s is %s", text.Statement(s), l.W.Name)
		}
	}
}
