package emit_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestSharedOutputsAreToldApart checks that a program with a CUDA graph maps the memory of each shared output, by its
// index among the caller's tensors, before capture.
func TestSharedOutputsAreToldApart(t *testing.T) {
	b := model.New("p").Param("D", 2).Schedule("pipeline", "p2p").Schedule("all.via", "ipc-put").Schedule("graph", "true")
	b.World().Axis("x", "D")
	for i := range 3 {
		b.Tensor(fmt.Sprint("A", i), "DIDx", "8")
		b.Tensor(fmt.Sprint("C", i), "Stream(D)", "8")
		b.Set(fmt.Sprint("C", i), fmt.Sprint("A", i))
	}
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	files, err := renderHost(program, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path != "p.cpp" {
			continue
		}
		calls := regexp.MustCompile(`prepare\(tensors\[\d+\], k\w+\)`).FindAllString(string(f.Data), -1)
		want := "prepare(tensors[3], kC0Shared) prepare(tensors[4], kC1Shared) prepare(tensors[5], kC2Shared)"
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("the program calls %s, want %s", got, want)
		}
	}
}
