package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// attentionReport describes an attention or the gradient of an attention. Method is the implementation on a GPU with cuDNN,
// "cudnn" or "tiled". Reason is why it is not "cudnn", or empty.
type attentionReport struct {
	Out      string `json:"out"`
	Gradient bool   `json:"gradient"`
	Method   string `json:"method"`
	Reason   string `json:"reason"`
	At       string `json:"at"`
}

// reportAttentions reports how each attention of a program is computed, in program order.
func reportAttentions(p *hostir.Program) []attentionReport {
	list := []attentionReport{}
	for a := range hostir.Each[*hostir.Attention](p.Body) {
		shape := a.Shape(false, func(*domain.Mesh, string) int64 { return 0 })
		shape.Deterministic = a.IsGrad() && p.Choices.Get(schedule.Deterministic) == schedule.True
		r := attentionReport{Out: a.Out[0].Name, Gradient: a.IsGrad(), Method: "cudnn", At: a.Meta().Pos.String()}
		if r.Reason = shape.CudnnObstacle(a.Queries().DType, a.Kind().Causal); r.Reason != "" {
			r.Method = "tiled"
		}
		list = append(list, r)
	}
	return list
}

// predictWithoutCudnn predicts the same call on a machine without cuDNN. It returns nil if cuDNN computes no attention,
// or if the call cannot be predicted.
func predictWithoutCudnn(p *hostir.Program, lowered *calls.Described, r *cost.Prediction) (*cost.Prediction, error) {
	if r == nil || byCudnn(reportAttentions(p)) == 0 {
		return nil, nil
	}
	other, err := cost.Predict(lowered.Programs(), r.Machine.WithoutCudnn())
	if reach := (*cost.ReachError)(nil); errors.As(err, &reach) {
		return nil, nil
	}
	return other, err
}

// byCudnn counts the attentions that cuDNN computes.
func byCudnn(list []attentionReport) (count int) {
	for _, a := range list {
		if a.Method == "cudnn" {
			count++
		}
	}
	return count
}

// describeAttentions prints the methods of all attentions, and the time of a call without cuDNN.
func describeAttentions(text *strings.Builder, list []attentionReport, tiled *cost.Prediction) {
	count := byCudnn(list)
	if count > 0 {
		fmt.Fprintf(text, "    attention: %d by cuDNN", count)
		if tiled != nil {
			fmt.Fprintf(text, "; where it is missing, by hirgen's own kernels, and a call takes %s", duration(tiled.Total))
		}
		text.WriteString("\n")
	}
	for _, a := range list {
		if a.Method == "tiled" {
			fmt.Fprintf(text, "    %s attention of %s: by hirgen's own kernels, since cuDNN does not compute it: %s\n", a.At, a.Out, a.Reason)
		}
	}
}
