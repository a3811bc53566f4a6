package hirgen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model"
)

// What cannot be lowered is reported, and no folder is made.
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
