package lowering

import "testing"

func TestInsertReshardings(t *testing.T) { passCases(t, "insert-reshardings") }

// TestMovedAlongTheStreamAxisOfTheResult moves what has a Stream axis that its reader sums over, and
// runs as a pipeline along another one.
func TestMovedAlongTheStreamAxisOfTheResult(t *testing.T) {
	for _, pipeline := range []string{"collective", "p2p", "ring"} {
		p := cutPipeline(t, 2, "A: [2, 3, 4], C: [2, Stream(3), 4], E: [DIDx, Stream(4)]", "C = relu(A), E = sum(C, axis=1)")
		p.Schedule.Pipeline = pipeline
		keepsResult(t, p, 3)
	}
}
