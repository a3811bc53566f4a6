package emit

// IsReserved reports whether a name is never given to anything of a spec.
func IsReserved(name string) bool {
	return newNames().taken[name]
}
