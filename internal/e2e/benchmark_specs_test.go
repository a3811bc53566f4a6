package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// TestBenchmarkSpecs runs specs of examples/parallel_kernel_bench at small sizes on two ranks, with the schedule that auto chooses: every
// tenth, or all in a full test.
func TestBenchmarkSpecs(t *testing.T) {
	specs, err := filepath.Glob("../../examples/parallel_kernel_bench/specs/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, path := range specs {
		if !full && n%10 != 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			layers := folder{"layers"}.beside(t)
			values := params{}
			for _, param := range lowertest.Smallest(t, path).Params {
				values[param.Name] = param.Value
			}
			layers.runs(t, renamed.ReplaceAllString(string(text), "name: layer"), values, seedsOf(2))
		})
	}
}

// TestBenchmarkReferences runs specs on inputs of examples/parallel_kernel_bench/results, and compares the outputs with those that the
// benchmark's references computed. Both must split each tensor along the same axis, because a file has whole tensors.
func TestBenchmarkReferences(t *testing.T) {
	files, err := filepath.Glob("../../examples/parallel_kernel_bench/results/*.safetensors")
	if err != nil || len(files) < 10 {
		t.Fatalf("only the results %v: %v", files, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".safetensors")
		t.Run(name, func(t *testing.T) {
			layers, dir := folder{"layers"}.beside(t), t.TempDir()
			text, err := os.ReadFile("../../examples/parallel_kernel_bench/specs/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			header, _ := openSafetensors(t, path)
			metadata, values, axes := map[string]string{}, params{}, params{}
			err = json.Unmarshal(header["__metadata__"], &metadata)
			for name, into := range map[string]*params{"params": &values, "axes": &axes} {
				err = errors.Join(err, json.Unmarshal([]byte(metadata[name]), into))
			}
			if err != nil {
				t.Fatal(err)
			}
			p := layers.emit(t, renamed.ReplaceAllString(string(text), "name: layer"), values)
			args, split := append([]string{"--no-check"}, brief...), params{}
			for _, in := range p.Inputs {
				args = append(args, "--load", in.Name+"="+path)
			}
			for _, out := range p.Outputs {
				args = append(args, "--dump", out.Name+"="+filepath.Join(dir, out.Name))
			}
			for _, tensor := range slices.Concat(p.Inputs, p.Outputs) {
				isSplit := func(a domain.Axis) bool { return a.Kind == domain.Device }
				split[tensor.Name] = int64(slices.IndexFunc(tensor.Axes, isSplit))
			}
			if !maps.Equal(split, axes) {
				t.Fatalf("the ranks have parts along the axes %v, and those of the references along %v", split, axes)
			}
			r := run(t, launch.Options{Program: layers.build(t), N: p.Meshes[0].Size(), Seed: 1, Args: args})
			if r.exit != 0 {
				t.Fatal(r)
			}
			for _, out := range p.Outputs {
				want := readSafetensors(t, path, out.Name, out.DType)
				if err := closeArray(readSafetensors(t, filepath.Join(dir, out.Name), out.Name, out.DType), want); err != nil {
					t.Errorf("%s: %v", out.Name, err)
				}
			}
		})
	}
}

// closeArray returns an error that names the first element that differs by more than the benchmark's tolerance: 1e-2 of the element plus
// 1e-2. If the root mean square of the elements is below 1, 1e-2 of it replaces the second term.
func closeArray(got, want *eval.Array) error {
	if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Errorf("shape %v, want %v", got.Shape, want.Shape)
	}
	squares := 0.0
	for _, v := range want.Data {
		squares += v * v
	}
	size := min(1, math.Sqrt(squares/float64(len(want.Data))))
	for i, v := range want.Data {
		if !(math.Abs(got.Data[i]-v) <= 1e-2*(size+math.Abs(v))) { // or NaN
			return fmt.Errorf("element %d is %v, want %v", i, got.Data[i], v)
		}
	}
	return nil
}
