package passes

import (
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
)

// nameLocals gives buffers inside outputs the names of local variables. They point into the caller's tensors, so each
// call declares them. Only names of data members end in "_".
//
//	Buffer(name dup_, in dWg)            ->  Buffer(name dup, in dWg)
//	Launch(kernel silu_mul, out dup_)        Launch(kernel silu_mul, out dup)
func nameLocals(p *calls.Program) {
	outputs, table, renamed := calls.ByName(p.Outputs()), names.NewTable(), map[string]string{}
	table.Reserve(slices.Collect(maps.Keys(namesOf(p)))...)
	for _, b := range p.Buffers {
		if local, member := strings.CutSuffix(b.Name, "_"); member && outputs[b.In] != nil {
			renamed[b.Name] = table.Local(local)
			b.Name = renamed[b.Name]
		}
	}
	calls.RewriteAll(p.Body, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		if local := renamed[at.Base]; local != "" {
			at.Base = local
		}
		return at
	}})
}
