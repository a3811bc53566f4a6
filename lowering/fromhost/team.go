package fromhost

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// teamKey identifies a communicator: its transport, and its ranks. The ranks are those along an axis of a mesh or,
// without an axis, all ranks of the mesh.
type teamKey struct {
	mesh *domain.Mesh
	axis string
	via  string // empty: NCCL
}

// team returns the name of a communicator. It declares the communicator on first use. where names it in error messages.
func (b *builder) team(m *domain.Mesh, axis, via, where string) string {
	if len(m.Axes) == 1 {
		axis = m.Axes[0].Name // all ranks of a 1-D mesh are along its axis
	}
	key := teamKey{m, axis, via}
	if name, ok := b.teams[key]; ok {
		return name
	}
	label := axis
	switch {
	case axis == "" || m != b.program.Meshes[0] && len(m.Axes) == 1:
		label = m.Name
	case m != b.program.Meshes[0]:
		label = m.Name + "_" + axis
	}
	name := b.names.Member(label + "_" + via)
	b.teams[key] = name
	b.out.Teams = append(b.out.Teams, &calls.Team{Name: name, Mesh: b.meshes[m], Axis: int64(axisIndex(m, axis)), Whole: axis == "",
		Where: where, Via: via})
	return name
}

// world returns the team of all ranks over NCCL.
func (b *builder) world(pos diag.Pos) string {
	m := b.program.Meshes[0]
	return b.team(m, "", "", calls.At(pos, "mesh "+m.Name))
}

// teamOf returns the team of a communication. A SendRecv moves data between two meshes, so its team is all ranks.
func (b *builder) teamOf(s *hostir.Communication) string {
	if s.Type == collective.SendRecv {
		return b.world(s.Pos)
	}
	via := strings.TrimPrefix(s.Backend.Row().Name, schedule.NCCL)
	return b.team(s.Mesh, s.MeshAxis, via, calls.At(s.Pos, strings.TrimSuffix("mesh "+s.Mesh.Name+" axis "+s.MeshAxis, " axis ")))
}
