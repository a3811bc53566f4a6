package lowering

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGraphs compares the tasks and edges of example specs with the files in testdata/graph.
func TestGraphs(t *testing.T) {
	for _, s := range specTexts(t) {
		file := filepath.Join("..", "testdata", "graph", s.name+".txt")
		want, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			got, err := Graph(s.onMesh(t, "{x: D}", sizes(4, 2)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", file, diff)
			}
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
