package hirgen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
)

// TestNewSpecOfEveryLayer checks that a spec made from any layer, with any of Types, loads and lowers on two ranks.
func TestNewSpecOfEveryLayer(t *testing.T) {
	for _, layer := range hirgen.Layers {
		doc, p, err := hirgen.Layer(layer)
		if err != nil || len(doc) < 20 || strings.Contains(doc, ". ") || p.Params[0].Name != "D" {
			t.Errorf("%s: %q, %v", layer, doc, err)
		}
		for _, dtype := range hirgen.Types {
			text, err := hirgen.NewSpec(layer, "mine", dtype, map[string]int64{"D": 2})
			if err != nil {
				t.Errorf("%s of %s: %v", layer, dtype, err)
				continue
			}
			made, err := model.Load("mine.yaml", text, nil)
			if err != nil || made.Name != "mine" || made.Meshes[0].Size() != 2 ||
				!strings.HasPrefix(string(text), "# yaml-language-server: $schema=https://") ||
				!strings.Contains(string(text), dtype) {
				t.Errorf("%s of %s: %v\n%s", layer, dtype, err, text)
			}
		}
	}
}

var shapeOfReshape = regexp.MustCompile(`reshape\(\w+(?:, shape=\[(.*?)\])?\)`)

// TestLayersAreInNaturalForm checks that layers are written as a user of PyTorch would write them, without manual
// slices or schedules. Their reshapes split or merge heads, and do not split rows to fit the communication of a
// schedule.
func TestLayersAreInNaturalForm(t *testing.T) {
	files, err := filepath.Glob("testdata/new/*.yaml")
	if err != nil || len(files) != len(hirgen.Layers) {
		t.Errorf("%d files for %d layers, %v", len(files), len(hirgen.Layers), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{"Stream(", "schedule:", "S:"} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s has %s", path, never)
			}
		}
		for _, shape := range shapeOfReshape.FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`^D, [^D]*(?:[A-Z]/D[^D]*)?$`).MatchString(shape[1]) {
				t.Errorf("%s: %s", path, shape[0])
			}
		}
		if formatted, err := model.Format(path, text); err != nil || !bytes.Equal(formatted, text) {
			t.Errorf("%s is not as hirgen fmt writes it: %v", path, err)
		}
	}
}

func TestNewSpecReportsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		layer, name string
		params      map[string]int64
		code        diag.Code
	}{
		{"ag_matmul", "while", nil, diag.ReservedName},
		{"ag_matmul", "mine", map[string]int64{"M": 7}, diag.InexactDivision},
		{"llama_block", "mine", map[string]int64{"D": 3}, diag.InexactDivision},
		{"ag_matmul", "mine", map[string]int64{"Q": 7}, diag.UnknownParam},
	} {
		_, err := hirgen.NewSpec(c.layer, c.name, "bf16", c.params)
		if errs, ok := diag.Diagnostics(err); !ok || errs.Items[0].Code != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := hirgen.NewSpec("none", "mine", "bf16", nil); err == nil || !strings.Contains(err.Error(), "there are ag_matmul") {
		t.Errorf("%v", err)
	}
}
