package program

import (
	"errors"
	"strconv"
)

// ErrClosed is the error of calls on a program that is closed.
var ErrClosed = errors.New(name + ": the program is closed")

// An Error is a failure that the library reports.
type Error struct {
	Code   Code
	Report string // what failed: the rank, the line of the spec, which rank waits for what
}

// Error prints the code and the report.
func (e *Error) Error() string { return name + ": " + e.Code.String() + ": " + e.Report }

// A Code is the kind of failure of an Error. The command-line program of the library exits with the same numbers.
type Code int

// The codes.
const (
	CodeUsage       Code = 2 // a bad argument; nothing was done
	CodeEnvironment Code = 3 // launch variables, the GPU or the port do not suit the program
	CodeDevice      Code = 4 // a call of CUDA, NCCL or cuBLAS failed
	CodePeer        Code = 5 // another rank died, stalled or runs another program
	CodeTimeout     Code = 6 // a wait exceeded Options.Timeout
	CodeInternal    Code = 7 // a bug of hirgen
)

var codes = map[Code]string{
	CodeUsage: "usage", CodeEnvironment: "environment", CodeDevice: "device", CodePeer: "peer",
	CodeTimeout: "timeout", CodeInternal: "internal",
}

// String returns the code as a word.
func (c Code) String() string {
	if word := codes[c]; word != "" {
		return word
	}
	return "code " + strconv.Itoa(int(c))
}
