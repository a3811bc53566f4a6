package hirgen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
)

// TestEmitReportsWhatIsWrong checks that Emit reports a pipeline that cannot be lowered, and creates no folder.
func TestEmitReportsWhatIsWrong(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/lowering/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	p, _, err := model.LoadFile(files[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	_, err = hirgen.Emit(p, out, hirgen.Options{})
	if _, ok := diag.Diagnostics(err); !ok {
		t.Errorf("%s: %v", files[0], err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a folder is there: %v", err)
	}
}

// TestEmitWritesPackages checks that Emit writes the requested packages into the folder.
func TestEmitWritesPackages(t *testing.T) {
	p, _, err := model.LoadFile("testdata/specs/allreduce/spec.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := hirgen.Emit(p, out, hirgen.Options{NoVerify: true,
		Packages: emit.Packages{Go: true, GoModule: "example.com/a"}}); err != nil {
		t.Fatal(err)
	}
	if module, err := os.ReadFile(filepath.Join(out, "go", "go.mod")); err != nil ||
		!strings.HasPrefix(string(module), "module example.com/a\n") {
		t.Errorf("%q, %v", module, err)
	}
}
