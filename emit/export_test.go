package emit

import "github.com/hirgen/hirgen/calls/names"

// IsReserved reports whether emit never uses a name for a part of a spec.
func IsReserved(name string) bool { return names.IsReserved(name) }
