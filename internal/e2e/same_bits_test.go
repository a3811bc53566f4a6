package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
)

// sumsOfThree has the sums that NCCL has functions for, and a maximum.
const sumsOfThree = `hirgen: 1
name: example
params: {D: 3, M: 6, N: 64, K: 96}
mesh: {x: D}
dtype: fp32
tensors:
  A: [DIDx, M, K/D]
  B: [DIDx, K/D, N]
  E: [DIDx, D, M, N]
  C: [M, N]
  R: [DIDx, M, N]
  L: [M, N]
ops:
  - P = matmul(A, B)
  - C = sum(P, axis=0)
  - R = sum(E, axis=0)
  - L = max(P, axis=0)
fill: {A: normal, B: normal, E: normal}
`

// TestSameBits runs programs with normal inputs in 20 orders. Outputs must have the same bits in all orders, unless
// effects.Outputs states why they vary; those must vary. The CPU device adds the parts of NCCL's sums in an order
// that depends on the seed, so a sum of three ranks varies.
func TestSameBits(t *testing.T) {
	for _, c := range []struct {
		name, schedule string
		others         string // outputs whose bits vary
	}{
		{"", "{pipeline: p2p, all: {via: ipc-put, copy: sm, fuse: exchange}}", ""},
		{"", "{pipeline: p2p, all: {via: ipc-put, copy: sm, fuse: exchange}, R: {via: nccl}}", "R"},
		{"", "{deterministic: true}", ""},
		{"layers/llama_attention_backward.yaml", "{deterministic: true}", ""},
	} {
		t.Run(c.name+c.schedule, func(t *testing.T) {
			examples := examples.beside(t)
			spec, values := sumsOfThree, params(nil)
			if c.name != "" {
				spec, values = example(t, "../../testdata/"+c.name, row(4))
			}
			if c.schedule != "" {
				spec = withSchedule(spec, c.schedule)
			}
			pipeline := examples.emit(t, spec, values)
			described, err := lowering.Lower(pipeline, lowering.Options{})
			if err != nil {
				t.Fatal(err)
			}
			options := launch.Options{Program: examples.build(t), N: pipeline.Meshes[0].Size(), Args: brief}
			folder := t.TempDir()
			for _, o := range pipeline.Outputs {
				options.Args = append(options.Args, "--dump", o.Name+"="+filepath.Join(folder, o.Name))
			}
			first, others := map[string][]byte{}, map[string]bool{}
			for options.Seed = range int64(20) {
				run(t, options).mustPass(t)
				for _, o := range pipeline.Outputs {
					bits, err := os.ReadFile(filepath.Join(folder, o.Name))
					if first[o.Name] == nil {
						first[o.Name] = bits
					}
					if others[o.Name] = others[o.Name] || !bytes.Equal(first[o.Name], bits); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, o := range effects.Outputs(described.Program) {
				if other := slices.Contains(strings.Fields(c.others), o.Tensor); other != (o.By != nil) || other != others[o.Tensor] {
					t.Errorf("%s: not listed %t, other bits %t, want both %t", o.Tensor, o.By != nil, others[o.Tensor], other)
				}
			}
		})
	}
}
