package races_test

import (
	"testing"

	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/prove/events"
	"github.com/hirgen/hirgen/prove/races"
	"github.com/hirgen/hirgen/prove/unroll"
)

func TestPrograms(t *testing.T) {
	for _, c := range provetest.Examples(t) {
		for _, p := range c.Programs {
			u, err := unroll.Unroll(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []events.Mode{events.Ideal, events.Serialized, events.OneQueue} {
				if d := events.Run(u, events.Options{Mode: mode, Calls: 2}); d != nil {
					t.Errorf("%s: stuck in mode %d", c.Name, mode)
					for _, l := range d.Links {
						t.Logf("rank %d call %d %s %s", l.Rank, l.Call, u.Line(l.Rank, l.Op), l.Why)
					}
				}
			}
			for _, r := range races.Find(u, 2) {
				t.Errorf("%s: race\n rank %d call %d %s\n rank %d call %d %s", c.Name, r.First.Rank, r.First.Call, u.Line(r.First.Rank, r.First.Op),
					r.Second.Rank, r.Second.Call, u.Line(r.Second.Rank, r.Second.Op))
			}
		}
	}
}
