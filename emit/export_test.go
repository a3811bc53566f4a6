package emit

import "github.com/hirgen/hirgen/lowering/calls"

// IsReserved reports whether a name is never given to anything of a spec.
func IsReserved(name string) bool { return calls.IsReserved(name) }
