package lowering

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// jsonStatement is what the test reads of a statement's JSON.
type jsonStatement struct {
	Op   string          `json:"op"`
	Body []jsonStatement `json:"body"`
}

func (s jsonStatement) flat() []string {
	list := []string{s.Op}
	if s.Body != nil {
		for _, inner := range s.Body {
			list = append(list, "  "+inner.Op)
		}
	}
	return list
}

// TestStatementsOfAGLinear holds the order of statements that users of the reference
// system know, with joins in the body, in both forms of synchronisation.
func TestStatementsOfAGLinear(t *testing.T) {
	start := []string{"GetCurrentStream", "Allocate", "Allocate"}
	work := []string{"  Select", "  Select", "  Communication", "  Wait", "  Select", "  Linear", "  SetCurrentStream", "  Synchronize"}
	want := map[string][]string{
		"split": slices.Concat(start, []string{"For", "  SetCurrentStream", "  Synchronize", "For", "  SetCurrentStream"}, work),
		"fused": slices.Concat(start, []string{"For", "  SetCurrentStream", "  Synchronize"}, work),
	}
	for sync, want := range want {
		program, err := Lower(variant(agLinear(small(2, 8)), 4, sync, "body", "before"), Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := hostir.JSON(program)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Name string          `json:"name"`
			Body []jsonStatement `json:"body"`
		}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range read.Body {
			got = append(got, s.flat()...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", sync, diff)
		}
	}
}
