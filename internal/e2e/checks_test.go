package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model/domain"
)

// TestChecksAcceptRightPrograms runs correct programs that a check could reject: elements are not finite, or sums of
// normally distributed inputs lose digits.
func TestChecksAcceptRightPrograms(t *testing.T) {
	files, _ := filepath.Glob("testdata/checks/*.yaml")
	if len(files) == 0 {
		t.Fatal("there are no specs")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f := shared.beside(t)
			spec, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pipeline, dir := f.emit(t, renamed.ReplaceAllString(string(spec), "name: example"), nil), t.TempDir()
			program, ranks := f.build(t), pipeline.Meshes[0].Size()
			own := run(t, launch.Options{Program: program, N: ranks, Args: brief})
			own.mustPass(t)
			if special := strings.Contains(own.stdout, "NaN or infinite"); special != strings.Contains(file, "not_finite") {
				t.Errorf("elements that are not finite: %v in %s", special, own)
			}
			if pipeline.Inputs[0].DType == domain.FP16 {
				return // writeSafetensors does not write fp16
			}
			random, args := rand.New(rand.NewPCG(1, 2)), brief
			for _, in := range pipeline.Inputs {
				a, path := randomArray(random, in), filepath.Join(dir, in.Name)
				for i := range a.Data {
					a.Data[i] = in.DType.Round(random.NormFloat64())
				}
				writeSafetensors(t, path, in.Name, in.DType, a)
				args = append(args, "--load", in.Name+"="+path)
			}
			run(t, launch.Options{Program: program, N: ranks, Args: args}).mustPass(t)
		})
	}
}
