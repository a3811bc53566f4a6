package unroll

import (
	"github.com/hirgen/hirgen/calls"
)

// mesh is a mesh with precomputed positions of all ranks.
type mesh struct {
	members []int64
	at      []int32 // position by world rank; -1: not in the mesh
	extents []int64
	steps   []int64 // difference of positions between adjacent coordinates along an axis
}

// world contains the meshes, guards and communicators of all ranks.
type world struct {
	size   int32
	meshes map[string]*mesh
	guards map[string][]bool  // by world rank
	comms  map[string][]int32 // by team and world rank: its communicator; -1: none
}

func newWorld(p *calls.Program) *world {
	w := &world{size: int32(len(p.Ranks())), meshes: map[string]*mesh{}, guards: map[string][]bool{}, comms: map[string][]int32{}}
	values := p.Values()
	for _, d := range p.Meshes {
		m := &mesh{members: p.Members(d), at: make([]int32, w.size), steps: make([]int64, len(d.Extents))}
		for r := range m.at {
			m.at[r] = -1
		}
		for i, r := range m.members {
			if r >= 0 && r < int64(w.size) {
				m.at[r] = int32(i)
			}
		}
		step := int64(1)
		m.extents = make([]int64, len(d.Extents))
		for axis := len(d.Extents) - 1; axis >= 0; axis-- {
			m.steps[axis] = step
			m.extents[axis], _ = values.Eval(d.Extents[axis])
			step *= m.extents[axis]
		}
		w.meshes[d.Name] = m
	}
	for _, g := range p.Guards {
		in := make([]bool, w.size)
		for _, name := range g.Meshes {
			if m := w.meshes[name]; m != nil {
				for r, at := range m.at {
					in[r] = in[r] || at >= 0
				}
			}
		}
		w.guards[g.Name] = in
	}
	return w
}

// coordinate returns the coordinate of a rank along an axis; -1 if the rank is not in the mesh.
func (m *mesh) coordinate(axis int64, rank int32) int64 {
	if m.at[rank] < 0 {
		return -1
	}
	return int64(m.at[rank]) / m.steps[axis] % m.extents[axis]
}

// line returns the position of the first rank of the line through a rank along an axis.
func (m *mesh) line(axis int64, rank int32) int64 {
	return int64(m.at[rank]) - m.coordinate(axis, rank)*m.steps[axis]
}

// along returns the rank at a coordinate of the line through a rank along an axis. ok is false if there is none.
func (m *mesh) along(axis int64, rank int32, at int64) (int64, bool) {
	if m.at[rank] < 0 {
		return 0, false
	}
	position := m.line(axis, rank) + at*m.steps[axis]
	if position < 0 || position >= int64(len(m.members)) {
		return 0, false
	}
	return m.members[position], true
}

// holds reports whether a guard includes a rank. An empty guard includes all.
func (w *world) holds(guard string, rank int32) bool {
	in, ok := w.guards[guard]
	return guard == "" || ok && in[rank]
}

// inMesh reports whether a mesh contains a rank. An empty name means all ranks.
func (w *world) inMesh(name string, rank int32) bool {
	m := w.meshes[name]
	return name == "" || m != nil && m.at[rank] >= 0
}

// joined reports whether two ranks share memory through a share.
func (w *world) joined(d *calls.Share, a, b int32) bool {
	if d.Mesh == "" {
		return true
	}
	m := w.meshes[d.Mesh]
	return m != nil && m.at[a] >= 0 && m.at[b] >= 0 && m.line(d.Axis, a) == m.line(d.Axis, b)
}

// communicators makes the communicators of all teams.
func (w *world) communicators(p *calls.Program) []Comm {
	var list []Comm
	for _, team := range p.Teams {
		m := w.meshes[team.Mesh]
		if m == nil {
			continue
		}
		of, made := make([]int32, w.size), map[int64]int32{}
		for r := range w.size {
			of[r] = -1
			if m.at[r] < 0 {
				continue
			}
			line := int64(0)
			if !team.Whole {
				line = m.line(team.Axis, r)
			}
			id, ok := made[line]
			if !ok {
				id = int32(len(list))
				made[line] = id
				list = append(list, Comm{Team: team})
			}
			of[r] = id
		}
		for _, r := range m.members {
			if r >= 0 && r < int64(w.size) {
				list[of[r]].Ranks = append(list[of[r]].Ranks, int32(r))
			}
		}
		w.comms[team.Name] = of
	}
	return list
}
