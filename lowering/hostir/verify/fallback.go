package verify

import (
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// fallback checks the fallback variant, and that it can replace this program.
func (v *verifier) fallback() {
	other := v.program.Fallback
	if other == nil {
		return
	}
	here, there := promises(v.program), promises(other)
	for i := range max(len(here), len(there)) {
		if i >= len(here) || i >= len(there) || here[i] != there[i] {
			v.breachAt(diag.Pos{}, "fallback", "the fallback variant has another name, input, output, mesh or reference")
			break
		}
	}
	for s := range hostir.All(other.Body) {
		if transfer, ok := s.(*hostir.P2PCommunication); ok && transfer.Backend.IPC() && transfer.Locality != hostir.IntraNode {
			v.breach(s, "fallback", "%s is carried by %s in the fallback variant, also between nodes", transfer.Handle, transfer.Backend)
		}
	}
	if found, ok := diag.Diagnostics(Program(other)); ok {
		v.errors.Append(found.Items...)
	}
}

// promises returns the lines of a program's header that matter to its caller: its name, parameters, meshes, inputs and
// outputs, and reference.
func promises(p *hostir.Program) []string {
	var list []string
	for line := range strings.Lines(text.Header(p)) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "tensor":
			if strings.Contains(rest, ", input") || strings.Contains(rest, ", output") {
				list = append(list, line)
			}
		case "program", "param", "mesh", "reference":
			list = append(list, line)
		}
	}
	return list
}
