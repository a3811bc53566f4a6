package launch

import (
	"fmt"
	"os/exec"
	"strings"
)

// A Tool is a program that a build needs, with the Debian package that contains it.
type Tool struct {
	Name, Package string
	alternatives  []string // names of programs that can be used in its place
}

// BuildTools lists the tools that every build needs.
var BuildTools = []Tool{
	{Name: "cmake", Package: "cmake"},
	{Name: "ninja", Package: "ninja-build", alternatives: []string{"ninja-build"}},
	{Name: "c++", Package: "g++", alternatives: []string{"g++", "clang++"}},
}

// checkTools returns an *EnvironmentError if this machine lacks a tool for device. It lists all missing build tools and
// the command that installs them, or names nvcc if only that is missing.
func checkTools(device Device) error {
	var missing, packages []string
	for _, t := range BuildTools {
		if t.Find(exec.LookPath) == "" {
			missing = append(missing, t.Name)
			packages = append(packages, t.Package)
		}
	}
	if len(missing) > 0 {
		return &EnvironmentError{Message: fmt.Sprintf(
			"%s not found; install with: sudo apt-get install %s (hirgen doctor looks at all that this machine has)",
			strings.Join(missing, ", "), strings.Join(packages, " "))}
	}
	if device == CUDA && nvcc() == "" {
		return &EnvironmentError{Message: "nvcc not found (looked at CUDACXX, PATH and " + defaultNVCC +
			"); install the CUDA toolkit, or use --device cpu, which needs no GPU"}
	}
	return nil
}

// Find returns the path of the tool or of an alternative, or "" if there is none.
func (t Tool) Find(lookPath func(program string) (string, error)) string {
	for _, name := range append([]string{t.Name}, t.alternatives...) {
		if path, err := lookPath(name); err == nil {
			return path
		}
	}
	return ""
}
