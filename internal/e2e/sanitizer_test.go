package e2e

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestSanitizers builds a program with its runtime and the CPU device under the thread
// and the address sanitizer: what they find ends a rank.
func TestSanitizers(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address"} {
		t.Run(sanitizer, func(t *testing.T) {
			f := folder{name: sanitizer, cache: []string{quick, "HIRGEN_SANITIZE=" + sanitizer}}
			program := f.make(t, agLinear(plain), params{"D": 2})
			for _, seed := range []int64{0, 1, 2} {
				run(t, launch.Options{
					Program: program, N: 2, Seed: seed, Args: brief,
					Env: []string{fmt.Sprintf("%sSAN_OPTIONS=halt_on_error=1:exitcode=99", map[string]string{"thread": "T", "address": "A"}[sanitizer])},
				}).mustPass(t)
			}
		})
	}
}
