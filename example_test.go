package hirgen_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/model"
)

// A matmul whose first operand is split over four ranks. With the Stream axis, the program can gather a slice while the GEMM of the
// previous slice runs.
func ExampleEmit() {
	b := model.New("ag_matmul")
	D, S := b.Extent("D", 4), b.Extent("S", 4)
	M, N, K := b.Extent("M", 8192), b.Extent("N", 8192), b.Extent("K", 8192)
	rows := M.Over(S.Times(D))
	b.World().AxisOf("x", D)
	b.TensorOf("A", S, model.Device("x"), rows, K)
	b.TensorOf("B", K, N)
	b.TensorOf("C", model.Stream(S), D, rows, N)
	p, err := b.Matmul("C", "A", "B").Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	folder, err := os.MkdirTemp("", "hirgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	out := filepath.Join(folder, "out")
	if _, err := hirgen.Emit(p, out, hirgen.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	sources, err := filepath.Glob(filepath.Join(out, "ag_matmul.*pp"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, source := range sources {
		fmt.Println(filepath.Base(source))
	}
	// Output:
	// ag_matmul.cpp
	// ag_matmul.hpp
}

// Emit takes a pipeline that was read from a spec. The second call changes no file, because all files are up to date.
func ExampleEmit_spec() {
	p, _, err := model.LoadFile("testdata/specs/allreduce/spec.yaml", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	folder, err := os.MkdirTemp("", "hirgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	for range 2 {
		changed, err := hirgen.Emit(p, filepath.Join(folder, "out"), hirgen.Options{})
		fmt.Println(len(changed) > 0, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}
