package launch

import "fmt"

// Supported is an *EnvironmentError on systems where emitted programs cannot run: all but Linux. The name is Go's.
func Supported(system string) error {
	if system == "linux" {
		return nil
	}
	return &EnvironmentError{Message: fmt.Sprintf(
		"emitted programs run on Linux, and this is %s; check, lower, verify and emit work here: emit, and take the folder to Linux", system)}
}
