package emit

import "github.com/hirgen/hirgen/calls/names"

// IsReserved reports whether emit never gives a name to parts of a spec.
func IsReserved(name string) bool { return names.IsReserved(name) }
