package passes

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
)

// TestMostCopies compares the largest number of copies that the pass join-copies joins with the limit of the runtime's kernel.
func TestMostCopies(t *testing.T) {
	header, err := os.ReadFile("../../runtime_cpp/include/hirgen/copies.hpp")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("kMostCopies = %d;", calls.MostCopies); !strings.Contains(string(header), want) {
		t.Errorf("copies.hpp does not have %q", want)
	}
}
