// Package launch builds an emitted folder and runs it: one process per rank on this
// machine, their output told apart, and none of them left behind.
//
// It is the mechanics of "hirgen run" and of the end-to-end tests. It knows an emitted
// folder by its CMake presets alone and an emitted program by its launch variables
// (HIRGEN_RANK and the rest) and exit codes alone.
package launch

// Device names what an emitted folder is built for.
type Device string

// The devices. Auto is CUDA where there is a GPU and a compiler for it, and CPU elsewhere.
const (
	Auto Device = "auto"
	CPU  Device = "cpu"
	CUDA Device = "cuda"
)

// EnvironmentError says that the machine lacks something: a tool, a GPU, a folder that
// can be written. Its message says what to do.
type EnvironmentError struct {
	Message string
	Output  string // what the tool that failed had printed; may be empty
	Err     error  // the cause; may be nil
}

// Error is the message alone; Output is for the caller to show.
func (e *EnvironmentError) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *EnvironmentError) Unwrap() error { return e.Err }
