package prove_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// TestComputed proves an example, unchanged and with a wrong GEMM, and compares what the report says about computed
// values.
func TestComputed(t *testing.T) {
	path := provetest.Spec("ag_matmul")
	spec, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	load := func(params map[string]int64) (*model.Pipeline, error) { return model.Load("spec.yaml", spec, params) }
	programs, err := provetest.Lower(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	const looked = "112 operations on 4 ranks, 2 calls in a row\n"
	for _, c := range []struct{ name, old, replacement, want string }{
		{"right", "", "", "spec.yaml: ag_matmul: proved: " + looked},
		{"transposed", "k K, type", "k K, transpose_b, type",
			"spec.yaml:12:5: error: values: 240 of 240 elements of C on rank 0 are not what the model says: " +
				"the first is number 0, which Gemm kMatmulC writes (with M = 48, N = 5, K = 7)\nspec.yaml: ag_matmul: 1 error: " + looked},
		{"other slice", " + s * kSliceM * K, b B", ", b B", "the first is number 60, which Gemm kMatmulC writes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := text.Print(programs[0])
			p, err := text.Parse("calls", strings.Replace(before, c.old, c.replacement, 1))
			if err != nil {
				t.Fatal(err)
			}
			r, err := prove.Against(p, load)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			r.Text(&b)
			if !strings.Contains(b.String(), c.want) || c.name != "other slice" && b.String() != c.want {
				t.Error(cmp.Diff(c.want, b.String()))
			}
		})
	}
	r, err := prove.Program(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if r.Text(&b); !strings.Contains(b.String(), "not what it computes") {
		t.Errorf("without the model: %s", b.String())
	}
}

// TestGridsAndLayers proves specs on grids and on ranks in other orders, specs of layers and of their backward passes, and
// specs that random tests found.
func TestGridsAndLayers(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"testdata/grids/*.yaml", "testdata/layers/*.yaml", "internal/e2e/testdata/moves/*.yaml",
		"prove/testdata/specs/*.yaml"} {
		for _, path := range specsLike(pattern) {
			seen++
			proved(t, path, nil)
		}
	}
	if seen < 30 {
		t.Errorf("only %d specs", seen)
	}
}

// TestUnnamedPipelines proves layers that name no Stream axis, with a schedule that sends their gathers and sums from rank to
// rank as pipelines.
func TestUnnamedPipelines(t *testing.T) {
	paths := specsLike("testdata/layers/*_sp*.yaml") // with sequence parallelism; the next specs have their rows in one axis
	for _, name := range []string{"gpt_block", "gpt_block_dropout", "gpt_block_backward", "llama_attention", "llama_block_backward",
		"transformer_block_backward"} {
		paths = append(paths, specsLike("testdata/layers/"+name+".yaml")...)
	}
	for _, name := range []string{"mlp_sp", "llama_mlp", "llama_block", "transformer_block"} {
		paths = append(paths, provetest.Spec(name))
	}
	if len(paths) < 18 {
		t.Errorf("only %d specs", len(paths))
	}
	for _, path := range paths {
		for _, via := range []string{"nccl", "ipc-get", "ipc-put"} {
			proved(t, path, []model.Setting{{Path: "pipeline", Value: "p2p"}, {Path: "all.via", Value: via}})
		}
	}
}

// TestDerivedPlacementsAreProved proves specs whose placements are derived, at their full sizes. A program must not depend on
// a size that the proof makes smaller.
func TestDerivedPlacementsAreProved(t *testing.T) {
	paths := specsLike("testdata/placements/*.yaml")
	if len(paths) < 15 {
		t.Errorf("only %d specs", len(paths))
	}
	for _, path := range paths {
		proved(t, path, []model.Setting{{Path: "preset", Value: "none"}})
	}
}

// specsLike returns the specs that match a pattern below the root of the repository.
func specsLike(pattern string) []string {
	root := filepath.Join(filepath.Dir(provetest.Spec("ag_matmul")), "..", "..", "..")
	paths, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	return paths
}

// proved proves the programs of a spec under some settings of its schedule, including their computed values.
func proved(t *testing.T, path string, settings []model.Setting) {
	t.Helper()
	spec, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := provetest.Lower(path, nil, settings...)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, p := range programs {
		r, err := prove.Against(p, func(params map[string]int64) (*model.Pipeline, error) { return model.Load("spec.yaml", spec, params) })
		if err != nil || !r.Proved() {
			t.Errorf("%s %v: %v %+v", path, settings, err, r)
		}
		if err := verify.Program(p); err != nil {
			t.Errorf("%s %v: %v", path, settings, err)
		}
	}
}
