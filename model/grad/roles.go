package grad

import (
	"fmt"
	"regexp"
)

// role matches the comments that roles writes.
var role = regexp.MustCompile(`(?m)^# (\w+) is the gradient of (\w+|no tensor)\.\r?$`)

// Roles reads the comments of a backward spec about gradients that are not called "d" and the name of their tensor. It returns
// the names of the tensors by the names of the gradients, with "" for an output that is the gradient of no tensor.
func Roles(text []byte) map[string]string {
	roles := map[string]string{}
	for _, found := range role.FindAllSubmatch(text, -1) {
		if of := string(found[2]); of != "no tensor" {
			roles[string(found[1])] = of
		} else {
			roles[string(found[1])] = ""
		}
	}
	return roles
}

// roles writes the comments that Roles reads. A reader of the spec cannot tell from such names what the tensors are, because
// the forward pass may have tensors with the usual names of gradients.
func (w *writer) roles() {
	for _, list := range [][]Gradient{w.Given, w.Gradients} {
		for _, g := range list {
			if g.Name != "d"+g.Of.Name {
				w.add(fmt.Sprintf("# %s is the gradient of %s.", g.Name, g.Of.Name))
			}
		}
	}
	for _, name := range w.unasked() {
		w.add(fmt.Sprintf("# %s is the gradient of no tensor.", name))
	}
}
