package prove

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/prove/unroll"
)

// TestAlignmentIsThatOfAllValues checks that the alignment that package align derives for an operand, for all ranks
// and iterations at once, equals the least alignment of the operand's unrolled offsets.
func TestAlignmentIsThatOfAllValues(t *testing.T) {
	root := filepath.Join(filepath.Dir(provetest.Spec("ag_matmul")), "..", "..")
	var paths []string
	for _, pattern := range []string{"specs/*/spec.yaml", "views/*/spec.yaml", "layers/*.yaml", "products/*.yaml", "grids/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no specs %s: %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	for i, path := range paths {
		programs, err := provetest.Lower(path, nil)
		if err != nil {
			t.Logf("%s has to have a schedule: %v", path, err)
		}
		for _, p := range append(programs, provetest.Draw(path, uint64(i)).Programs...) {
			alignmentOf(t, p)
		}
	}
}

func alignmentOf(t *testing.T, p *calls.Program) {
	t.Helper()
	type operand struct {
		stmt   calls.Stmt
		number int16
	}
	derived, table := map[operand]int64{}, effects.New(p)
	align.Visit(p, func(s calls.Stmt, at *align.Scope) {
		operands, _ := table.Of(s)
		for _, o := range operands {
			derived[operand{s, o.Number}] = min(at.Of(o.At), align.Widest)
		}
	})
	u, err := unroll.Unroll(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, least := &verification{p: u}, map[operand]int64{}
	for n := range u.Ranks {
		for i := range u.Ranks[n].Ops {
			o := &u.Ranks[n].Ops[i]
			for _, a := range u.Ranks[n].AccessesOf(o) {
				if o.Stmt >= 0 {
					at := operand{u.Stmts[o.Stmt], a.Operand}
					if _, ok := least[at]; !ok {
						least[at] = align.Widest
					}
					least[at] = min(least[at], v.bytesAt(a))
				}
			}
		}
	}
	for at, bytes := range derived {
		if got, ok := least[at]; ok && got != bytes {
			t.Errorf("%s: operand %d of %s %s begins at multiples of %d bytes, not of %d", p.Name, at.number, calls.Op(at.stmt),
				at.stmt.Meta().Label, got, bytes)
		}
	}
}
