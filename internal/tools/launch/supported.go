package launch

import "fmt"

// Supported returns an *EnvironmentError on systems where emitted programs cannot run: all except Linux. system is a
// GOOS value.
func Supported(system string) error {
	if system == "linux" {
		return nil
	}
	return &EnvironmentError{Message: fmt.Sprintf(
		"emitted programs run on Linux, and this is %s; check, lower, verify and emit work here: emit, and take the folder to Linux", system)}
}
