package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// productSchedules are the schedules under which the specs of testdata/products are built and run, by the name of the
// spec.
var productSchedules = map[string][]string{
	"batches":          {"{streams: 2}"},
	"streamed_batches": {"{pipeline: collective}"},
	"cut_columns": {"{pipeline: p2p, all: {steps: ring, split: 2}}",
		"{pipeline: p2p, all: {via: ipc-get, steps: ring, split: 3, fuse: gemm}}", "{pipeline: p2p, all: {split: 2, interchange: true}}"},
	"gathered_rows": {"{pipeline: p2p, all: {via: ipc-get}}"},
	"summed_rows":   {"{pipeline: p2p, all: {via: ipc-put}}", "{pipeline: p2p, all: {steps: ring}}"},
	"wide_products": {"{preset: reference}"},
	"wide_gather":   {"{pipeline: p2p, all: {via: ipc-put, steps: ring}}"},
	"wide_scatter": {
		"{pipeline: p2p, all: {via: ipc-get, fuse: peer-read}}", "{pipeline: p2p, transport: auto}",
		"{pipeline: p2p, all: {via: ipc-put, lead: all, steps: ring, fuse: gemm}}",
	},
	"wide_sums": {"{pipeline: collective}", "{pipeline: p2p, all: {via: ipc-get, fuse: peer-read}}"},
}

// productSpecs calls visit for each spec of products with each of its schedules.
func productSpecs(t *testing.T, visit func(t *testing.T, name, spec string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "products", "*.yaml"))
	if err != nil || len(files) != len(productSchedules) {
		t.Fatalf("there are %d specs, not %d: %v", len(files), len(productSchedules), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, schedule := range productSchedules[name] {
			t.Run(name+"/"+schedule, func(t *testing.T) { visit(t, name, string(text)+"schedule: "+schedule+"\n") })
		}
	}
}

// TestProductsAreEmitted renders the specs of testdata/products for several numbers of ranks.
func TestProductsAreEmitted(t *testing.T) {
	productSpecs(t, func(t *testing.T, _, spec string) {
		t.Helper()
		for _, d := range []int64{1, 2, 3, 4} {
			pipeline, err := model.Load("spec.yaml", []byte(spec), params{"D": d})
			if err != nil {
				t.Fatal(err)
			}
			program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := emit.Render(program, emit.Options{}); err != nil {
				t.Errorf("%d ranks: %v", d, err)
			}
		}
	})
}

// TestProducts builds and runs the specs of products.
func TestProducts(t *testing.T) {
	productSpecs(t, func(t *testing.T, _, spec string) {
		t.Helper()
		products := folder{"products"}.beside(t)
		products.runs(t, renamed.ReplaceAllString(spec, "name: products"), nil, seedsOf(3))
	})
}
