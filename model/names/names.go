// Package names decides which names a program, a tensor, a parameter or a mesh may have. Names become part of C++, CMake
// and file names. So their characters come from an allow-list, and names that C++, CMake or file systems reserve are
// refused or spelled differently.
package names

import (
	"fmt"
	"strings"
)

// MaxLength is the largest number of bytes of a name. Names derived from it stay within the limits of linkers and file
// systems.
const MaxLength = 63

// Fault returns the reason why a text is not a well-formed name, or an empty string. It does not test for reserved names.
func Fault(name string) string {
	switch {
	case name == "":
		return "a name is missing"
	case len(name) > MaxLength:
		return fmt.Sprintf("%q is longer than %d letters", name, MaxLength)
	case strings.ContainsAny(name, `/\`) || strings.Contains(name, ".."):
		return fmt.Sprintf("%q is not a name: it holds a path", name)
	case !isNameLetter(name[0]):
		return fmt.Sprintf("%q is not a name: it does not begin with a letter", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !isNameLetter(byte(r)) && !isNameTail(byte(r)) }):
		return fmt.Sprintf("%q is not a name: it has more than letters, digits and underscores", name)
	case strings.Contains(name, "__") || strings.HasSuffix(name, "_"):
		return fmt.Sprintf("%q is not a name: generated names end in an underscore or hold two", name)
	}
	return ""
}

func isNameLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isNameTail(c byte) bool   { return c >= '0' && c <= '9' || c == '_' }

// Refused returns the owner of a well-formed name that a spec cannot give to a tensor, or with tensor false to a
// parameter or a mesh. It returns an empty string for other names, because generated code spells reserved names
// differently.
func Refused(name string, tensor bool) string {
	if owner := ReservedBy(name, false); owner == axisKind || !tensor && (name == "rank" || name == "world") {
		return owner
	}
	return ""
}

// Breaks reports whether a name is a keyword, a macro, a name of a library or an axis kind, which generated C++ must not
// declare in any scope. It is false for names of the generated program and for functions of the C library.
func Breaks(name string) bool {
	owner := ReservedBy(name, false)
	return owner != "" && owner != generated && owner != function
}

// ReservedBy returns the owner of a reserved well-formed name, or an empty string if the name is free. With program, it
// includes names that are reserved only for the name of a program.
func ReservedBy(name string, program bool) string {
	for _, r := range reservations {
		if r.programOnly && !program {
			continue
		}
		if r.names[name] || r.anyCase && r.names[strings.ToLower(name)] {
			return r.what
		}
	}
	if len(name) > 2 && strings.HasPrefix(name, "cu") && name[2] >= 'A' && name[2] <= 'Z' {
		return "a name of CUDA" // the driver's functions, and macros with their versions
	}
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix.text) {
			return prefix.what
		}
	}
	return ""
}

// Class spells a program's name as its C++ class: ag_matmul -> AgMatmul.
func Class(name string) string {
	class := ""
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			class += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return class
}
