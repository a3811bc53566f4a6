// Package launch builds an emitted folder and runs it as one process per rank on this machine. It merges the output of
// the ranks and leaves no process running.
//
// "hirgen run", other tools and the end-to-end tests use it. Of an emitted folder, it relies only on the CMake presets and
// cache entries. Of an emitted program, it relies only on launch variables (HIRGEN_RANK and others), --timeout and exit codes.
package launch

// Device names what an emitted folder is built for.
type Device string

// The devices. Auto is CUDA where there is a GPU and a compiler for it, and CPU elsewhere.
const (
	Auto Device = "auto"
	CPU  Device = "cpu"
	CUDA Device = "cuda"
)

// EnvironmentError reports that the machine lacks something (a tool, a GPU, a writable folder) or that a tool failed.
// Its message names the remedy, if one is known.
type EnvironmentError struct {
	Message string
	Output  string // what the tool that failed had printed; may be empty
	Err     error  // the cause; may be nil
}

// Error returns only the message. The caller prints Output.
func (e *EnvironmentError) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *EnvironmentError) Unwrap() error { return e.Err }
