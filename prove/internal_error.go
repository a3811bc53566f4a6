package prove

import "github.com/hirgen/hirgen/prove/values"

// internalError describes a panic of a check. Neither the program nor the spec has to be wrong. at is a position in the
// spec, or its file.
func internalError(c Check, failure *values.InternalError, at string) *Finding {
	return &Finding{Check: c, Severity: Undecided, Message: failure.Error(), At: []Place{{Spec: at}}, Internal: true}
}
