package place

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLive makes random changes to lists of held families, some of them clones of others, and compares each list with a map. Lists must
// have equal digests exactly if they hold the same.
func TestLive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	families := make([]*family, 3*pageSize)
	for i := range families {
		families[i] = &family{id: i}
	}
	lists, want := make([]live, 8), make([]map[int]reading, 8)
	for i := range want {
		want[i] = map[int]reading{}
	}
	known := map[string]digest{}
	for step := range 20000 {
		n, f := random.IntN(len(lists)), families[random.IntN(len(families))]
		_, held := want[n][f.id]
		switch {
		case random.IntN(10) == 0:
			from := random.IntN(len(lists))
			lists[n], want[n] = lists[from].clone(), maps.Clone(want[from])
		case held && random.IntN(2) == 0:
			lists[n].drop(f)
			delete(want[n], f.id)
		default:
			r := reading{fmt.Sprint(random.IntN(2)), fmt.Sprint(random.IntN(2))}
			lists[n].set(f, r)
			want[n][f.id] = r
		}
		for k := range lists {
			got := map[int]reading{}
			for _, p := range lists[k].pages {
				for _, h := range p.list {
					if r, found := lists[k].of(h.family); !found || r != h.reading || p.number != h.id/pageSize {
						t.Fatalf("step %d: %d is not found in page %d", step, h.id, p.number)
					}
					got[h.id] = h.reading
				}
			}
			if !maps.Equal(got, want[k]) {
				t.Fatalf("step %d, list %d: %v; want %v", step, k, got, want[k])
			}
		}
		var text string
		for _, id := range slices.Sorted(maps.Keys(want[n])) {
			text += fmt.Sprint(id, want[n][id])
		}
		if sum, before := known[text]; before && sum != lists[n].sum {
			t.Fatalf("step %d: two digests of %s", step, text)
		}
		known[text] = lists[n].sum
	}
	sums := map[digest]bool{}
	for _, sum := range known {
		sums[sum] = true
	}
	if len(sums) != len(known) || len(known) < 1000 {
		t.Errorf("%d digests of %d lists", len(sums), len(known))
	}
}
