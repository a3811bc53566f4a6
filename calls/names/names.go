// Package names assigns the identifiers of an emitted program.
package names

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/names"
)

// Table assigns C++ identifiers. An emitted file has one flat name space: no name shadows another. A name may be
// assigned again after its scope has ended (Release).
type Table struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by base + suffix
}

// NewTable returns a table in which two kinds of names are taken: names that templates use, and the names of element types
// that emitted programs declare.
func NewTable() *Table { return &Table{taken: maps.Clone(reserved()), next: map[string]int{}} }

var reserved = sync.OnceValue(func() map[string]bool {
	n := &Table{taken: map[string]bool{}}
	for _, list := range []string{emittedNames, domain.Lacking} {
		n.Reserve(strings.Fields(list)...)
	}
	return n.taken
})

// Reserve marks names as taken.
func (n *Table) Reserve(list ...string) {
	lists.Mark(n.taken, list)
}

// Release frees the name of a variable whose scope has ended. want is the argument of the call of Local that returned
// name.
func (n *Table) Release(want, name string) {
	delete(n.taken, name)
	delete(n.next, identifier(want))
}

// Local returns an identifier for a variable: want, or a similar name that is free.
func (n *Table) Local(want string) string { return n.claim(identifier(want), "") }

// Member returns an identifier for a data member, like Local, with "_" at the end.
func (n *Table) Member(want string) string { return n.claim(identifier(want), "_") }

// Constant returns an identifier in the style of constants: worker_done becomes kWorkerDone.
func (n *Table) Constant(want string) string { return n.claim("k"+ClassName(identifier(want)), "") }

// claim takes base+suffix, or the first free name of base2+suffix, base3+suffix, ... (base1_2 if base is base1).
func (n *Table) claim(base, suffix string) string {
	if names.Breaks(numbered(base, 2) + suffix) { // because of its prefix, such as cuda
		base = "v_" + base
	}
	name, i := base+suffix, max(2, n.next[base+suffix])
	for ; n.taken[name] || names.Breaks(name); i++ {
		name = numbered(base, i) + suffix
	}
	n.taken[name] = true
	n.next[base+suffix] = i
	return name
}

func numbered(base string, i int) string {
	if last := base[len(base)-1]; last >= '0' && last <= '9' {
		return fmt.Sprintf("%s_%d", base, i)
	}
	return fmt.Sprintf("%s%d", base, i)
}

// maxIdentifier keeps lines readable. Longer names are cut and made unique by number.
const maxIdentifier = 48

// identifier converts any text to letters, digits and single underscores between them, starting with a letter. The
// result may be a C++ keyword.
func identifier(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() == maxIdentifier {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "v" + name
	}
	return name
}

// takenFiles are the names, without extension, of other files in an emitted folder or of folders in its build.
var takenFiles = []string{"abi", "main", "reference", "CMakeFiles"}

// IsProgramName reports whether name can name files, CMake targets, a namespace and the functions of a C ABI. It does
// not check for keywords.
func IsProgramName(name string) bool {
	return !slices.Contains(takenFiles, name) && name != "" && len(name) <= 64 && name == identifierUncut(name) &&
		!strings.Contains(name, "__")
}

// identifierUncut removes the characters that IsProgramName forbids.
func identifierUncut(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.TrimLeft(strings.TrimRight(name, "_"), "_0123456789"))
}

// ClassName converts a program's name to a type name: ag_matmul becomes AgMatmul.
func ClassName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// emittedNames are names that templates use, so that Table does not assign them.
const emittedNames = `std hirgen main context context_ caller stream tensors table create reference run issue
	create_across_nodes sharers rank peer TENSORS kComputeStreams compute_ workspaces_ workspace_ graphs_ peers_ driver_ ucc_
	gemm gemm_add plan where added copy compute copy_joined_ fp32 i`

// IsReserved reports whether Local never assigns this name: emitted code may not redefine it, or it is not a valid
// identifier.
func IsReserved(name string) bool { return NewTable().Local(name) != name }
