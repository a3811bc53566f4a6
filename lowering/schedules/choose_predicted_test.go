package schedules_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestAutoFarFromMeasurements checks a problem with half the rows of the nearest measured problem, whose schedule
// splits the GEMM. One GEMM of all rows is predicted to be faster, so auto does not split it.
func TestAutoFarFromMeasurements(t *testing.T) {
	few := schedules.Problem{Operation: "ag_matmul", Ranks: 4, M: 512, N: 8192, K: 8192}
	if m, ok := schedules.Nearest(few); !ok || m.M != 1024 || strings.Contains(m.Schedule, "eager") {
		t.Fatalf("the nearest measurement is %v, which was another one", m)
	}
	program := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "auto"), few)
	isCut := hostir.Any(program.Body, func(s hostir.Stmt) bool {
		loop, loops := s.(*hostir.For)
		return loops && hostir.Any(loop.Body, hostir.IsGEMM)
	})
	if want := "ag_matmul 512 x 8192 x 8192, bf16, 4 ranks: predicted "; !strings.HasPrefix(program.Auto.Basis, want) || isCut {
		t.Errorf("choices %v by %q", program.Choices, program.Auto.Basis)
	}
	given := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "{preset: auto, all: {steps: ring}}"), few)
	if given.Choices.Of("", schedule.Steps) != schedule.Ring || !strings.Contains(given.Auto.Basis, ": predicted ") {
		t.Errorf("a ring is asked for, and it is %v by %q", given.Choices, given.Auto.Basis)
	}
	near := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "auto"), schedules.Problem{Ranks: 4, M: 1024 + 512, N: 8192, K: 8192})
	if !strings.Contains(near.Auto.Basis, ": measured ") {
		t.Errorf("near a measurement it is %q", near.Auto.Basis)
	}
}

// TestAutoOfLayers checks that auto predicts a point-to-point pipeline without NCCL for an MLP, which is not a measured
// operation.
func TestAutoOfLayers(t *testing.T) {
	written, err := os.ReadFile("../../scripts/bench_gpu/specs/mlp_p2p/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	auto := regexp.MustCompile(`(?m)^schedule:.*$`).ReplaceAllString(string(written), "schedule: auto")
	lower := func(params map[string]int64) *hostir.Program {
		p, err := model.Load("spec.yaml", []byte(auto), params)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Host(p, lowering.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	large := lower(map[string]int64{"D": 2, "M": 8192, "K": 4096, "N": 14336})
	if !strings.HasPrefix(large.Auto.Basis, "predicted ") || large.Choices.Get(schedule.Pipeline) != schedule.P2P ||
		large.Choices.Of("", schedule.Via) == schedule.NCCL {
		t.Errorf("choices %v by %q", large.Choices, large.Auto.Basis)
	}
}

// TestAutoOfAnotherMachine checks a GEMM that H200 GPUs compute faster together than one alone. On a machine with much
// faster GEMMs, communication takes longer than it saves, and auto chooses only a CUDA graph. It does not use
// predictions for the H200.
func TestAutoOfAnotherMachine(t *testing.T) {
	const spec = "hirgen: 1\nname: p\nmesh: {x: 4}\ntensors: {X: [8192, 8192], W: [8192, 8192]}\nops: [\"Y = matmul(X, W)\"]\nschedule: auto\n"
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	for factor, communicates := range map[float64]bool{1: true, 1000: false} {
		other := *machine
		other.Name, other.GEMM = "other", map[domain.DType]cost.GEMMRate{}
		for dtype, rate := range machine.GEMM {
			other.GEMM[dtype] = cost.GEMMRate{Sustained: factor * rate.Sustained, Peak: factor * rate.Peak}
		}
		pipeline, err := model.Load("spec.yaml", []byte(spec), nil)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Host(pipeline, lowering.Options{Machine: &other})
		if err != nil {
			t.Fatal(err)
		}
		basis := program.Auto.Basis
		whole := strings.Contains(basis, "with graph true,")
		if !strings.HasPrefix(basis, "predicted ") || strings.Contains(basis, "h200") || whole == communicates {
			t.Errorf("with GEMMs faster by %v, the reason is %q", factor, basis)
		}
	}
}

// TestAutoOnOneRank checks that auto chooses a CUDA graph for a small GEMM, but not for a large one.
func TestAutoOnOneRank(t *testing.T) {
	small := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "auto"), schedules.Problem{Ranks: 1, M: 64, N: 64, K: 64})
	if small.Choices.Get(schedule.Graph) != schedule.True || !strings.HasPrefix(small.Auto.Basis, "predicted ") {
		t.Errorf("choices %v by %q", small.Choices, small.Auto.Basis)
	}
	large := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "auto"), schedules.Problem{Ranks: 1, M: 8192, N: 8192, K: 8192})
	if large.Choices.Get(schedule.Graph) == schedule.True || !strings.HasSuffix(large.Auto.Basis, " with the default of each field") {
		t.Errorf("choices %v by %q", large.Choices, large.Auto.Basis)
	}
	given := lowerAt(t, autoSpec(t, "ag_matmul_p2p", "{preset: auto, graph: false}"), schedules.Problem{Ranks: 1, M: 64, N: 64, K: 64})
	if given.Choices.Get(schedule.Graph) == schedule.True {
		t.Errorf("no graph is asked for, and it is %v by %q", given.Choices, given.Auto.Basis)
	}
}

// TestAutoMultipliesWhereRowsAre checks a GEMM for which all ranks would multiply the same gathered rows. With auto,
// each rank multiplies its own rows, and the results are gathered, unless the spec sets reshard: before.
func TestAutoMultipliesWhereRowsAre(t *testing.T) {
	square := schedules.Problem{Ranks: 2, M: 8192, N: 8192, K: 8192}
	if program := lowerAt(t, autoSpec(t, "ag_matmul", "auto"), square); program.Choices.Get(schedule.Reshard) != schedule.After {
		t.Errorf("choices %v by %q", program.Choices, program.Auto.Basis)
	}
	given := lowerAt(t, autoSpec(t, "ag_matmul", "{preset: auto, reshard: before}"), square)
	if given.Choices.Get(schedule.Reshard) != schedule.Before {
		t.Errorf("operands are asked for, and it is %v by %q", given.Choices, given.Auto.Basis)
	}
}

// TestAutoOfSmallSums checks a sum over ranks with few rows. Transfers of slices would cost more than they hide. So
// auto chooses one transfer or peer-read reduction after the whole GEMM, and a CUDA graph.
func TestAutoOfSmallSums(t *testing.T) {
	for spec, whole := range map[string]string{"matmul_rs_p2p": schedule.Block, "matmul_ar_p2p": schedule.Fuse} {
		program := lowerAt(t, autoSpec(t, spec, "auto"), schedules.Problem{Ranks: 2, M: 256, N: 10368, K: 6912})
		value := program.Choices.Of("", whole)
		if value != "2" && value != schedule.PeerRead || program.Choices.Get(schedule.Graph) != schedule.True {
			t.Errorf("%s: choices %v by %q", spec, program.Choices, program.Auto.Basis)
		}
	}
}
