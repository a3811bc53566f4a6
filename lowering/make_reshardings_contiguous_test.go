package lowering

import "testing"

func TestMakeReshardingsContiguous(t *testing.T) { passCases(t, "make-reshardings-contiguous") }

// TestWhatIsMadeInSlicesIsMultipliedWhole gathers inside of the rows of a product, which has them in
// another order than the slices lie in.
func TestWhatIsMadeInSlicesIsMultipliedWhole(t *testing.T) {
	for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
		p := cutPipeline(t, 3, "A: [6, DIDx, 4], G: [6, Stream(D), 4], V: [4, 2], C: [6, D, 2]", "G = set(A), C = matmul(G, V)")
		p.Schedule.Pipeline, p.Schedule.Transport = "p2p", transport
		keepsResult(t, p, 4)
	}
}
