package schedules

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// TestEndOf checks that the beginning of a large program ends where the fewest results are still to be read, and otherwise as late as
// possible: after the sums of a program in which each layer of three statements reads its beginning twice.
func TestEndOf(t *testing.T) {
	tensor := func(name string) *hostir.Tensor { return &hostir.Tensor{Name: name} }
	var body []hostir.Stmt
	sum := tensor("input")
	for range 20 {
		a, b, next := tensor("a"), tensor("b"), tensor("sum")
		body = append(body, &hostir.Unary{Fn: "neg", Out: a, In: sum}, &hostir.Unary{Fn: "exp", Out: b, In: sum},
			&hostir.Binary{Fn: "add", Out: next, A: a, B: b})
		sum = next
	}
	for most, want := range map[int]int{8: 6, 9: 9, 10: 9, 20: 18, 59: 57} {
		if got := endOf(body, most); got != want {
			t.Errorf("the beginning of at most %d statements has %d; want %d", most, got, want)
		}
	}
	if got := endOf([]hostir.Stmt{body[0], body[3], body[6], body[9]}, 2); got != 2 {
		t.Errorf("nothing is read later, and the beginning has %d statements", got)
	}
}
