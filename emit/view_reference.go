package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// reference prints the model's operations as calls of hirgen::Reference. The operations that compute the tensors that
// a forward pass saves are separate.
func (f *form) reference() error {
	isSaved := func(op domain.Operation) bool { return f.saves(op.Out) }
	var err error
	if f.view.Saved, err = referenceViews(f.calls.Saved); err != nil {
		return err
	}
	f.view.Reference, err = referenceViews(lists.Except(f.calls.Operations, isSaved))
	return err
}

// saves reports whether an operation of Saved computes a tensor: an input that a forward pass saves, or an intermediate
// result.
func (f *form) saves(tensor string) bool {
	return slices.ContainsFunc(f.calls.Saved, func(op domain.Operation) bool { return op.Out == tensor })
}

func referenceViews(ops []domain.Operation) ([]refView, error) {
	var list []refView
	for _, op := range ops {
		if !slices.Contains(referenceKinds, op.Kind) {
			return nil, errorAt(op.Pos, "there is no operation %q", op.Kind)
		}
		list = append(list, refView{Method: op.Kind, Args: referenceArgs(op), Where: calls.At(op.Pos, op.String())})
	}
	return list, nil
}

// referenceArgs returns the arguments of one call, in the order of reference.hpp.
func referenceArgs(op domain.Operation) []string {
	args := []string{cstr(op.Out)}
	if op.Kind == "unary" || op.Kind == "binary" || op.Kind == "reduce" {
		args = append(args, cstr(op.Fn))
	}
	if a, attends := domain.AttentionOf(op.Fn); attends {
		return attentionArgs(op, a)
	}
	operands := lists.Map(op.In, cstr)
	if op.Kind == "concat" {
		return append(args, braces(operands...), fmt.Sprint(op.Axis))
	}
	if d, drops := domain.DropoutOf(op.Fn); drops {
		if len(operands) < 4 {
			operands = append(operands, "nullptr")
		}
		return slices.Concat(args, []string{dropoutLiteral(d)}, operands, []string{dtype(op.DType)})
	}
	args = append(args, operands...)
	element := dtype(op.DType)
	switch op.Kind {
	case "gather":
		if len(op.In) < 3 {
			args = append(args, "nullptr")
		}
		return append(args, fmt.Sprint(op.Axis), fmt.Sprint(op.Batches))
	case "linear":
		if len(op.In) < 3 {
			args = append(args, "nullptr")
		}
		return append(args, element)
	case "broadcast":
		return append(args, fmt.Sprint(op.Axis))
	case "permute":
		return append(args, intList(op.Perm))
	case "positions":
		return append(args, fmt.Sprint(op.Shape[0].Size))
	case "slice":
		return append(args, fmt.Sprint(op.Axis), fmt.Sprint(op.Start.Size), fmt.Sprint(op.Shape[op.Axis].Size))
	case "reshape":
		return append(args, sizeList(op.Shape))
	case "reduce":
		return append(args, fmt.Sprint(op.Axis), element)
	case "set":
		return args
	default:
		return append(args, element)
	}
}

// referenceKinds are the operations that hirgen::Reference has a member for.
var referenceKinds = strings.Fields("set matmul linear block_linear gather broadcast permute reshape slice concat positions attention " +
	"attention_grad dropout cast unary binary reduce")

// dropoutLiteral prints a dropout in C++.
func dropoutLiteral(d domain.Dropout) string {
	return fmt.Sprintf("{.p = %s, .salt = %d, .width = %d}", floatLiteral(strconv.FormatFloat(d.P, 'g', -1, 32)), d.Salt, d.Width)
}

// attentionArgs returns the arguments of an attention or its gradient.
func attentionArgs(op domain.Operation, a domain.Attention) []string {
	results := make([]string, 0, 3)
	for _, name := range op.Results() {
		results = append(results, cstr(name))
	}
	if op.Kind == "attention_grad" {
		results = []string{braces(results...)}
	} else if len(results) == 1 {
		results = append(results, "nullptr")
	}
	fields := []string{fmt.Sprintf(".causal = %t", a.Causal), fmt.Sprintf(".window = %d", a.Window), ".scale = " + scaleLiteral(a)}
	if a.Split == domain.SplitHeads {
		fields = append(fields, ".split_heads = true")
	}
	kind := braces(fields...)
	args := slices.Concat(results, []string{kind})
	for _, in := range op.In {
		args = append(args, cstr(in))
	}
	return append(args, dtype(op.DType))
}

// scaleLiteral prints the scale of an attention in C++.
func scaleLiteral(a domain.Attention) string {
	return floatLiteral(strconv.FormatFloat(a.Scale, 'g', -1, 32))
}

// sizeList prints sizes as numbers, because the source of the reference has no parameters.
func sizeList(extents []domain.Extent) string {
	return intList(lists.Map(extents, func(e domain.Extent) int64 { return e.Size }))
}

func intList[T int | int64](values []T) string {
	return braces(lists.Map(values, func(v T) string { return fmt.Sprint(v) })...)
}
