package runtime_cpp

import (
	"fmt"
	"regexp"
)

var abiVersion = regexp.MustCompile(`(?m)^#define HIRGEN_ABI_VERSION (\d+)$`)

// ABIVersion returns HIRGEN_ABI_VERSION of c_api.h as text: the version of the C ABI of emitted libraries.
func ABIVersion() (string, error) {
	header, err := FS.ReadFile("include/hirgen/c_api.h")
	if err != nil {
		return "", err
	}
	found := abiVersion.FindSubmatch(header)
	if found == nil {
		return "", fmt.Errorf("internal error: c_api.h does not define HIRGEN_ABI_VERSION")
	}
	return string(found[1]), nil
}
