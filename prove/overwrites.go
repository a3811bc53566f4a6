package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/prove/overwrites"
)

// overwrites reports bytes that a buffer uses again after another buffer in the same memory has used or overwritten them.
func (v *verification) overwrites() {
	for _, r := range overwrites.Find(v.p) {
		a, by := v.p.Ranks[r.Rank].Accesses[r.Access], v.p.Ranks[r.By.Rank].Accesses[r.By.Access]
		x, y := place(v.p, r.Rank, r.Op, 0), place(v.p, r.By.Rank, r.By.Op, 0)
		v.add(Finding{
			Check: Overwrites, Severity: Error, At: []Place{x, y},
			Buffer: &Bytes{Name: v.p.Memories[a.Memory].Name, Rank: a.Owner, First: r.First, End: r.End},
			Message: fmt.Sprintf("%s of rank %d %s %s of rank %d, of which bytes %d to %d of its memory are %s since %s of rank %d",
				x.Operation, x.Rank, verb(a), v.p.Spans[a.Part].Name, a.Owner, r.First, r.End, v.p.Spans[by.Part].Name, y.Operation, y.Rank),
			Chains: []Chain{around(v.p, r.Rank, r.Op, 0, verb(a)), around(v.p, r.By.Rank, r.By.Op, 0, verb(by))},
		})
	}
}
