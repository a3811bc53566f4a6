package interp

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// inWorkspace acquires the workspace of a GEMM on its stream. It returns the work of the GEMM, which fails if another GEMM
// has acquired the workspace since.
func (r *rank) inWorkspace(s *calls.Gemm, on *tasks.Stream, run func() error) (func() error, error) {
	workspace, memory := calls.Caller, calls.CallersWorkspace
	if s.Workspace != nil {
		i, err := r.eval(s, s.Workspace)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= int64(r.machine.program.Streams) {
			return nil, r.fail(s, "there is no workspace %d among %d", i, r.machine.program.Streams)
		}
		workspace, memory = fmt.Sprint(i), calls.ComputeWorkspaces
	}
	r.uses(r, memory)
	var taken *tasks.Task
	taken = r.issue(nil, on, func() error { r.workspaces[workspace] = taken; return nil })
	return func() error {
		if r.workspaces[workspace] != taken {
			return r.fail(s, "another GEMM works in its workspace at the same time")
		}
		return run()
	}, nil
}
