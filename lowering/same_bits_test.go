package lowering

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/lowering/fromhost"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestSameBits checks that sameBits accepts the calls of all examples that are lowered with deterministic: true, some
// of them with preset: auto. It has to reject at least 5 of the programs that are lowered without deterministic: true.
func TestSameBits(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/*/*/spec.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	refused := 0
	for i, file := range files {
		for _, deterministic := range []bool{false, true} {
			var settings []model.Setting
			if i%8 == 0 {
				settings = append(settings, model.Setting{Value: schedule.Auto})
			}
			if deterministic {
				settings = append(settings, model.Setting{Path: schedule.Deterministic, Value: schedule.True})
			}
			p, _, err := model.LoadFile(file, nil, settings...)
			if err != nil {
				t.Fatal(err)
			}
			host, err := Host(p, Options{Verify: true})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			host.Choices.Set("", schedule.Deterministic, schedule.True)
			lowered, err := fromhost.Translate(host)
			if err == nil {
				err = sameBits(host, lowered.Programs())
			}
			if err != nil && deterministic {
				t.Errorf("%s: %v", file, err)
			} else if err != nil {
				refused++
			}
		}
	}
	if refused < 5 {
		t.Errorf("%d programs are refused", refused)
	}
}
