package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// views are specs of testdata/views, of which operands begin where fewer bytes are aligned than those of rows: what plans are
// told of them in an element type, forward and, where something is, backward.
var views = []struct {
	spec, dtype       string
	values            params
	forward, backward string
}{
	{"view_offset_gemm", "bf16", nil, ".k = 8, .align_b = 2, .dtype", ".k = 8, .align_b = 2, .transpose_b"},
	{"view_offset_gemm", "fp16", nil, ".k = 8, .align_b = 2, .dtype", ".k = 8, .align_b = 2, .transpose_b"},
	{"view_offset_gemm", "fp32", nil, ".k = 8, .align_b = 4, .dtype", ".k = 8, .align_b = 4, .transpose_b"},
	{"view_offset_bias", "bf16", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(bf16)", ""},
	{"view_offset_bias", "fp16", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(fp16)", ""},
	{"view_offset_bias", "fp32", nil, "cudaMemcpyAsync(Y_bias_, P + 65, 8 * sizeof(fp32)", ""},
	{"view_offset_attention", "bf16", nil, ".row = 3 * C + 2 * P, .align = 8}", ".row = 2 * P + 3 * C, .align = 8}"},
	{"view_offset_attention", "fp16", params{"P": 4}, ".row = 3 * C + 2 * P, .align = 8}", ".row = 2 * P + 3 * C, .align = 8}"},
	{"view_offset_attention", "fp32", params{"P": 2}, ".row = 3 * C + 2 * P, .align = 8}", ".row = 2 * P + 3 * C, .align = 8}"},
}

// TestViews builds and runs them. Without HIRGEN_TEST_FULL one type of each goes backward.
func TestViews(t *testing.T) {
	for _, v := range views {
		source, err := os.ReadFile(filepath.Join("..", "..", "testdata", "views", v.spec+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		spec := strings.Replace(renamed.ReplaceAllString(string(source), "name: views"), "dtype: bf16", "dtype: "+v.dtype, 1)
		t.Run(v.spec+"/"+v.dtype, func(t *testing.T) { isTold(t, spec, v.values, v.forward) })
		if v.backward != "" && (full || v.dtype == "fp16") {
			t.Run(v.spec+"/"+v.dtype+"/backward", func(t *testing.T) {
				isTold(t, renamed.ReplaceAllString(backward(t, spec, v.values), "name: views"), v.values, v.backward)
			})
		}
	}
}

// isTold runs a spec, and looks for a part of its program.
func isTold(t *testing.T, spec string, values params, want string) {
	t.Helper()
	views := folder{"views"}.beside(t)
	views.runs(t, spec, values, seedsOf(2))
	program, err := os.ReadFile(filepath.Join(views.dir(), "views.cpp"))
	if text := strings.Join(strings.Fields(string(program)), " "); err != nil || !strings.Contains(text, want) {
		t.Errorf("the program has no %q (%v):\n%s", want, err, program)
	}
}

// backward is the spec of the backward pass of one.
func backward(t *testing.T, spec string, values params) string {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(spec), values)
	if err != nil {
		t.Fatal(err)
	}
	axes, err := lowering.Axes(p)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := grad.Backward(p, grad.Options{Axes: axes})
	if err != nil {
		t.Fatal(err)
	}
	return pass.Text
}
