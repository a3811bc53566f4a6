package main

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// checkReport is the report of hirgen check --json on a valid spec; docs/check-json.md describes it. Keys may be added. To
// rename or remove a key, change the scripts under scripts/ that read it, too.
type checkReport struct {
	wrongReport
	Name       string           `json:"name"`
	Ranks      int              `json:"ranks"`
	Params     map[string]int64 `json:"params"`
	Meshes     []meshReport     `json:"meshes"`
	Schedule   map[string]any   `json:"schedule"`
	Auto       *autoReport      `json:"auto"`
	AutoTime   *float64         `json:"auto_us"` // predicted time under schedule: auto; null: see autoTime
	Tensors    []tensorReport   `json:"tensors"`
	Operations []opReport       `json:"operations"`
	formReport
	Fallback   *formReport       `json:"fallback"`
	Attentions []attentionReport `json:"attentions"`
	Bits       []bitsReport      `json:"bits"`
	Memory     memoryReport      `json:"memory"`
	Prediction *predictionReport `json:"prediction"`
	Warnings   []warningReport   `json:"warnings"`
}

type warningReport struct {
	At      string `json:"at"`
	Message string `json:"message"`
}

// formReport is the part of a report that exists twice: for the program, and for its fallback variant.
type formReport struct {
	Communications []communicationReport `json:"communications"`
}

// memoryReport is the memory of a rank in addition to inputs and outputs, in bytes. Unshared is the total if no buffers
// shared memory, and IPC the memory that other ranks access.
type memoryReport struct {
	Buffers    int64 `json:"buffers"`
	Unshared   int64 `json:"unshared"`
	Workspaces int64 `json:"workspaces"`
	IPC        int64 `json:"ipc"`
}

type meshReport struct {
	Name  string           `json:"name"`
	Axes  []meshAxisReport `json:"axes"`
	Ranks []int            `json:"ranks"`
}

type meshAxisReport struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type autoReport struct {
	Given []string `json:"given"`
	Basis string   `json:"basis"`
}

type tensorReport struct {
	Name  string   `json:"name"`
	Role  string   `json:"role"`
	DType string   `json:"dtype"`
	Mesh  string   `json:"mesh"`
	Axes  []string `json:"axes"`
	Shape []int64  `json:"shape"`
	Local []int64  `json:"local_shape"`
	At    string   `json:"at"`
}

type opReport struct {
	Op      string         `json:"op"`
	Fn      string         `json:"fn,omitempty"`
	Out     string         `json:"out"`
	In      []string       `json:"in"`
	Product *productReport `json:"product,omitempty"`
	At      string         `json:"at"`
}

// productReport has the extents of all matrices that an operation multiplies: batch products of [m, k] by [k, n].
type productReport struct {
	M     int64 `json:"m"`
	N     int64 `json:"n"`
	K     int64 `json:"k"`
	Batch int64 `json:"batch"`
}

type communicationReport struct {
	Type  string   `json:"type"`
	Peers bool     `json:"point_to_point"`
	Mesh  string   `json:"mesh"`
	Axes  []string `json:"axes"`
	From  string   `json:"from,omitempty"`
	By    string   `json:"by"`
	Times int64    `json:"times"`
	Bytes int64    `json:"bytes"`
	At    string   `json:"at"`
	Why   string   `json:"why"`
	// Next is null if hirgen derives no placements.
	Next *schedules.Next `json:"next_best"`
}

// predictionReport is the prediction of a call. Times are in microseconds.
type predictionReport struct {
	Machine        string          `json:"machine"`
	Time           float64         `json:"us"`
	Host           float64         `json:"host_us"`
	Exposed        float64         `json:"exposed_us"`
	Tiled          *float64        `json:"tiled_us"` // us without cuDNN; null: see predictWithoutCudnn
	Communications []cost.Exposure `json:"communications"`
	CriticalPath   []cost.Share    `json:"critical_path"`
}

func reportPrediction(predicted predictions) *predictionReport {
	r := predicted.call
	if r == nil {
		return nil
	}
	report := &predictionReport{
		Machine: r.Machine.Name, Time: r.Total, Host: r.Host, Exposed: r.Exposed,
		Communications: append([]cost.Exposure{}, r.Communications...), CriticalPath: r.Path(),
	}
	if predicted.tiled != nil {
		report.Tiled = &predicted.tiled.Total
	}
	return report
}

// reportOn returns the report on a valid spec.
func reportOn(path string, spec *model.Pipeline, p *hostir.Program, lowered *calls.Described, predicted predictions) *checkReport {
	memory := lowered.Memory()
	r := &checkReport{
		wrongReport: wrongReport{File: path, Diagnostics: []diagnosticReport{}},
		Name:        p.Name, Ranks: p.Meshes[0].Size(), Params: map[string]int64{}, Schedule: scheduleReport(p),
		Meshes: []meshReport{}, Tensors: []tensorReport{}, Operations: []opReport{}, formReport: reportForm(p, predicted),
		Attentions: reportAttentions(p), Bits: reportBits(lowered.Programs()),
		Memory: memoryReport{memory.Buffers, memory.Unshared, memory.Workspaces, memory.IPC}, Prediction: reportPrediction(predicted),
		Warnings: []warningReport{},
	}
	for _, w := range spec.Warnings() {
		r.Warnings = append(r.Warnings, warningReport{w.Pos.String(), w.Message})
	}
	for _, param := range p.Params {
		r.Params[param.Name] = param.Value
	}
	for _, m := range spec.Meshes {
		mesh := meshReport{Name: m.Name, Axes: []meshAxisReport{}, Ranks: m.Ranks}
		for _, a := range m.Axes {
			mesh.Axes = append(mesh.Axes, meshAxisReport{a.Name, a.Size})
		}
		r.Meshes = append(r.Meshes, mesh)
	}
	if predicted.auto != nil {
		r.AutoTime = &predicted.auto.Total
	}
	if p.Auto != nil {
		r.Auto = &autoReport{Given: append([]string{}, p.Auto.Given...), Basis: p.Auto.Basis}
	}
	for _, t := range spec.Tensors {
		r.Tensors = append(r.Tensors, reportTensor(spec, t))
	}
	for _, op := range spec.Ops {
		r.Operations = append(r.Operations, reportOp(op))
	}
	if p.Fallback != nil {
		other := reportForm(p.Fallback, predicted)
		r.Fallback = &other
	}
	return r
}

// scheduleReport returns the value of every field of the schedule of a program.
func scheduleReport(p *hostir.Program) map[string]any {
	fields := map[string]any{}
	for _, m := range p.Choices.Report() {
		fields[m.Key] = m.Value
	}
	return fields
}

func reportTensor(spec *model.Pipeline, t *model.Tensor) tensorReport {
	r := tensorReport{
		Name: t.Name, Role: "intermediate", DType: string(t.DType), Mesh: t.Mesh.Name,
		Axes: []string{}, Shape: domain.Shape(t.Axes), Local: []int64{}, At: t.Pos.String(),
	}
	if slices.Contains(spec.Inputs, t) {
		r.Role = "input"
	} else if slices.Contains(spec.Outputs, t) {
		r.Role = "output"
	}
	for _, axis := range t.Axes {
		r.Axes = append(r.Axes, axis.String())
	}
	for _, axis := range domain.WithoutReductions(t.Axes) {
		r.Local = append(r.Local, axis.LocalSize())
	}
	return r
}

func reportOp(op *model.Op) opReport {
	r := opReport{Op: string(op.Kind), Fn: op.Fn, Out: op.Out.Name, In: []string{}, At: op.Pos.String()}
	for _, in := range op.In {
		r.In = append(r.In, in.Name)
	}
	if op.Kind == model.OpMatmul || op.Kind == model.OpLinear {
		r.Product = reportProduct(op)
	}
	return r
}

// reportProduct returns the matrices that a matmul or linear operation multiplies. Batch is the number of matrices of the
// second operand. All other leading axes of the result count as rows, M.
func reportProduct(op *model.Op) *productReport {
	left, right, out := domain.Shape(op.In[0].Axes), domain.Shape(op.In[1].Axes), domain.Shape(op.Out.Axes)
	r := &productReport{M: 1, N: out[len(out)-1], K: left[len(left)-1], Batch: 1}
	for _, size := range right[:len(right)-2] {
		r.Batch *= size
	}
	for _, size := range out[:len(out)-1] {
		r.M *= size
	}
	r.M /= r.Batch
	return r
}

func reportForm(p *hostir.Program, predicted predictions) formReport {
	list := []communicationReport{}
	for _, m := range hostir.Movements(p) {
		c := communicationReport{
			Type: m.Type.Kind(), Peers: m.Transfer, Mesh: m.Mesh, Axes: []string{}, From: m.From,
			By: m.By, Times: m.Times, Bytes: m.Bytes, At: m.Pos.String(),
			Why: m.Why(), Next: predicted.next(m),
		}
		if m.Axes != "" {
			c.Axes = strings.Split(m.Axes, " and ")
		}
		list = append(list, c)
	}
	return formReport{Communications: list}
}
