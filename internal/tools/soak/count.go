package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Counts has the statistics of a search. All but Refused count accepted specs only.
type Counts struct {
	Specs, Accepted, Built, Interpreted, Unsure int
	Refused                                     map[string]int // by code
	Ops, Kinds, Types, Ranks, Axes, Schedule    map[string]int
	Moves                                       map[string]int // communications with their transports
	SpecKinds                                   map[string]int // rows of specKinds
}

func newCounts() *Counts {
	return &Counts{
		Refused: map[string]int{}, Ops: map[string]int{}, Kinds: map[string]int{}, Types: map[string]int{},
		Ranks: map[string]int{}, Axes: map[string]int{}, Schedule: map[string]int{}, Moves: map[string]int{},
		SpecKinds: map[string]int{},
	}
}

func (c *Counts) add(s Spec, o Outcome) {
	c.Specs++
	c.Interpreted += o.Interprets
	if o.Refused != "" {
		c.Refused[string(o.Refused)]++
	}
	if o.Program == nil || o.Finding != nil {
		return
	}
	c.Accepted++
	if !o.Compared {
		c.Unsure++
	}
	c.spec(s, o.Program)
	c.program(o.Program)
	for _, k := range specKinds {
		if k.holds(o.Pipeline, o.Program) {
			c.SpecKinds[k.name]++
		}
	}
}

func (c *Counts) built(*hostir.Program) { c.Built++ }

// spec counts the features of the text of a spec.
func (c *Counts) spec(s Spec, p *hostir.Program) {
	for _, op := range s.Ops {
		name := fmt.Sprintf("%s of %d", op.Fn, len(op.In))
		for _, a := range op.Attrs {
			if a.Name == "split" {
				name += ", split=" + a.Value
			}
		}
		c.Ops[name]++
	}
	for _, t := range p.Tensors {
		if t.Role == hostir.Input || t.Role == hostir.Output {
			c.Types[string(t.DType)]++
		}
	}
	for _, t := range s.Tensors {
		for _, a := range t.Axes {
			c.Kinds[kindName(a)]++
		}
	}
	c.Ranks[fmt.Sprint(p.Meshes[0].Size())]++
	c.Axes[fmt.Sprintf("%d axes, %d more meshes", len(s.World.Axes), len(s.Teams))]++
	for _, f := range s.Schedule {
		of, field := schedule.SplitPath(f.Path)
		if of != "" && of != schedule.All {
			field = "NAME." + field // of one communication
		}
		c.Schedule[field+": "+f.Value]++
	}
}

// kindName names the kind of an axis as specs write it.
func kindName(a domain.Axis) string {
	if a.Kind == domain.Serial {
		return "serial"
	}
	name, _, _ := strings.Cut(a.String(), "(")
	return name
}

// program counts the communications of a program and its fallback variant, once for each kind and transport.
func (c *Counts) program(p *hostir.Program) {
	met := map[string]bool{}
	for _, form := range p.Variants() {
		for s := range hostir.All(form.Body) {
			switch s := s.(type) {
			case *hostir.Communication:
				met[fmt.Sprintf("%s by %s", s.Type, s.Backend)] = true
			case *hostir.P2PCommunication:
				met[fmt.Sprintf("%s by %s", p2pName(s), s.Backend)] = true
			case *hostir.PeerReadSum:
				met["peer-read reduction by IPC"] = true
			}
		}
	}
	for name := range met {
		c.Moves[name]++
	}
}

func p2pName(s *hostir.P2PCommunication) string {
	if s.Send {
		return "send"
	}
	return "receive"
}

// Print prints everything, in tables.
func (c *Counts) Print(w io.Writer) {
	share := 100 * float64(c.Accepted) / float64(max(1, c.Specs))
	fmt.Fprintf(w, "specs %d, accepted %d (%.0f %%), interpreted %d times, not compared %d, built and run %d\n",
		c.Specs, c.Accepted, share, c.Interpreted, c.Unsure, c.Built)
	fmt.Fprintln(w, "kinds of specs:")
	for _, k := range specKinds { // also those with a count of 0
		fmt.Fprintf(w, "  %7d  %s\n", c.SpecKinds[k.name], k.name)
	}
	for _, table := range []struct {
		title string
		rows  map[string]int
	}{
		{"communications and transports", c.Moves}, {"operations and operands", c.Ops}, {"kinds of axes", c.Kinds},
		{"element types", c.Types}, {"ranks", c.Ranks}, {"axes of the mesh", c.Axes}, {"schedule", c.Schedule}, {"refused", c.Refused},
	} {
		fmt.Fprintf(w, "%s:\n", table.title)
		for _, name := range slices.Sorted(maps.Keys(table.rows)) {
			fmt.Fprintf(w, "  %7d  %s\n", table.rows[name], name)
		}
	}
}
