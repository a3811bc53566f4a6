package lowering

import (
	"strings"
	"testing"
)

func TestLowerStreams(t *testing.T) { passCases(t, "lower-streams") }

// TestRowsOfBatchesAreNotStreamed has a Stream axis where slices would have no rows: products took
// batches for them, and their results were wrong.
func TestRowsOfBatchesAreNotStreamed(t *testing.T) {
	const tensors = "A: [3, D, 2], B: [3, 2, 4], C: [3, Stream(D), 4]"
	want := "runs along the rows of a product that has batches, those of B"
	if _, err := Lower(cutPipeline(t, 2, tensors, "C = matmul(A, B)"), Options{Verify: true}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	keepsResult(t, cutPipeline(t, 2, strings.Replace(tensors, "B: [3,", "B: [1,", 1), "C = matmul(A, B)"), 2)
}
