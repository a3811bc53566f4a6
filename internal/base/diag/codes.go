package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Code is the stable name of a kind of error: "HG" and three digits. A number is never reused.
type Code string

// Errors of reading the file.
const (
	Unreadable   Code = "HG001"
	TooLarge     Code = "HG002"
	NotText      Code = "HG003"
	YAMLSyntax   Code = "HG004"
	AliasUsed    Code = "HG005"
	WrongType    Code = "HG006"
	DuplicateKey Code = "HG007"
	UnknownField Code = "HG008"
	MissingField Code = "HG009"
	WrongVersion Code = "HG010"
)

// Errors in names and parameters.
const (
	BadName       Code = "HG020"
	ReservedName  Code = "HG021"
	DuplicateName Code = "HG022"
	UnknownParam  Code = "HG023"
	BadParam      Code = "HG024"
)

// Errors in expressions and extents.
const (
	ExprSyntax      Code = "HG030"
	InexactDivision Code = "HG031"
	Overflow        Code = "HG032"
	ZeroDivisor     Code = "HG033"
	BadExtent       Code = "HG034"
)

// Errors in meshes.
const (
	UnknownMesh   Code = "HG040"
	BadMesh       Code = "HG041"
	WorldTooLarge Code = "HG042"
)

// Errors in axes and tensors.
const (
	AxisSyntax    Code = "HG050"
	DeviceExtent  Code = "HG051"
	AxisTwice     Code = "HG052"
	BadReduction  Code = "HG053"
	BadAxisCount  Code = "HG054"
	UnknownDType  Code = "HG055"
	UnusedTensor  Code = "HG056"
	UnknownTensor Code = "HG057"
	BadFill       Code = "HG058"
)

// Errors in operations, outputs and gradients.
const (
	OpSyntax            Code = "HG060"
	UnknownOp           Code = "HG061"
	UseBeforeDefinition Code = "HG062"
	Redefined           Code = "HG063"
	BadOperands         Code = "HG064"
	BadAttribute        Code = "HG065"
	ShapeMismatch       Code = "HG066"
	ResultMismatch      Code = "HG067"
	DTypeMismatch       Code = "HG068"
	BadOutput           Code = "HG069"
	NoGradient          Code = "HG070"
	AmbiguousSplit      Code = "HG071"
)

// Errors in the schedule.
const (
	BadChoice   Code = "HG080"
	BadStreams  Code = "HG081"
	BadSchedule Code = "HG082"
)

// Errors of lowering, and in the host IR.
const (
	NotLowerable     Code = "HG100"
	NoCommunication  Code = "HG101"
	NotContiguous    Code = "HG102"
	ShardingConflict Code = "HG103"
	TooLong          Code = "HG104"
	HostIRSyntax     Code = "HG110"
	HostIRInvalid    Code = "HG111"
)

// Explain returns the entry of docs/errors.md for a code as plain text: the title, the text and the failing example, if it
// has one. The code may be in lower case. The result is empty for a code that does not exist.
func Explain(code string) string {
	code = strings.ToUpper(strings.TrimSpace(code))
	i := slices.IndexFunc(entries, func(e Entry) bool { return string(e.Code) == code })
	if i < 0 {
		return ""
	}
	return entries[i].String()
}

// Entry documents a code.
type Entry struct {
	Code    Code
	Title   string // begins in lower case, no final stop
	Text    string // the meaning of the code, and what to do
	Example string // a spec or a host program that fails with this code; empty if there is no short one
}

// String prints the entry as plain text.
func (e Entry) String() string {
	s := fmt.Sprintf("%s: %s\n\n%s\n", e.Code, e.Title, e.Text)
	if e.Example != "" {
		s += "\nFor example:\n\n"
		for line := range strings.Lines(e.Example) {
			s += strings.TrimRight("    "+line, " ")
		}
	}
	return s
}

// Entries returns the entries of all codes, in ascending order.
func Entries() []Entry { return slices.Clone(entries) }

var entries = slices.Concat(fileEntries, nameEntries, exprEntries, tensorEntries, operationEntries, loweringEntries)
