package pipeline

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// TestGraphOfManyTasks is the second half of property 10: the graph of a chain of 10,000 operations is built within 300 ms
// of processor time. The time per task is at most 4 times that of 1,000 operations, unless the whole takes at most 50 ms.
// Package cost tests the first half, the bounds of predictions.
func TestGraphOfManyTasks(t *testing.T) {
	small, large := timeOfBuild(t, 1000), timeOfBuild(t, 10000)
	if large > 300*time.Millisecond {
		t.Errorf("the graph of 10,000 tasks takes %v", large)
	}
	if large > 40*small && large > 50*time.Millisecond {
		t.Errorf("10,000 tasks take %v, and 1,000 %v", large, small)
	}
}

// timeOfBuild returns the least processor time of five builds of a graph with n tasks.
func timeOfBuild(t *testing.T, n int) time.Duration {
	t.Helper()
	p := straight(n)
	least := time.Hour
	for range 5 {
		begin := processorTime(t)
		g, err := Build(p)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, processorTime(t)-begin)
		if len(g.Tasks) != n || len(g.Edges) < n-1 {
			t.Fatalf("%d tasks, %d edges", len(g.Tasks), len(g.Edges))
		}
	}
	return least
}

// processorTime returns the processor time that this process has used. Other processes do not change it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// straight returns a program of n operations on one rank, each of which reads the results of the two before it, or inputs.
func straight(n int) *hostir.Program {
	mesh := &domain.Mesh{Name: "world", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: 1}}}, Ranks: []int{0}}
	p := &hostir.Program{Name: "straight", Meshes: []*domain.Mesh{mesh}}
	tensor := func(name string) *hostir.Tensor {
		t := &hostir.Tensor{Name: name, DType: domain.FP32, Axes: []domain.Axis{{Extent: domain.Extent{Size: 64}}}, Mesh: mesh}
		p.Tensors = append(p.Tensors, t)
		return t
	}
	a, b := tensor("A"), tensor("B")
	for i := range n {
		out := tensor(fmt.Sprintf("T%d", i))
		p.Body = append(p.Body, &hostir.Binary{Fn: "add", Out: out, A: a, B: b})
		a, b = b, out
	}
	return p
}
