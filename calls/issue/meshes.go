package issue

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// mesh is a mesh with precomputed positions of all world ranks.
type mesh struct {
	members []int64
	at      []int32 // position by world rank; -1: not in the mesh
	extents []int64
	steps   []int64 // difference of positions between adjacent coordinates along an axis
}

// Comm is a communicator of a team. Ranks lists its world ranks in the order of the mesh: one line along the team's
// axis or, for a team of the whole mesh, all of them.
type Comm struct {
	Team  *calls.Team
	Ranks []int32
}

// declareMeshes finds the positions of all ranks in meshes, and the ranks of guards.
func (w *World) declareMeshes() {
	p := w.Calls
	w.Size = int32(slices.Max(p.Ranks())) + 1
	for _, d := range p.Meshes {
		m := &mesh{members: p.Members(d), at: make([]int32, w.Size), steps: make([]int64, len(d.Extents))}
		for r := range m.at {
			m.at[r] = -1
		}
		for i, r := range m.members {
			if r >= 0 && r < int64(w.Size) {
				m.at[r] = int32(i)
			}
		}
		step := int64(1)
		m.extents = make([]int64, len(d.Extents))
		for axis := len(d.Extents) - 1; axis >= 0; axis-- {
			m.steps[axis] = step
			m.extents[axis] = w.Constant(d.Extents[axis])
			step *= m.extents[axis]
		}
		w.meshes[d.Name] = m
	}
	for _, g := range p.Guards {
		in := make([]bool, w.Size)
		for _, name := range g.Meshes {
			if m := w.meshes[name]; m != nil {
				for r, at := range m.at {
					in[r] = in[r] || at >= 0
				}
			}
		}
		w.guards[g.Name] = in
	}
}

// coordinate returns the coordinate of a rank along an axis; -1 if the rank is not in the mesh.
func (m *mesh) coordinate(axis int64, rank int32) int64 {
	if m.at[rank] < 0 {
		return -1
	}
	return int64(m.at[rank]) / m.steps[axis] % m.extents[axis]
}

// line returns the position of the first rank (coordinate 0) of the line through a rank along an axis.
func (m *mesh) line(axis int64, rank int32) int64 {
	return int64(m.at[rank]) - m.coordinate(axis, rank)*m.steps[axis]
}

// along returns the rank at a coordinate of the line through a rank along an axis. ok is false if there is none.
func (m *mesh) along(axis int64, rank int32, at int64) (int64, bool) {
	if m.at[rank] < 0 {
		return 0, false
	}
	position := m.line(axis, rank) + at*m.steps[axis]
	if at < 0 || at >= m.extents[axis] || position >= int64(len(m.members)) {
		return 0, false
	}
	return m.members[position], true
}

// holds reports whether a guard includes a rank. An empty guard includes all ranks.
func (w *World) holds(guard string, rank int32) bool {
	in, ok := w.guards[guard]
	return guard == "" || ok && in[rank]
}

// inMesh reports whether a mesh contains a rank. An empty name means all ranks.
func (w *World) inMesh(name string, rank int32) bool {
	m := w.meshes[name]
	return name == "" || m != nil && m.at[rank] >= 0
}

// Share reports whether ranks a and b share memory through the share d. They must be on one node. If d has a mesh, both
// must be in it, on the same line along d's axis.
func (w *World) Share(d *calls.Share, a, b int32) bool {
	if w.node(a) != w.node(b) {
		return false
	}
	if d.Mesh == "" {
		return true
	}
	m := w.meshes[d.Mesh]
	return m != nil && m.at[a] >= 0 && m.at[b] >= 0 && m.line(d.Axis, a) == m.line(d.Axis, b)
}

// Comms lists the communicators of all teams.
func (w *World) Comms() []Comm {
	w.communicators()
	return w.comms
}

// communicators returns the communicator of each rank, by team. It creates them on first use.
func (w *World) communicators() map[string][]int32 {
	if w.teams != nil {
		return w.teams
	}
	w.teams = map[string][]int32{}
	for _, team := range w.Calls.Teams {
		if m := w.meshes[team.Mesh]; m != nil {
			w.teams[team.Name] = w.lines(team, m)
		}
	}
	return w.teams
}

// lines creates the communicators of a team, and returns the number of the communicator of each world rank; -1: none.
func (w *World) lines(team *calls.Team, m *mesh) []int32 {
	of, made := slices.Repeat([]int32{-1}, int(w.Size)), map[int64]int32{}
	for r := range w.Size {
		if m.at[r] < 0 {
			continue
		}
		line := int64(0)
		if !team.Whole {
			line = m.line(team.Axis, r)
		}
		id, ok := made[line]
		if !ok {
			id = int32(len(w.comms))
			made[line] = id
			w.comms = append(w.comms, Comm{Team: team})
		}
		of[r] = id
	}
	for _, r := range m.members {
		if r >= 0 && r < int64(w.Size) {
			w.comms[of[r]].Ranks = append(w.comms[of[r]].Ranks, int32(r))
		}
	}
	return of
}
