package emit_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestReduceJoinsAxes checks that a kernel reduces one axis between two others: the merged axes before it and
// the merged axes after it. It drops the device axis, which has one element on a rank.
func TestReduceJoinsAxes(t *testing.T) {
	pipeline, err := model.Load("spec.yaml", []byte(`hirgen: 1
name: folds
params: {D: 2, M: 6, N: 5, K: 4, R: 3}
mesh: {x: D}
dtype: fp32
tensors:
  X: [DIDx, M, K, N, R]
  P: [DIDx, K, M, N]
  first: [DIDx, K, N, R]
  middle: [DIDx, M, N, R]
  last: [DIDx, M, K, N]
  apart: [DIDx, M, N]
ops:
  - first = sum(X, axis=1)
  - middle = sum(X, axis=2)
  - last = max(X, axis=4)
  - Q = permute(P, perm=[0, 2, 1, 3])
  - apart = sum(Q, axis=2)
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range render(t, program) {
		if f.Path == "folds.cpp" {
			text = strings.Join(strings.Fields(string(f.Data)), " ")
		}
	}
	for _, want := range []string{
		"kSum, /*axis=*/0, first, {2, {1, K * N * R}, {0, 1}}, X, {2, {M, K * N * R}, {K * N * R, 1}}, caller",
		"kSum, /*axis=*/1, middle, {3, {M, 1, N * R}, {N * R, 0, 1}}, X, {3, {M, K, N * R}, {K * N * R, N * R, 1}}, caller",
		"kSum, /*axis=*/1, apart, {3, {M, 1, N}, {N, 0, 1}}, P, {3, {M, K, N}, {N, M * N, 1}}, caller",
	} {
		if !strings.Contains(text, "hirgen::launch_reduce(hirgen::ReduceFn::"+want) {
			t.Errorf("no %s", want)
		}
	}
	if want := "max(last, X, M * K * N, caller, kMaxLast)"; !strings.Contains(text, want) {
		t.Errorf("rows are folded by a kernel of the program's own: no %s", want)
	}
	if t.Failed() {
		t.Log(text)
	}
}
