package recall

import (
	"fmt"
	"path/filepath"

	"github.com/hirgen/hirgen/internal/tools/recall/faults"
)

// Faulty lowers an example while a table has the mistake f, or without a mistake if f is nil. If the lowering refuses
// the faulty table, Faulty returns the correct program and the reason.
func Faulty(root, example string, f *faults.TableFault) (s *Subject, refused, err error) {
	file := filepath.Join(root, "testdata", example+".yaml")
	right, err := subjects(file, "")
	if err != nil {
		return nil, nil, err
	}
	if f == nil {
		return right[0], nil, nil
	}
	defer f.Seed()()
	s = right[0]
	defer func() {
		if failure := recover(); failure != nil { // a pass met a state that no correct table produces
			refused = fmt.Errorf("%v", failure)
		}
	}()
	made, refused := subjects(file, "")
	if refused == nil {
		s = made[0]
	}
	return s, refused, nil
}
