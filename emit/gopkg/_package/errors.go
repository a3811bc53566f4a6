package program

import (
	"errors"
	"strconv"
)

// ErrClosed is what a program gives that was closed.
var ErrClosed = errors.New(name + ": the program is closed")

// An Error is a failure, as the library reports it.
type Error struct {
	Code   Code
	Report string // what failed: the rank, the line of the spec, who waits for what
}

// Error has the code and the report.
func (e *Error) Error() string { return name + ": " + e.Code.String() + ": " + e.Report }

// A Code says what kind of failure an Error is; the program over the library exits with the same numbers.
type Code int

// The codes.
const (
	CodeUsage       Code = 2 // a bad argument; nothing was done
	CodeEnvironment Code = 3 // launch variables, GPU, port: the machine is not as needed
	CodeDevice      Code = 4 // a call of CUDA, NCCL or cuBLAS failed
	CodePeer        Code = 5 // another rank died, stalled or runs another program
	CodeTimeout     Code = 6 // a wait exceeded Options.Timeout
	CodeInternal    Code = 7 // a mistake of hirgen
)

var codes = map[Code]string{
	CodeUsage: "usage", CodeEnvironment: "environment", CodeDevice: "device", CodePeer: "peer",
	CodeTimeout: "timeout", CodeInternal: "internal",
}

// String is the code in a word.
func (c Code) String() string {
	if word := codes[c]; word != "" {
		return word
	}
	return "code " + strconv.Itoa(int(c))
}
