package eval

import (
	"testing"

	"github.com/hirgen/hirgen/model"
)

// loadSpec loads one of the example specs.
func loadSpec(t *testing.T, name string, overrides map[string]int64) *model.Pipeline {
	t.Helper()
	p, _, err := model.LoadFile("../../testdata/specs/"+name+"/spec.yaml", overrides)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustLoad loads a spec given as text.
func mustLoad(t *testing.T, src string) *model.Pipeline {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
