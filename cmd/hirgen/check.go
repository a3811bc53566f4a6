package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	hosttext "github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model/domain"
)

func newCheck() *cobra.Command {
	var flags specFlags
	var predicting costFlags
	var asJSON, again bool
	var pinned string
	once := func(cmd *cobra.Command, path, heading string) (report any, err error) {
		program, src, err := flags.lower(cmd, path)
		if err != nil {
			return nil, err
		}
		lowered, err := src.calls(program)
		if err != nil {
			return nil, err
		}
		var predicted predictions
		if predicted.call, err = predicting.predict(lowered, flags.machine); err != nil {
			return nil, err
		}
		if pinned != "" {
			if err := writeSchedule(pinned, program); err != nil {
				return nil, err
			}
		}
		if predicted.auto, err = flags.autoTime(program, src); err != nil {
			return nil, err
		}
		if predicted.tiled, err = predictWithoutCudnn(program, lowered, predicted.call); err != nil {
			return nil, err
		}
		if predicted.next, err = nextBest(program, flags.machine); err != nil {
			return nil, err
		}
		if asJSON {
			return reportOn(src.path, src.pipeline, program, lowered, predicted), nil
		}
		text := heading + summary(program, lowered, predicted)
		for _, warning := range src.pipeline.Warnings() {
			warning.Pos.File = src.path
			text += fmt.Sprintf("  warning: %s: %s\n", warning.Pos, warning.Message)
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), text)
		return nil, err
	}
	cmd := &cobra.Command{
		Use:   "check SPEC...",
		Short: "Check specs without emitting anything",
		Long: `Check a spec, and print a summary: each tensor with its shape on one rank, the communication, and the memory of a rank. For
each communication it has the reason, and the cost of the next best placements, which do without it. The
summary also has the predicted time of a call on a machine, with the hidden part of each communication. --json
prints more, for scripts: parameters, meshes, schedule, tensors, operations, communications, memory and the prediction.
SPEC may be - for standard input.

With several files each is checked, even if another one is wrong, and all errors are shown; the exit code is that of the
most serious one. --json prints an object for one file and an array for several. For a wrong spec the object has
"diagnostics", each with file, line, col, code, message and hint.`,
		Example: `  hirgen check testdata/specs/ag_matmul/spec.yaml -p M=4096
  hirgen check testdata/specs/ag_matmul_auto/spec.yaml --json
  hirgen check my.yaml --watch
  hirgen check my.yaml --write-schedule chosen.yaml
  hirgen check testdata/specs/ag_matmul/spec.yaml testdata/specs/matmul_rs/spec.yaml
  hirgen check testdata/specs/matmul_rs_p2p/spec.yaml --machine h100 --trace predicted.json`,
		Args:              severalOf("SPEC"),
		ValidArgsFunction: completeSpecs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1 && predicting.trace != "":
				return usagef("--trace writes the timeline of one SPEC")
			case len(args) > 1 && pinned != "":
				return usagef("--write-schedule writes the schedule of one SPEC")
			case again:
				return watch(cmd, args, func() error { return checkEach(cmd, args, asJSON, once) })
			}
			return checkEach(cmd, args, asJSON, once)
		},
	}
	flags.register(cmd)
	predicting.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object, of several files an array, instead of text")
	cmd.Flags().StringVar(&pinned, "write-schedule", "",
		"write the choices of the schedule to `FILE`, for --schedule-file: what auto chose stays as it is then")
	cmd.Flags().BoolVar(&again, "watch", false, "check again whenever a spec changes, until Ctrl-C")
	return cmd
}

// predictions has the predicted call of the program, the same call without cuDNN, and the call that auto would choose. Any
// of them may be nil. next returns the next best placements of a communication.
type predictions struct {
	call, tiled, auto *cost.Prediction
	next              func(hostir.Movement) *schedules.Next
}

// nextBest returns a function that describes, for a communication, the next best placements, which do without it.
func nextBest(p *hostir.Program, machine string) (func(hostir.Movement) *schedules.Next, error) {
	m, err := loadMachine(machine)
	if err != nil {
		return nil, err
	}
	return schedules.NextBest(p, m)
}

// summary describes a lowered program, and its predicted performance, for the author of its spec.
func summary(p *hostir.Program, lowered *calls.Described, predicted predictions) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s, %s\n", p.Name, counted(p.Meshes[0].Size(), "rank"), counted(max(p.Streams, lowered.Streams), "worker stream"))
	if p.Auto != nil {
		text.WriteString("  " + describeAuto(p))
	}
	for _, t := range p.Tensors {
		switch t.Role {
		case hostir.Input:
			fmt.Fprintf(&text, "  input   %s\n", describeTensor(t))
		case hostir.Output:
			fmt.Fprintf(&text, "  output  %s\n", describeTensor(t))
		}
	}
	describeMovements(&text, p, &predicted)
	describeMemory(&text, lowered.Memory())
	describeBits(&text, reportBits(lowered.Programs()))
	describePrediction(&text, predicted.call)
	describeAttentions(&text, reportAttentions(p), predicted.tiled)
	if p.Fallback != nil {
		fmt.Fprintf(&text, "  transfers by CUDA IPC; where not all ranks can share memory, within nodes alone, and by %s between them\n",
			p.Fallback.Choices.InterNode)
		fmt.Fprintf(&text, "  there instead:\n")
		describeMovements(&text, p.Fallback, nil)
	}
	if predicted.auto != nil {
		fmt.Fprintf(&text, "  schedule: auto is predicted to take %s on %s\n", duration(predicted.auto.Total), predicted.auto.Machine.Name)
	}
	return text.String()
}

// describeMovements prints each communication, and how often a call runs it. With predictions it also prints the reason
// and the next best placements.
func describeMovements(text *strings.Builder, p *hostir.Program, predicted *predictions) {
	movements := hostir.Movements(p)
	for _, m := range movements {
		fmt.Fprintf(text, "  %s\n", m)
		if predicted != nil {
			fmt.Fprintf(text, "    why: %s\n    next best: %s\n", m.Why(), predicted.next(m))
		}
	}
	if len(movements) == 0 {
		fmt.Fprintf(text, "  no communication\n")
	}
}

// describeMemory prints how much memory a rank needs beyond the tensors of the caller.
func describeMemory(text *strings.Builder, m calls.Memory) {
	fmt.Fprintf(text, "  memory of a rank beyond inputs and outputs: %s", megabytes(m.Total()))
	if m.Unshared > m.Total() {
		fmt.Fprintf(text, ", %s if no buffers shared memory", megabytes(m.Unshared))
	}
	fmt.Fprintf(text, ": %s of buffers, %s of workspaces, %s that other ranks reach\n", megabytes(m.Buffers), megabytes(m.Workspaces),
		megabytes(m.IPC))
	if m.Gemms {
		text.WriteString("    GEMMs get the workspace that cuBLASLt asks for, at most what is counted here; the program prints it\n")
	}
	if m.Attentions {
		text.WriteString("    where cuDNN computes attention its workspace may be larger; the program prints it\n")
	}
}

// megabytes prints a number of bytes in megabytes.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// describeTensor prints the name, the element type, the axes as a spec spells them, and the shape on one rank.
func describeTensor(t *hostir.Tensor) string {
	return fmt.Sprintf("%s %s %s, one rank holds %s",
		t.Name, t.DType, domain.FormatAxes(t.Axes), hosttext.Numbers(lists.Map(t.Axes, domain.Axis.LocalSize)))
}
