package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model/grad"
)

func newGrad() *cobra.Command {
	var flags specFlags
	var options grad.Options
	var out, forward string
	cmd := &cobra.Command{
		Use:   "grad SPEC",
		Short: "Write the backward pass of a spec as a spec",
		Long: `Write the spec that computes the gradients of a spec's inputs, given those of its outputs. It is
meant to be read and edited. Each gradient lies on the ranks as its tensor does.

Of the forward pass it reads inputs, and results. --recompute says which results it computes anew; the others are
inputs of the backward pass, and outputs of the forward pass that --forward writes:

  cheap   what takes no matrix product, attention or softmax, where that needs nothing else saved (the default)
  none    nothing
  all     everything, from the inputs
  NAME    this result, too`,
		Example: `  hirgen grad testdata/specs/llama_mlp/spec.yaml -o llama_mlp_backward.yaml --forward llama_mlp.yaml
  hirgen grad testdata/specs/llama_mlp/spec.yaml --of X --recompute all`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			pipeline, src, err := flags.load(cmd, args[0])
			if err != nil {
				return err
			}
			if options.Axes, err = lowering.Axes(pipeline); err != nil {
				return src.locate(err)
			}
			pass, err := grad.Backward(pipeline, options)
			if err != nil {
				return src.locate(err)
			}
			if forward != "" {
				if err := os.WriteFile(forward, []byte(pass.Forward), 0o644); err != nil {
					return err
				}
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write([]byte(pass.Text))
				return err
			}
			return os.WriteFile(out, []byte(pass.Text), 0o644)
		},
	}
	flags.registerSpec(cmd)
	cmd.Flags().StringSliceVar(&options.Of, "of", nil, "give the gradients of these inputs, `NAME,...`; otherwise of all that have one")
	cmd.Flags().StringSliceVar(&options.Recompute, "recompute", nil, "compute these results of the forward pass anew: none, cheap, all, or `NAME,...`")
	cmd.Flags().StringVar(&forward, "forward", "", "write the forward pass, with what it saves as outputs, to `FILE`")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` instead of standard output")
	return cmd
}
