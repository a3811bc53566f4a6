package pipeline

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// TestGraphOfManyTasks is property 10, its second half: the graph of 10,000 operations one after another is built within
// 300 ms of one core, and the time per task is flat from 1,000 on. That predictions lie between bounds is held in
// cost.
func TestGraphOfManyTasks(t *testing.T) {
	small, large := timeOfBuild(t, 1000), timeOfBuild(t, 10000)
	if large > 300*time.Millisecond {
		t.Errorf("the graph of 10,000 tasks takes %v", large)
	}
	if large > 40*small && large > 50*time.Millisecond {
		t.Errorf("10,000 tasks take %v, and 1,000 %v", large, small)
	}
}

// timeOfBuild is the least of a few times on a processor.
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

// processorTime is what this process has used, which other processes on the machine do not change.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// straight is a program of n operations on one rank, each of which reads what the two before it wrote.
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
