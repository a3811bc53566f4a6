package model

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// maxAxes is the largest number of axes of a tensor's shape. The kernels have the same limit.
const maxAxes = 8

// declareTensors reads the tensors that the spec declares.
func (a *assembler) declareTensors() {
	for _, st := range a.src.tensors {
		name := st.name.value
		if !checkName(a.list, st.name, aTensor, false) || !a.scope.declare(a.list, st.name, aTensor) {
			a.broken[name] = true
			continue
		}
		t, ok := a.tensor(st)
		if !ok {
			a.broken[name] = true
			continue
		}
		a.tensors[name] = t
		a.p.Tensors = append(a.p.Tensors, t)
	}
}

func (a *assembler) tensor(st *sourceTensor) (*Tensor, bool) {
	mesh, ok := a.mesh(st.mesh)
	if !ok {
		// Read the axes in any case, to report their mistakes too. The mesh is nil, so deviceAxis checks only a written
		// extent.
		for _, t := range st.axes {
			a.axis(t, nil)
		}
		return nil, false
	}
	t := &Tensor{Name: st.name.value, DType: a.elementType(st.dtype, a.dtype), Mesh: mesh, Annotated: true, Pos: st.pos}
	for _, text := range st.axes {
		axis, good := a.axis(text, mesh)
		ok = ok && good
		t.Axes = append(t.Axes, axis)
	}
	if len(st.axes) == 0 && !a.src.incomplete {
		t.Scalar, t.Axes = true, []domain.Axis{{Kind: domain.Serial, Extent: domain.Extent{Size: 1}}}
	}
	return t, ok && a.checkAxes(st, t)
}

// checkAxes checks the number of axes, the size and repeated axes of a tensor. It returns false if one of them is wrong.
func (a *assembler) checkAxes(st *sourceTensor, t *Tensor) bool {
	shape := domain.Shape(t.Axes)
	switch {
	case len(shape) == 0:
		if !a.src.incomplete {
			a.list.Add(st.pos, diag.BadAxisCount, "tensor %s has no axes", t.Name).WithHint("a tensor of one element is written %s: [1]", t.Name)
		}
		return false
	case len(shape) > maxAxes:
		a.list.Add(st.pos, diag.BadAxisCount, "tensor %s has %d axes; at most %d are possible", t.Name, len(shape), maxAxes)
		return false
	}
	return a.checkSize(st.pos, t) && a.checkTwice(st, t)
}

// maxBytes is the largest size of a tensor in bytes, over all ranks: the memory of maxWorld GPUs of 256 GiB each. Sums
// of sizes, and products with numbers of ranks, then fit in 64 bits.
const maxBytes = 1 << 48

// checkSize reports a tensor that is larger than maxBytes or whose size does not fit in 64 bits, and returns false for it.
func (a *assembler) checkSize(pos diag.Pos, t *Tensor) bool {
	n, ok := domain.Elements(domain.Shape(t.Axes))
	bytes, fits := expr.Mul(n, t.DType.Size())
	switch {
	case !ok || !fits:
		a.list.Add(pos, diag.Overflow, "the size of tensor %s does not fit in 64 bits", t.Name)
	case bytes > maxBytes:
		a.list.Add(pos, diag.Overflow, "tensor %s has %d bytes, and %d GPUs hold %d at most", t.Name, bytes, maxWorld, int64(maxBytes))
	default:
		return true
	}
	return false
}

// checkTwice reports two axes on one mesh axis and two Stream axes, and returns false for them.
func (a *assembler) checkTwice(st *sourceTensor, t *Tensor) bool {
	ok := true
	for i, axis := range t.Axes {
		for j, other := range t.Axes[:i] {
			if axis.Kind != other.Kind {
				continue
			}
			if axis.Kind == domain.Device && axis.Mesh == other.Mesh || axis.Kind == domain.Stream {
				a.list.Add(st.axes[i].pos, diag.AxisTwice, "tensor %s has two axes %s", t.Name, kindName(axis)).
					AddNote(st.axes[j].pos, "the first one is here")
				ok = false
			}
		}
	}
	return ok
}

func kindName(axis domain.Axis) string {
	if axis.Kind == domain.Device {
		return "DID" + axis.Mesh
	}
	return "Stream"
}

// axisKinds has the kind of an axis for its spelling in a spec. kindNames and deviceName list the spellings of all
// kinds and of split axes, in the order of messages.
var (
	axisKinds = map[string]domain.Kind{"DIDx": domain.Device, "DIDy": domain.Device, "DIDz": domain.Device, "Stream": domain.Stream,
		"r": domain.Reduction, "b": domain.Broadcast}
	kindNames  = []string{"DIDx", "DIDy", "DIDz", "Stream", "r", "b"}
	deviceName = []string{"DIDx", "DIDy", "DIDz"}
)

// axis reads one axis: "M/D", "DIDx", "DIDx(D)", "Stream(S)", "r(K)" or "b(1)".
func (a *assembler) axis(written text, mesh *domain.Mesh) (domain.Axis, bool) {
	t := trim(written)
	if slices.Contains(deviceName, t.value) {
		return a.deviceAxis(t, t.value[3:], text{}, mesh)
	}
	name, argument, ok := kindCall(t)
	if !ok {
		e, good := a.axisExtent(written)
		return domain.Axis{Extent: e}, good
	}
	kind, known := axisKinds[name.value]
	switch {
	case !known:
		d := a.list.Add(name.pos, diag.AxisSyntax, "%q is not a kind of axis", name.value)
		hintNearest(d, name.value, kindNames)
		return domain.Axis{}, false
	case kind == domain.Device:
		return a.deviceAxis(t, name.value[3:], argument, mesh)
	}
	e, good := a.extent(argument)
	if good && kind == domain.Stream && e.Size > domain.MostCalls {
		a.noteOverrides(a.list.Add(argument.pos, diag.BadExtent,
			"the axis %s has %d slices; at most %d are possible, since each is a call of its own", t.value, e.Size, domain.MostCalls).
			WithHint("make the slices larger: Stream(S) beside an axis of M/S"), argument.value)
		good = false
	}
	if good && kind == domain.Broadcast && e.Size != 1 {
		a.list.Add(argument.pos, diag.BadExtent, "the broadcast axis %s has %d elements; it has one", t.value, e.Size).
			WithHint("write b(1): the axis stretches to what it meets")
		good = false
	}
	return domain.Axis{Kind: kind, Extent: e}, good
}

// kindCall splits "name(argument)". ok is false for other texts, such as an expression.
func kindCall(t text) (name, argument text, ok bool) {
	open := strings.IndexByte(t.value, '(')
	if open < 1 || !strings.HasSuffix(t.value, ")") {
		return text{}, text{}, false
	}
	name = trim(t.slice(0, open))
	names := expr.Names(name.value)
	if len(names) != 1 || names[0].Text != name.value {
		return text{}, text{}, false
	}
	return name, trim(t.slice(open+1, len(t.value)-1)), true
}

// axisExtent reads a plain extent. It reports Stream, r and b without an extent, and names that begin with DID, unless they
// are parameters.
func (a *assembler) axisExtent(t text) (domain.Extent, bool) {
	if names := expr.Names(t.value); len(names) == 1 && names[0].Text == t.value && a.params[t.value] == 0 && !a.broken[t.value] {
		if t.value == "Stream" || t.value == "r" || t.value == "b" {
			a.list.Add(t.pos, diag.AxisSyntax, "the axis %s has no extent", t.value).WithHint("write %s(...)", t.value)
			return domain.Extent{}, false
		}
		if strings.HasPrefix(t.value, "DID") {
			d := a.list.Add(t.pos, diag.AxisSyntax, "%q is not a kind of axis", t.value)
			hintNearest(d, t.value, kindNames)
			return domain.Extent{}, false
		}
	}
	return a.extent(t)
}

// deviceAxis reads an axis that is split over the mesh axis meshAxis, and returns it with the extent of the mesh axis.
// argument is the extent in parentheses, as in DIDx(D), or empty. It must equal the extent of the mesh axis. mesh is nil
// if an error about the mesh has been reported.
func (a *assembler) deviceAxis(t text, meshAxis string, argument text, mesh *domain.Mesh) (domain.Axis, bool) {
	var written domain.Extent
	if argument.given() {
		var ok bool
		if written, ok = a.extent(argument); !ok {
			return domain.Axis{}, false
		}
	}
	if mesh == nil {
		return domain.Axis{}, false
	}
	if a.src.world == nil && len(a.src.meshes) == 0 {
		a.noMesh(t, meshAxis, argument)
		return domain.Axis{}, false
	}
	ma := mesh.Axis(meshAxis)
	if ma == nil {
		a.list.Add(t.pos, diag.UnknownMesh, "mesh %s has no axis %s", mesh.Name, meshAxis).
			WithHint("axes of the mesh: %s", lists.Join(mesh.Axes, func(m domain.MeshAxis) string { return m.Name }))
		return domain.Axis{}, false
	}
	if argument.given() && written.Size != ma.Size {
		a.list.Add(argument.pos, diag.DeviceExtent, "the axis has %d slices, but mesh axis %s has %d ranks", written.Size, meshAxis,
			ma.Size).
			WithHint("DID%s alone takes the extent of the mesh axis", meshAxis)
		return domain.Axis{}, false
	}
	return domain.Axis{Kind: domain.Device, Mesh: meshAxis, Extent: ma.Extent}, true
}

// noMesh reports a split axis in a spec that declares no mesh. It marks the world as broken, so that later tensors do
// not report the same.
func (a *assembler) noMesh(t text, meshAxis string, argument text) {
	a.broken["mesh "+worldName] = true
	if a.src.incomplete {
		return
	}
	ranks := "2"
	switch _, usual := a.params["D"]; {
	case argument.given():
		ranks = argument.value
	case usual:
		ranks = "D"
	}
	a.list.Add(t.pos, diag.UnknownMesh, "%s splits an axis over the ranks, and the spec has no mesh that says how many there are", t.value).
		WithHint("add a line \"mesh: {%s: %s}\"", meshAxis, ranks)
}
