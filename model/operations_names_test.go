package model

import (
	"slices"
	"testing"
)

func TestOpHint(t *testing.T) {
	for name, want := range map[string]string{
		"gemm": "it is called matmul here", "GEMM": "it is called matmul here", "dense": "it is called linear here",
		"layernorm": "it is called layer_norm here", "sofmax": `did you mean "softmax"?`, "zzzzzz": "",
		"Pow":        "the square of X is mul(X, X)",
		"all-reduce": "a communication follows from the axes: write sum, and declare the result with the axes that it shall have",
	} {
		if got := OpHint(name); got != want {
			t.Errorf("OpHint(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestOtherNamesAreNoOperations checks that no name of another system is an operation, and that each hint names an
// existing operation.
func TestOtherNamesAreNoOperations(t *testing.T) {
	for _, names := range []map[string]string{otherNames, collectives} {
		for other, name := range names {
			if slices.Contains(operationNames(), other) || !slices.Contains(operationNames(), name) {
				t.Errorf("%s: %s", other, name)
			}
		}
	}
}
