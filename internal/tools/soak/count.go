package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Counts has the statistics of a search. Specs, Interpreted and the table of refused specs cover all specs, the rest
// only accepted specs in which Examine finds nothing. Built counts failed builds too. Unsure counts accepted specs with
// results that cannot be compared (see Outcome.Compared).
type Counts struct {
	Specs, Accepted, Built, Interpreted, Unsure int

	tables map[string]map[string]int // counts by title of the table, then by row
}

// The titles of the tables.
const (
	ofKinds     = "kinds of specs" // rows of specKinds
	ofMoves     = "communications and transports"
	ofOps       = "operations and operands"
	ofAxisKinds = "kinds of axes"
	ofTypes     = "element types"
	ofRanks     = "ranks"
	ofAxes      = "axes of the mesh"
	ofSchedule  = "schedule"
	ofRefused   = "refused" // refused specs by code of the error
)

var titles = []string{ofKinds, ofMoves, ofOps, ofAxisKinds, ofTypes, ofRanks, ofAxes, ofSchedule, ofRefused}

func newCounts() *Counts {
	c := &Counts{tables: map[string]map[string]int{}}
	for _, title := range titles {
		c.tables[title] = map[string]int{}
	}
	return c
}

func (c *Counts) add(s Spec, o Outcome) {
	c.Specs++
	c.Interpreted += o.Interprets
	if o.Refused != "" {
		c.tables[ofRefused][string(o.Refused)]++
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
			c.tables[ofKinds][k.name]++
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
		c.tables[ofOps][name]++
	}
	for _, t := range p.Tensors {
		if t.Role == hostir.Input || t.Role == hostir.Output {
			c.tables[ofTypes][string(t.DType)]++
		}
	}
	for _, t := range s.Tensors {
		for _, a := range t.Axes {
			c.tables[ofAxisKinds][kindName(a)]++
		}
	}
	c.tables[ofRanks][fmt.Sprint(p.Meshes[0].Size())]++
	c.tables[ofAxes][fmt.Sprintf("%d axes, %d more meshes", len(s.World.Axes), len(s.Teams))]++
	for _, f := range s.Schedule {
		of, field := schedule.SplitPath(f.Path)
		if of != "" && of != schedule.All {
			field = "NAME." + field // a field for the communication of one tensor
		}
		c.tables[ofSchedule][field+": "+f.Value]++
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
		c.tables[ofMoves][name]++
	}
}

func p2pName(s *hostir.P2PCommunication) string {
	if s.Send {
		return "send"
	}
	return "receive"
}

// Print prints a summary line and all tables.
func (c *Counts) Print(w io.Writer) {
	share := 100 * float64(c.Accepted) / float64(max(1, c.Specs))
	fmt.Fprintf(w, "specs %d, accepted %d (%.0f %%), interpreted %d times, not compared %d, built and run %d\n",
		c.Specs, c.Accepted, share, c.Interpreted, c.Unsure, c.Built)
	for _, title := range titles {
		rows := slices.Sorted(maps.Keys(c.tables[title]))
		if title == ofKinds { // also those with a count of 0
			rows = lists.Map(specKinds, func(k specKind) string { return k.name })
		}
		fmt.Fprintf(w, "%s:\n", title)
		for _, row := range rows {
			fmt.Fprintf(w, "  %7d  %s\n", c.tables[title][row], row)
		}
	}
}
