package domain

import "testing"

// TestFunctionRows checks that each function has a unique name, one of Unary and Binary, and one of Cpp and CppAll, and that
// gradients with steps parse.
func TestFunctionRows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Functions {
		if seen[f.Name] || (f.Unary == nil) == (f.Binary == nil) || (f.Cpp == "") == (f.CppAll == "") || f.Constant && f.Binary == nil {
			t.Errorf("the row of %s is wrong", f.Name)
		}
		seen[f.Name] = true
		if _, ok := ParseBody(f.Gradient, []string{"X", "Y", "dY"}); f.Gradient != "" && f.Gradient != NoGradient && !ok {
			t.Errorf("the gradient of %s is no list of operations on X, Y and dY: %s", f.Name, f.Gradient)
		}
	}
}
