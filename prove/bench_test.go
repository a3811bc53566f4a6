package prove_test

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/prove"
)

// BenchmarkProgram proves an AG+matmul along a ring. The number of operations grows with the square of the number of ranks.
func BenchmarkProgram(b *testing.B) {
	for _, ranks := range []int64{8, 16, 32, 64, 128, 256} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			programs, err := provetest.Lower(provetest.Spec("ag_matmul_ring"), map[string]int64{"D": ranks})
			if err != nil {
				b.Fatal(err)
			}
			operations := 0
			for b.Loop() {
				report, err := prove.Program(programs[0])
				if err != nil || !report.Proved() {
					b.Fatalf("%v, %v", err, report)
				}
				operations = report.Operations
			}
			b.ReportMetric(float64(operations), "operations")
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/float64(operations), "us/operation")
		})
	}
}
