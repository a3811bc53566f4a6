package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// views are specs of testdata/views, each in one element type. Some operands begin at addresses that are less aligned than
// their rows, or have rows that are not aligned. want is the text of the emitted program that handles this.
var views = []struct {
	spec, dtype string
	values      params
	want        string
}{
	{"view_offset_bias_streams", "bf16", nil, "cudaMemcpyAsync(C_bias_ + s % kComputeStreams * 24, P + 1, N * sizeof(bf16)"},
	{"view_offset_gemm", "bf16", nil, ".k = 8, .align_b = 2, .dtype"},
	{"view_offset_gemm", "fp16", nil, ".k = 8, .align_b = 2, .dtype"},
	{"view_offset_gemm", "fp32", nil, ".k = 8, .align_b = 4, .dtype"},
	{"view_offset_gemm_backward", "bf16", nil, ".k = 8, .align_b = 2, .transpose_b"},
	{"view_offset_gemm_backward", "fp16", nil, ".k = 8, .align_b = 2, .transpose_b"},
	{"view_offset_gemm_backward", "fp32", nil, ".k = 8, .align_b = 4, .transpose_b"},
	{"view_offset_bias", "bf16", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(bf16)"},
	{"view_offset_bias", "fp16", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(fp16)"},
	{"view_offset_bias", "fp32", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(fp32)"},
	{"view_offset_attention", "bf16", nil, ".row = 3 * C + 2 * P, .align = 8}"},
	{"view_offset_attention", "fp16", nil, ".row = 3 * C + 2 * P, .align = 8}"},
	{"view_offset_attention", "fp32", params{"P": 2}, ".row = 3 * C + 2 * P, .align = 8}"},
	{"view_offset_attention_backward", "bf16", nil, ".row = 3 * C + 2 * P, .align = 8}"},
	{"view_offset_attention_backward", "fp16", nil, ".row = 3 * C + 2 * P, .align = 8}"},
	{"view_offset_attention_backward", "fp32", params{"P": 2}, ".row = 3 * C + 2 * P, .align = 8}"},
	{"odd_rows", "fp16", params{"M": 32, "N": 20, "K": 1540}, ".bias = true, .pack_a = true, .pack_b = true, .pack_c = true"},
	{"odd_rows", "bf16", params{"M": 32, "N": 20, "K": 1540}, ".bias = true, .pack_a = true, .pack_b = true, .pack_c = true"},
}

// TestViews builds and runs every second entry of views, among which are all specs and all types, or all entries in a full test.
func TestViews(t *testing.T) {
	for i, v := range views {
		if !full && i%2 == 1 {
			continue
		}
		t.Run(v.spec+"/"+v.dtype, func(t *testing.T) {
			views := folder{"views"}.beside(t)
			source, err := os.ReadFile(filepath.Join("..", "..", "testdata", "views", v.spec, "spec.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			spec := strings.Replace(renamed.ReplaceAllString(string(source), "name: views"), "dtype: bf16", "dtype: "+v.dtype, 1)
			views.runs(t, spec, v.values, seedsOf(2))
			program, err := os.ReadFile(filepath.Join(views.dir(), "views.cpp"))
			if text := strings.Join(strings.Fields(string(program)), " "); err != nil || !strings.Contains(text, v.want) {
				t.Errorf("the program has no %q (%v):\n%s", v.want, err, program)
			}
		})
	}
}
