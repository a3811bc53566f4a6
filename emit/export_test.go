package emit

import "github.com/hirgen/hirgen/lowering/calls/names"

// IsReserved reports whether a name is never given to anything of a spec.
func IsReserved(name string) bool { return names.IsReserved(name) }
