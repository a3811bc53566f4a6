package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

const (
	// maxMeshes is the largest number of named meshes.
	maxMeshes = 256
	// maxWorld is the largest number of ranks.
	maxWorld = 1024
	// worldName is the name of the mesh of all ranks.
	worldName = "world"
)

// meshes builds the world mesh and the named meshes, whose ranks are ranks of the world.
func (a *assembler) meshes() {
	world := a.worldMesh()
	a.p.Meshes = []*domain.Mesh{world}
	for i, sm := range a.src.meshes {
		if i == maxMeshes {
			a.list.Add(sm.pos, diag.BadMesh, "there are more than %d meshes", maxMeshes)
			a.src.incomplete = true
			break
		}
		m, ok := a.subMesh(sm)
		if !ok {
			a.broken["mesh "+sm.name.value] = true
			continue
		}
		a.p.Meshes = append(a.p.Meshes, m)
	}
	if a.src.world == nil && len(a.src.meshes) > 0 {
		a.coverWorld(world)
	}
	for i, m := range a.p.Meshes[1:] {
		for _, r := range m.Ranks {
			if r >= world.Size() && a.src.world != nil {
				a.list.Add(a.meshPos(i+1), diag.BadMesh, "rank %d of mesh %s is not in the world of %d ranks", r, m.Name, world.Size())
				break
			}
		}
	}
}

// meshPos returns the position of the declaration of the named mesh p.Meshes[i], with i > 0.
func (a *assembler) meshPos(i int) diag.Pos {
	for _, sm := range a.src.meshes {
		if sm.name.value == a.p.Meshes[i].Name {
			return sm.pos
		}
	}
	return a.src.pos
}

// worldMesh builds the mesh of all ranks. Without a valid declaration, it returns a world of one rank. coverWorld then
// extends an undeclared world to the union of the named meshes.
func (a *assembler) worldMesh() *domain.Mesh {
	one := &domain.Mesh{Name: worldName, Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: 1}}}, Ranks: []int{0}}
	if a.src.world == nil {
		return one
	}
	axes, size, ok := a.meshAxes(a.src.world)
	if !ok {
		a.broken["mesh "+worldName] = true
		return one
	}
	return &domain.Mesh{Name: worldName, Axes: axes, Ranks: lists.Numbers(size)}
}

// meshAxes reads the axes of a mesh and the number of its ranks.
func (a *assembler) meshAxes(sm *sourceMesh) (axes []domain.MeshAxis, size int, ok bool) {
	if len(sm.axes) == 0 {
		if !a.src.incomplete {
			a.list.Add(sm.pos, diag.BadMesh, "the mesh has no axes").WithHint("a mesh is written {x: 4} or {x: 2, y: 4}")
		}
		return nil, 0, false
	}
	ok, size = true, 1
	for _, sa := range sm.axes {
		if !slices.Contains([]string{"x", "y", "z"}, sa.name.value) {
			a.list.Add(sa.name.pos, diag.BadMesh, "%q is not a mesh axis", sa.name.value).WithHint("the axes of a mesh are x, y and z")
			ok = false
			continue
		}
		if slices.ContainsFunc(axes, func(m domain.MeshAxis) bool { return m.Name == sa.name.value }) {
			a.list.Add(sa.name.pos, diag.BadMesh, "the mesh has axis %s twice", sa.name.value)
			return nil, 0, false
		}
		e, good := a.extent(sa.extent)
		if !good {
			ok = false
			continue
		}
		axes = append(axes, domain.MeshAxis{Name: sa.name.value, Extent: e})
		size = int(min(e.Size, maxWorld+1)) * size // at most 1025 cubed, which an int holds
	}
	if ok && size > maxWorld {
		a.list.Add(sm.pos, diag.WorldTooLarge, "the mesh has more than %d ranks", maxWorld)
		ok = false
	}
	return axes, size, ok
}

// subMesh builds a named mesh from its axes and its list of ranks, which by default are 0, 1, 2, ...
func (a *assembler) subMesh(sm *sourceMesh) (*domain.Mesh, bool) {
	if !checkName(a.list, sm.name, "a mesh", false) || !a.scope.declare(a.list, sm.name, "a mesh") {
		return nil, false
	}
	axes, size, ok := a.meshAxes(sm)
	if !ok {
		return nil, false
	}
	m := &domain.Mesh{Name: sm.name.value, Axes: axes, Ranks: lists.Numbers(size)}
	if sm.ranks == nil {
		return m, true
	}
	listed, good := a.ranks(sm.ranks)
	if good && len(listed) != size {
		a.list.Add(sm.pos, diag.BadMesh, "mesh %s lists %d ranks, but its axes make %d", m.Name, len(listed), size)
		return nil, false
	}
	for i, r := range listed {
		if slices.Contains(m.Ranks[:min(i, size)], r.number) {
			a.list.Add(r.from.pos, diag.BadMesh, "rank %d is in mesh %s twice", r.number, m.Name)
			good = false
		} else if i < size {
			m.Ranks[i] = r.number
		}
	}
	return m, ok && good
}

// listedRank is a rank of a mesh, and the text in the list of ranks that names this rank or its range.
type listedRank struct {
	number int
	from   text
}

// ranks evaluates a list of ranks, in which first..last stands for a range.
func (a *assembler) ranks(list []text) (ranks []listedRank, ok bool) {
	ok = true
	for _, t := range list {
		first, last := t, t
		if at := strings.Index(t.value, ".."); at >= 0 {
			first, last = trim(t.slice(0, at)), trim(t.slice(at+2, len(t.value)))
		}
		from, good := a.eval(first)
		to := from
		if good && last.value != first.value {
			to, good = a.eval(last)
		}
		for _, n := range []int64{from.value, to.value} {
			if good && (n < 0 || n >= maxWorld) {
				a.list.Add(t.pos, diag.BadMesh, "%d is not a rank; ranks are 0 to %d", n, maxWorld-1)
				good = false
			}
		}
		for n := from.value; good && n <= to.value; n++ {
			ranks = append(ranks, listedRank{int(n), t})
		}
		ok = ok && good
	}
	return ranks, ok
}

// coverWorld makes the world the union of the named meshes. If their ranks have gaps, it reports all ranks that are
// in no mesh at the mesh with the rank after the first gap, and leaves the world as it is.
func (a *assembler) coverWorld(world *domain.Mesh) {
	var ranks []int
	for _, m := range a.p.Meshes[1:] {
		ranks = append(ranks, m.Ranks...)
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	if missing, after := gaps(ranks); missing != "" {
		at := slices.IndexFunc(a.p.Meshes, func(m *domain.Mesh) bool { return m != world && slices.Contains(m.Ranks, after) })
		a.list.Add(a.meshPos(at), diag.BadMesh, "%s in no mesh", missing).
			WithHint("number the ranks from 0, or give the world a mesh of its own: \"mesh: {x: %d}\"", ranks[len(ranks)-1]+1)
		return
	}
	if len(ranks) > 0 {
		world.Axes[0].Size = int64(len(ranks))
		world.Ranks = ranks
	}
}

// gaps lists the ranks that are not in a sorted list, such as "rank 2 is" or "ranks 3..4, 7 are", and the rank after the first
// gap. missing is empty if there is no gap.
func gaps(ranks []int) (missing string, after int) {
	var parts []string
	next := 0
	for _, r := range ranks {
		if r > next && parts == nil {
			after = r
		}
		switch r - next {
		case 0:
		case 1:
			parts = append(parts, strconv.Itoa(next))
		default:
			parts = append(parts, fmt.Sprintf("%d..%d", next, r-1))
		}
		next = r + 1
	}
	switch missing = strings.Join(parts, ", "); {
	case missing == "":
		return "", 0
	case len(parts) == 1 && !strings.Contains(missing, "."):
		return "rank " + missing + " is", after
	}
	return "ranks " + missing + " are", after
}

// mesh returns the mesh that a tensor names. The default is the world.
func (a *assembler) mesh(t text) (*domain.Mesh, bool) {
	name := t.value
	if !t.given() {
		name = worldName
	}
	if a.broken["mesh "+name] {
		return nil, false
	}
	var names []string
	for _, m := range a.p.Meshes {
		if m.Name == name {
			return m, true
		}
		names = append(names, m.Name)
	}
	hintNearest(a.list.Add(t.pos, diag.UnknownMesh, "there is no mesh %q", name), name, names)
	return nil, false
}
