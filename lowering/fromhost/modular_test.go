package fromhost

import (
	"testing"

	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// TestSeenFrom checks expressions of a peer that seenFrom rewrites for this rank, and their values on all ranks.
func TestSeenFrom(t *testing.T) {
	b := &builder{
		program: &hostir.Program{Meshes: []*domain.Mesh{{Ranks: []int{0, 1, 2, 3}}}},
		scope:   &extents.Scope{Values: map[string]int64{"D": 4, "S": 8}, Names: map[string]string{"D": "D", "S": "S", "rank": "rank", "s": "s"}},
	}
	for _, c := range []struct{ peer, at, want string }{
		{"(rank + s) % D", "(D + rank - s) % D * 16", "rank * 16"},
		{"(D + rank - s) % D", "(rank + s) % D * M * K", "rank * M * K"},
		{"(rank + s) % D", "rank * 16", "(rank + s) % D * 16"},
		{"(rank + s) % D", "s * 16", "s * 16"},
		{"(rank + 1) % D", "(D + rank - (s + 1)) % D * 16", "(D + rank - s) % D * 16"},
		{"(D + rank - 1) % D", "(rank + s + 1) % D * 16", "(rank + s) % D * 16"},
		{"(rank + s) % D", "(rank + s) % D * 16", "((rank + s) % D + s) % D * 16"},
		{"(rank + 1) % D", "(D + rank - s) % D * 16", "(D + (rank + 1) % D - s) % D * 16"},
		{"(rank + s) % D", "(D + rank - s) % S", "(D + (rank + s) % D - s) % S"}, // S is not the number of ranks
		{"(rank + s) % D", "(s + s) % D", "(s + s) % D"},
		{"(rank ^ s) % D", "(rank ^ s) % D * 16", "rank * 16"},
		{"(rank ^ s) % D", "rank * 16", "(rank ^ s) % D * 16"},
		{"(rank ^ s) % D", "(s ^ s) % D", "(s ^ s) % D"},
		{"(rank ^ s) % D", "(rank ^ 1) % D", "(((rank ^ s) % D) ^ 1) % D"},
	} {
		asked, at := expression(t, c.peer), expression(t, c.at)
		got := b.seenFrom(peer{rank: asked, coordinate: asked, here: "rank", extent: 4}, at)
		if got.String() != c.want {
			t.Errorf("%s, seen from %s: %s, want %s", c.at, c.peer, got, c.want)
		}
		for rank := range int64(4) {
			for s := range int64(4) {
				env := func(rank int64) func(string) (int64, bool) {
					values := map[string]int64{"D": 4, "S": 8, "M": 3, "K": 5, "rank": rank, "s": s}
					return func(name string) (int64, bool) { v, ok := values[name]; return v, ok }
				}
				theirs, err := expr.Eval(asked, env(rank))
				if err != nil {
					t.Fatal(err)
				}
				want, err := expr.Eval(at, env(theirs))
				if err != nil {
					t.Fatal(err)
				}
				if value, err := expr.Eval(got, env(rank)); err != nil || value != want {
					t.Errorf("%s at rank %d, s %d: %d (%v), want %d", got, rank, s, value, err, want)
				}
			}
		}
	}
}

func expression(t *testing.T, text string) expr.Expr {
	t.Helper()
	e, err := expr.ParseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
