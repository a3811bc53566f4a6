package hostir

import (
	"github.com/hirgen/hirgen/calls/collective"
	"testing"
)

// TestMovementsInWords checks how movements print: the ranks in a line of hirgen check, and the short form in a column of a report.
func TestMovementsInWords(t *testing.T) {
	for short, c := range map[string]struct {
		movement Movement
		over     string
	}{
		"allgather x":                 {Movement{Type: collective.Allgather, Axes: "x", Mesh: "world"}, "mesh axis x of world"},
		"reducescatter x of left":     {Movement{Type: collective.ReduceScatter, Axes: "x", Mesh: "left"}, "mesh axis x of left"},
		"broadcast of world":          {Movement{Type: collective.Broadcast, Mesh: "world"}, "mesh world"},
		"sendrecv from left to right": {Movement{Type: collective.SendRecv, From: "left", Mesh: "right"}, "meshes left and right"},
		"sendrecv x and y": {Movement{Type: collective.SendRecv, Transfer: true, Axes: "x and y", Mesh: "world"},
			"mesh axes x and y of world"},
	} {
		if got := c.movement.Short("world"); got != short {
			t.Errorf("%q, want %q", got, short)
		}
		if got := c.movement.over(); got != c.over {
			t.Errorf("%q, want %q", got, c.over)
		}
	}
}
