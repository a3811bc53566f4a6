package launch

import (
	"fmt"
	"os/exec"
	"strings"
)

// tool is a program that a build needs, with the Debian package that brings it.
type tool struct {
	name, aptPackage string
	alternatives     []string // other programs that do as well
}

var buildTools = []tool{
	{name: "cmake", aptPackage: "cmake"},
	{name: "ninja", aptPackage: "ninja-build", alternatives: []string{"ninja-build"}},
	{name: "c++", aptPackage: "g++", alternatives: []string{"g++", "clang++"}},
}

// checkTools reports every tool that a build for device needs and this machine lacks,
// all in one error, with the line to type.
func checkTools(device Device) error {
	var missing, packages []string
	for _, t := range buildTools {
		if !t.present() {
			missing = append(missing, t.name)
			packages = append(packages, t.aptPackage)
		}
	}
	if len(missing) > 0 {
		return &EnvironmentError{Message: fmt.Sprintf(
			"%s not found; install with: sudo apt-get install %s",
			strings.Join(missing, ", "), strings.Join(packages, " "))}
	}
	if device == CUDA && nvcc() == "" {
		return &EnvironmentError{Message: "nvcc not found (looked at CUDACXX, PATH and " + defaultNVCC +
			"); install the CUDA toolkit, or use --device cpu, which needs no GPU"}
	}
	return nil
}

func (t tool) present() bool {
	for _, name := range append([]string{t.name}, t.alternatives...) {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}
