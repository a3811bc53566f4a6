package emit_test

import (
	"strings"
	"testing"
)

// TestAttentionIsOneCallWithoutCopies uses blocks whose queries, keys and values are permuted projections. The program
// must have one call of attention, and no copies other than transfers from other ranks.
func TestAttentionIsOneCallWithoutCopies(t *testing.T) {
	for name, calls := range map[string]int{"llama_block": 1, "llama_block_sp": 1, "transformer_block": 1, "transformer_block_backward": 1} {
		for _, f := range render(t, loadExample(t, name)) {
			if f.Path != name+".cpp" {
				continue
			}
			text := string(f.Data)
			if got := strings.Count(text, "_attention_.run("); got != calls {
				t.Errorf("%s has %d attentions, not %d", name, got, calls)
			}
			text = strings.ReplaceAll(text, "cudaMemcpyDeviceToDevice, copy)", "") // transfers from other ranks
			for _, copies := range []string{"UnaryFn::kCopy", "cudaMemcpyDeviceToDevice"} {
				if strings.Contains(text, copies) {
					t.Errorf("%s copies: %s", name, copies)
				}
			}
		}
	}
}
