package emit_test

import (
	"errors"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering/calls"
)

// TestWhatIsNotProvedIsNotPrinted: each variant is checked before any file is printed.
func TestWhatIsNotProvedIsNotPrinted(t *testing.T) {
	program := loadExample(t, "ag_matmul_anywhere")
	refused := errors.New("not proved")
	for _, refuse := range []int{0, 1, 2} {
		seen := 0
		files, err := emit.Render(program, emit.Options{Prove: func(*calls.Program) error {
			if seen++; seen == refuse {
				return refused
			}
			return nil
		}})
		switch {
		case refuse == 0 && (err != nil || seen != 2 || len(files) == 0):
			t.Errorf("%d variants were looked at, and there are %d files: %v", seen, len(files), err)
		case refuse > 0 && (!errors.Is(err, refused) || files != nil):
			t.Errorf("variant %d is refused, and there are %d files: %v", refuse, len(files), err)
		}
	}
}
