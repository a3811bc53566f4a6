package model

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/internal/base/spell"
)

// otherNames maps names of operations in other systems to names of operations in specs.
var otherNames = map[string]string{
	"mm": "matmul", "bmm": "matmul", "gemm": "matmul", "dot": "matmul", "einsum": "matmul", "dense": "linear", "addmm": "linear",
	"copy": "set", "transpose": "permute", "view": "reshape", "unsqueeze": "broadcast", "narrow": "slice", "chunk": "split",
	"cat": "concat", "concatenate": "concat", "arange": "positions", "iota": "positions", "range": "positions",
	"expand": "broadcast", "convert": "cast", "to": "cast", "plus": "add", "minus": "sub", "subtract": "sub",
	"multiply": "mul", "times": "mul", "divide": "div", "maximum": "max", "minimum": "min", "swish": "silu",
	"scaled_dot_product_attention": "attention", "sdpa": "attention", "flash_attention": "attention",
	"layernorm": "layer_norm", "rmsnorm": "rms_norm", "rotary": "rope", "rotary_embedding": "rope", "logsoftmax": "log_softmax",
	"clip": "clamp", "masked_fill": "masked", "select": "where",
	"embedding": "gather", "take": "gather", "index_select": "gather", "lookup": "gather",
	"index_add": "scatter_add", "prefix_sum": "cumsum", "segment_sum": "scatter_add", "topk": "top_k", "scan": "cumsum",
}

// attributesOfLists maps operations, and other names of them, to the attribute that has their list.
var attributesOfLists = map[string]string{
	"reshape": "shape", "view": "shape", "permute": "perm", "transpose": "perm", "split": "sizes",
}

// collectives maps names of communications to the operation that causes them.
var collectives = map[string]string{
	"allgather": "set", "all_gather": "set", "scatter": "set", "alltoall": "set", "all_to_all": "set", "send": "set",
	"recv":      "set",
	"allreduce": "sum", "all_reduce": "sum", "reduce_scatter": "sum", "reducescatter": "sum",
}

// OpHint suggests the operation that an unknown name probably means. It is empty if no name is close.
func OpHint(name string) string {
	plain := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if plain == "pow" || plain == "square" {
		return "the square of X is mul(X, X)"
	}
	if other, ok := otherNames[plain]; ok {
		return fmt.Sprintf("it is called %s here", other)
	}
	if local, ok := collectives[plain]; ok {
		return fmt.Sprintf("a communication follows from the axes: write %s, and declare the result with the axes that it shall have", local)
	}
	if nearest, ok := spell.Nearest(name, operationNames()); ok {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return ""
}
