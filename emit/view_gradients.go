package emit

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// pairGradients finds the tensor of the forward program that each tensor of the backward program belongs to, and checks
// that both have the same type and shape. It sets gradientOf of gradients.
func pairGradients(file string, roles map[string]string, forward, backward []pythonTensor) error {
	for i := range backward {
		t := &backward[i]
		if of, stated := roles[t.name]; stated && of == "" && t.output {
			continue
		}
		like, gradient := pairOf(*t, roles, forward)
		switch {
		case like < 0 && t.output:
			return errorAt(diag.Pos{File: file}, "output %s of the backward pass is the gradient of no input of the forward pass", t.name)
		case like < 0:
			return errorAt(diag.Pos{File: file}, "input %s of the backward pass is neither a tensor of the forward pass nor the gradient of an "+
				"output; write both by hirgen grad SPEC -o BACKWARD --forward FORWARD", t.name)
		case !slices.Equal(t.shape, forward[like].shape) || t.dtype != forward[like].dtype:
			return errorAt(diag.Pos{File: file}, "%s of the backward pass is %s%v and %s of the forward pass %s%v", t.name, t.dtype, t.shape,
				forward[like].name, forward[like].dtype, forward[like].shape)
		case gradient:
			t.gradientOf = forward[like].name
		}
	}
	return nil
}

// pairOf returns the index of the tensor of the forward program that a tensor of the backward program belongs to, or -1, and
// whether it is the gradient of that tensor. A role from the backward spec decides. Without one, an input with the name of a
// tensor of the forward program is that tensor, even if the name is "d" and the name of an output. hirgen grad gives no
// gradient the name of a tensor of the forward pass. A tensor whose gradient has a role has no other gradient.
func pairOf(t pythonTensor, roles map[string]string, forward []pythonTensor) (like int, gradient bool) {
	of, stated := roles[t.name]
	if !stated && !t.output {
		if like = slices.IndexFunc(forward, func(f pythonTensor) bool { return f.name == t.name }); like >= 0 {
			return like, false
		}
	}
	taken := map[string]bool{}
	for _, name := range roles {
		taken[name] = true
	}
	return slices.IndexFunc(forward, func(f pythonTensor) bool {
		return f.output != t.output && (stated && f.name == of || !stated && !taken[f.name] && t.name == "d"+f.name)
	}), true
}
