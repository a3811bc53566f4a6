package grad

import (
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/model"
	modelnames "github.com/hirgen/hirgen/model/names"
)

// names chooses names that neither the forward pass nor an earlier choice uses. Names that differ only in case count as
// equal.
type names struct {
	taken map[string]bool // in lower case
}

func newNames(p *model.Pipeline) *names {
	n := &names{taken: map[string]bool{}}
	for _, t := range p.Inputs {
		n.take(t.Name)
	}
	for _, op := range p.Written {
		for _, t := range op.Out {
			n.take(t.Name)
		}
	}
	for _, param := range p.Params {
		n.take(param.Name)
	}
	for _, m := range p.Meshes {
		n.take(m.Name)
	}
	return n
}

func (n *names) take(name string) { n.taken[strings.ToLower(name)] = true }

// fresh returns a name like the proposal that is neither used nor reserved, if necessary with a number, and marks it as used.
func (n *names) fresh(proposal string) string {
	proposal = strings.TrimRight(proposal[:min(len(proposal), modelnames.MaxLength-4)], "_")
	name := proposal
	for i := 2; n.taken[strings.ToLower(name)] || modelnames.ReservedBy(name, false) != ""; i++ {
		name = proposal + "_" + strconv.Itoa(i)
	}
	n.take(name)
	return name
}
