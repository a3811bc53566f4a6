package interp

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// inWorkspace issues a task that acquires the workspace of a GEMM on its stream. The function that it returns runs the
// GEMM, and fails if another GEMM has acquired the workspace since.
func (r *rank) inWorkspace(s *calls.Gemm, on *tasks.Stream, run func() error) (func() error, error) {
	workspace, ok := r.walk.Workspace(s)
	if !ok {
		return nil, r.err
	}
	if s.Workspace == nil {
		r.uses(r, calls.CallersWorkspace)
	} else {
		r.uses(r, calls.ComputeWorkspaces)
	}
	var taken *tasks.Task
	taken = r.issue(nil, on, func() error { r.workspaces[workspace] = taken; return nil })
	return func() error {
		if r.workspaces[workspace] != taken {
			return r.fail(s, "another GEMM works in its workspace at the same time")
		}
		return run()
	}, nil
}
