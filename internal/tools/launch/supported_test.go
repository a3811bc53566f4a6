package launch

import (
	"errors"
	"strings"
	"testing"
)

func TestSupportedNamesTheSystem(t *testing.T) {
	if err := Supported("linux"); err != nil {
		t.Error(err)
	}
	var environment *EnvironmentError
	if err := Supported("darwin"); !errors.As(err, &environment) || !strings.Contains(err.Error(), "Linux, and this is darwin") {
		t.Errorf("got %v", err)
	}
}
