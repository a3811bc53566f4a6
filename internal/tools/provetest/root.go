package provetest

import (
	"path/filepath"
	"runtime"
)

// root returns the folder of the module.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Spec returns the path of an example spec.
func Spec(name string) string { return filepath.Join(root(), "testdata", "specs", name, "spec.yaml") }
