package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Numbers prints a list of numbers: "[1, 0, 2]".
func Numbers[T int | int64 | domain.Extent](values []T) string {
	return "[" + lists.Join(values, func(v T) string { return fmt.Sprint(v) }) + "]"
}

func formatMesh(m *domain.Mesh) string {
	return lists.Join(m.Axes, func(a domain.MeshAxis) string { return a.Name + " = " + a.String() }) + ", ranks " + formatRanks(m.Ranks)
}

// formatRanks prints runs of consecutive ranks as "0..3".
func formatRanks(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		end := i
		for end+1 < len(ranks) && ranks[end+1] == ranks[end]+1 {
			end++
		}
		if end > i {
			parts = append(parts, fmt.Sprintf("%d..%d", ranks[i], ranks[end]))
		} else {
			parts = append(parts, strconv.Itoa(ranks[i]))
		}
		i = end + 1
	}
	return strings.Join(parts, " ")
}

func formatTensor(t *hostir.Tensor) string {
	text := string(t.DType) + " " + domain.FormatAxes(t.Axes)
	if t.Mesh != nil {
		text += ", mesh " + t.Mesh.Name
	}
	text += ", " + t.Role.String()
	if t.Layout != nil {
		text += ", layout " + Numbers(t.Layout)
	}
	if t.Inferred {
		text += ", inferred"
	}
	if t.Rounded {
		text += ", rounded"
	}
	if t.Absent != nil {
		text += ", absent " + Numbers(t.Absent)
	}
	if t.Fill != "" {
		text += ", fill " + t.Fill
	}
	if t.Deviation != 0 {
		text += ", deviation " + formatFloat(t.Deviation)
	}
	return text
}

func formatRefOp(op domain.Operation) string {
	var args []string
	if op.Fn != "" {
		args = append(args, op.Fn)
	}
	args = append(args, op.In...)
	switch op.Kind {
	case "reduce", "broadcast":
		args = append(args, fmt.Sprintf("axis %d", op.Axis))
	case "concat":
		args = append(args, fmt.Sprintf("axis %d", op.Axis))
	case "gather":
		if op.Axis > 0 {
			args = append(args, fmt.Sprintf("axis %d", op.Axis))
		}
		if op.Batches > 0 {
			args = append(args, fmt.Sprintf("batches %d", op.Batches))
		}
	case "slice":
		args = append(args, fmt.Sprintf("axis %d", op.Axis), "start "+op.Start.String())
	case "permute":
		args = append(args, "perm "+Numbers(op.Perm))
	}
	line := fmt.Sprintf("%s = %s, shape %s, %s", strings.Join(op.Results(), ", "), call(op.Kind, args...), Numbers(op.Shape), op.DType)
	if op.Whole != "" {
		line += ", of " + strconv.Quote(op.Whole)
	}
	if op.Part != "" {
		line += ", part " + op.Part
	}
	return line
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
