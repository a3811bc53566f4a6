package passes

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/calls"
)

func TestSectionsNameTheirCommunication(t *testing.T) {
	of := func(part, note string) calls.Info { return calls.Info{Part: part, Note: note} }
	list := []calls.Stmt{
		&calls.EventRecord{Info: of("", "transfers first")}, &calls.StreamWait{},
		&calls.For{Body: []calls.Stmt{&calls.FlagWrite{Info: of("gather", "")}}}, &calls.Memcpy{Info: of("gather", "a copy")},
		&calls.For{Body: []calls.Stmt{&calls.Gemm{}, &calls.If{Body: []calls.Stmt{&calls.NcclCall{Info: of("sum", "")}}}}},
		&calls.For{Body: []calls.Stmt{&calls.FlagWait{Info: of("sum", "")}}}, &calls.StreamWait{Info: of("gather", "")}, &calls.Launch{},
		&calls.For{Body: []calls.Stmt{&calls.FlagWait{Info: of("gather", "")}, &calls.Gemm{}}},
		&calls.MemOpBatch{Info: calls.Info{Label: "kRead"}, Body: []calls.Stmt{&calls.FlagWait{Info: of("gather", "")}}},
	}
	headSections(list, map[string]*calls.Label{"kRead": {Text: "spec.yaml:1:1 wait until peers have read A"}})
	var got []string
	for s := range calls.All(list) {
		if note := s.Meta().Note; note != "" {
			got = append(got, note)
		}
	}
	if want := []string{"transfers first", "gather", "a copy", "sum", "wait for all parts of the sum",
		"wait for one part of the gather", "wait until peers have read their parts of the gather"}; !slices.Equal(got, want) {
		t.Errorf("the notes are %q, not %q", got, want)
	}
}
