// Package passes rewrites programs of calls. A rewritten program computes the same as before, and reads as if written
// by hand.
package passes

import (
	"github.com/hirgen/hirgen/calls"
)

// Pass rewrites a program in place without a change of its results.
type Pass struct {
	Name string
	Why  string
	Run  func(*calls.Program)
}

// Passes are the passes that lowering.Calls runs, in this order.
var Passes = []Pass{
	{"stay-on-caller", "where nothing could run beside a communication it stays on the caller's stream", stayOnCaller},
	{"batch-memory-operations", "adjacent statements that write flags, wait for flags or copy are one operation (signals: batched, " +
		"copy: fused)", batchMemoryOperations},
	{"exchange-in-kernel", "one kernel sends rows to the other ranks, and waits for their rows, which it may add", exchangeInKernels},
	{"scale-rows", "a GEMM of 8 bits scales the rows and the columns of its result where a kernel would do only that", scaleRows},
	{"join-copies", "one kernel makes small adjacent copies on one stream, such as the copies of a concat", joinCopies},
	{"run-beside", "in a CUDA graph, small GEMMs that do not need each other run at the same time, on several streams", runBeside},
	{"move-sync", "a record or a join that a loop would repeat stands outside of it", moveSync},
	{"share-records", "waits take an event that was recorded before where a later one says the same", shareRecords},
	{"drop-waits", "a wait that others imply goes, and records that nobody waits for", dropWaits},
	{"record-once", "a CUDA graph records an event once if only the last record in a loop is waited for", recordOnce},
	{"join-capture", "a CUDA graph joins the copy stream, too", joinCapture},
	{"fork-capture", "a CUDA graph forks the streams that do not wait before they do something", forkCapture},
	{"copy-unaligned", "a bias that lies where cuBLASLt may not read it is copied into aligned scratch memory", copyUnaligned},
	{"write-in-place", "a result that is computed element by element has the memory of an operand that nothing uses afterwards", writeInPlace},
	{"keep-slice", "a buffer whose slices are used one after the other is one slice", keepSlice},
	{"share-memory", "buffers that are used one after the other have the same memory", shareMemory},
	{"inline-pointers", "a pointer has a name where several statements use it", inlinePointers},
	{"drop-empty", "loops and branches that only named things go, and what the same ranks run is one block", dropEmpty},
	{"narrow-names", "a number that one branch alone uses has its name there", narrowNames},
	{"name-streams", "a stream has a name where several statements use it", nameStreams},
	{"count-calls", "one kernel counts the calls of the shares of a CUDA graph that begin together", countCalls},
	{"explain-starts", "comments say which transfers order the caller's stream and the compute streams", explainStarts},
	{"explain", "comments name the communication of a section, and the work that hides it", explain},
	{"explain-views", "a comment says what the strides of an operand are along", explainViews},
	{"drop-unused", "declarations that nothing names go", dropUnused},
	{"name-locals", "pointers into outputs have names of locals", nameLocals},
	{"say-lifetimes", "buffers in one memory say which statements use them first and last", sayLifetimes},
	{"declare-alignment", "plans are told of operands that begin at fewer bytes than their rows are aligned to", declareAlignment},
	{"pack-gemms", "operands of GEMMs whose rows are not aligned are copied to rows that are, where that is faster", packGemms},
	{"share-shapes", "GEMMs of one shape share its constant", shareShapes},
	{"plan-life", "what a program has is made before its first call, and freed after its last one", planLife},
}

// Order has the passes that a prediction needs: they merge operations, and move operations to other streams.
var Order = Passes[:6]

// planLife sets the steps of the host before the first call and after the last one.
func planLife(p *calls.Program) { p.Life = calls.LifeOf(p) }
