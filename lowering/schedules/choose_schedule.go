package schedules

import (
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/lowering/streams"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// ChooseSchedule sets the schedule fields that schedule: auto leaves open, and keeps the fields that the spec sets. If
// the same operation was measured at a similar size, the pass takes the schedule that was fastest. Otherwise it
// predicts the time of each candidate that agrees with the spec, and takes the fastest. Without a prediction, it takes
// the schedule of the nearest size, if there is one. A prediction lowers the program with the candidate, for the
// machine m, or for MeasuredMachine if m is nil. With deterministic: true, the pass uses no measurements.
//
// Establishes: with schedule: auto, p.Auto.Basis is the reason of the choices.
//
//	before: auto given graph; choices preset auto, graph true
//
//	after:  auto given graph by "ag_matmul 8192 x 8192 x 8192, bf16, 4 ranks: ..."
//	        choices preset auto, graph true, pipeline p2p, all.via ipc-get, streams 0, all.signals batched
func ChooseSchedule(p *hostir.Program, m *cost.Machine, lower Lower) error {
	return chooseSchedule(p, func(p *hostir.Program) (basis string, err error) {
		m, err := orMeasured(m)
		if err != nil {
			return "", err
		}
		return predictOn(p, m, lower)
	})
}

// A predictor sets the unset schedule fields to the schedule that it predicts to be the fastest. basis is the reason,
// or "" if it sets nothing.
type predictor func(p *hostir.Program) (basis string, err error)

func chooseSchedule(p *hostir.Program, predict predictor) error {
	if p.Auto == nil || p.Auto.Basis != "" {
		return nil
	}
	basis, err := chooseBasis(p, predict)
	p.Auto.Basis = basis
	return err
}

// chooseBasis sets schedule fields and returns the reason: a measurement of the same operation at a similar size, or
// else a prediction, or else the measurement of the nearest size. With deterministic: true it uses no measurements. If
// it sets nothing, the reason says so.
func chooseBasis(p *hostir.Program, predict predictor) (basis string, err error) {
	problem, known := recognise(p.Body)
	m := (*measurement)(nil)
	if known && p.Choices.Get(schedule.Deterministic) != schedule.True { // no measured program adds in a fixed order
		m = nearest(measured, problem, p.Choices.Schedule)
		if m == nil { // no measurement agrees with all fields of the spec
			m = nearest(measured, problem, ofPipeline(p.Choices.Schedule))
		}
	}
	if m == nil || m.distance(problem) >= nearEnough {
		if basis, err = predict(p); err != nil || basis != "" {
			return problem.describe(known) + basis, err
		}
	}
	if m == nil {
		return "nothing to choose: " + asIs, nil
	}
	m.choose(p)
	return m.String() + ": measured " + m.time() + " with " + m.schedule, nil
}

// choose sets the fields of a measurement's schedule in a program (see set), and the program's number of streams.
func (m measurement) choose(p *hostir.Program) {
	m.set(&p.Choices.Schedule)
	p.Streams = int(schedule.Number(p.Choices.Get(schedule.Streams)))
}

// ofPipeline returns a schedule with only the field pipeline, if that is set.
func ofPipeline(s schedule.Schedule) schedule.Schedule {
	if c, ok := s.Given("", schedule.Pipeline); ok {
		return schedule.Schedule{Choices: []schedule.Choice{c}}
	}
	return schedule.Schedule{}
}

// operations maps the steps of a program to the name of a measured operation. A gather turns the shards of ranks into
// slices of a pipeline. A sum is over ranks, and each rank keeps one slice.
var operations = map[string]string{
	"gather":          "allgather",
	"gather GEMM":     "ag_matmul",
	"GEMM sum":        "matmul_rs",
	"GEMM sum gather": "matmul_ar",
}

// recognise returns the measured operation that a program consists of, with its size. Other statements may not
// communicate. It returns false if the program is not such an operation in a pipeline.
func recognise(body []hostir.Stmt) (problem, bool) {
	var found problem
	var steps []string
	for _, s := range body {
		step, ok := recogniseStep(s, &found)
		if !ok {
			return problem{}, false
		}
		steps = append(steps, step...)
	}
	found.kept = streams.KeepsParts(body)
	found.operation = operations[strings.Join(steps, " ")]
	return found, found.operation != "" && found.ranks > 0 // ranks are the slices of a pipeline
}

// recogniseStep returns the steps of an operation that a statement consists of: none, a gather, a GEMM, both, or a sum.
// It records the size of a gather or GEMM in found. ok is false if the statement communicates in another way.
func recogniseStep(s hostir.Stmt, found *problem) (steps []string, ok bool) {
	rows := hostir.AxisMap(s)
	if reduce, isReduce := s.(*hostir.Reduce); isReduce && hostir.SplitOver(reduce.In.Axes[reduce.Axis]) != "" {
		return []string{"sum"}, reduce.Fn == "sum" && scattersByIndex(reduce, rows[0])
	}
	for i, t := range hostir.Uses(s) {
		gathers, local := crossings(t, hostir.Result(s), rows[i])
		if !local || gathers && i > 0 {
			return nil, false
		}
		if gathers {
			steps = append(steps, "gather")
			found.measureGather(t, hostir.Result(s))
		}
	}
	if hostir.IsGEMM(s) {
		steps = append(steps, "GEMM")
		found.measureGEMM(hostir.Uses(s)[0], hostir.Result(s))
	}
	return steps, true
}

// crossings reports whether an operand is gathered: its shards become slices of a pipeline. ok is false if the
// operand reaches the ranks of the result in any other way.
func crossings(operand, result *hostir.Tensor, row []int) (gathers, ok bool) {
	across := shard.Crossing(operand, result, row)
	ok = shard.SameMesh(operand, result) && len(shard.Contracted(operand, row)) == 0 && len(across) <= 1
	for _, i := range across {
		gathers = operand.Axes[i].Kind == domain.Device && result.Axes[row[i]].Kind == domain.Stream
		ok = ok && gathers
	}
	return gathers, ok
}

// scattersByIndex reports whether a sum over ranks reads slices of a pipeline, and leaves each slice on the rank whose
// coordinate is the slice's index.
func scattersByIndex(s *hostir.Reduce, row []int) bool {
	across := shard.Crossing(s.In, s.Out, row)
	return shard.SameMesh(s.In, s.Out) && len(across) == 1 && s.In.Axes[across[0]].Kind == domain.Stream &&
		hostir.SplitOver(s.Out.Axes[row[across[0]]]) == hostir.SplitOver(s.In.Axes[s.Axis])
}

// measureGather records the number of slices of a gathered tensor and, if no size is recorded yet, its size.
func (p *problem) measureGather(in, out *hostir.Tensor) {
	p.measureSlices(out)
	if p.n == 0 {
		p.dtype, p.m, p.n, p.k = in.DType, matrixRows(out), 1, lastSize(out)
	}
}

// measureGEMM records the size of a GEMM.
func (p *problem) measureGEMM(a, out *hostir.Tensor) {
	p.measureSlices(out)
	p.dtype, p.m, p.n, p.k = a.DType, matrixRows(out), lastSize(out), lastSize(a)
}

// measureSlices records the number of slices of a pipeline's tensor, which has one for each rank, and the number of
// rows in a slice. It records nothing for a tensor without a Stream axis.
func (p *problem) measureSlices(t *hostir.Tensor) {
	stream := hostir.StreamAxis(t)
	if stream < 0 {
		return
	}
	p.ranks, p.rows = t.Axes[stream].Size, 1
	for _, a := range t.Axes[stream+1:] {
		if a.Kind != domain.Reduction {
			p.rows = a.LocalSize()
			return
		}
	}
}

// lastSize returns the number of columns of a tensor on one rank, with the tensor seen as a matrix.
func lastSize(t *hostir.Tensor) int64 {
	shape := hostir.LocalShape(t)
	return shape[len(shape)-1]
}

// matrixRows returns the number of rows of a tensor on one rank, with the tensor seen as a matrix.
func matrixRows(t *hostir.Tensor) int64 {
	shape, rows := hostir.LocalShape(t), int64(1)
	for _, size := range shape[:len(shape)-1] {
		rows *= size
	}
	return rows
}
