package mutate

import "github.com/hirgen/hirgen/lowering/calls"

// Kinds lists all kinds of mistakes.
var Kinds = []Kind{
	// Order of the streams of one rank.
	{"drop-event-wait", "a stream does not wait for an event", drop(is[*calls.StreamWait])},
	{"drop-event-record", "an event that is waited for is not recorded", drop(waitedFor)},
	{"missing-join", "at the end of a call, the caller's stream is not behind another one", drop(joins)},
	{"wait-before-record", "a stream waits for an event before it is recorded", inLists(waitBeforeRecord)},
	{"early-record", "an event is recorded before the work that it stands for", inLists(earlyRecord)},
	{"wrong-event-index", "a stream waits for another event of a set, or another one is recorded", eventIndex},
	{"wrong-stream", "a statement runs on another stream", otherStream},
	{"wrong-workspace", "a GEMM has the workspace of another stream", each(otherWorkspace)},
	// Order of ranks that share memory.
	{"drop-flag-write", "a flag that a peer waits for is not written", drop(is[*calls.FlagWrite])},
	{"drop-flag-wait", "a flag is written and not waited for", drop(is[*calls.FlagWait])},
	{"early-flag-write", "a flag is written before the work that it stands for", inLists(earlyFlagWrite)},
	{"late-flag-wait", "a flag is waited for after the work that needs it", inLists(lateFlagWait)},
	{"wrong-transfer", "a flag is that of another transfer", wrongTransfer},
	{"wrong-flag", "a flag is the done flag for the ready flag, or the other way round", wrongFlag},
	{"wrong-sequence-number", "one rank counts a call twice, so it waits for another number", inLists(countedTwice)},
	{"drop-begin-call", "a call is not counted, so waits are for the number before", drop(is[*calls.BeginCall])},
	// Collectives, sends and receives.
	{"swap-peers", "a rank exchanges with another peer", swapPeers},
	{"swap-collectives", "one rank issues two collectives in the other order", inLists(swapCollectives)},
	{"reverse-loop", "one rank goes through a loop of collectives from its end", inLists(reverseLoop)},
	{"drop-collective", "one rank leaves a collective out", inLists(dropCollective)},
	{"wrong-root", "a collective has another root", each(wrongRoot)},
	{"wrong-reduction", "a collective reduces with another function", each(wrongReduction)},
	{"wrong-count", "one rank counts one element less in a collective", inLists(wrongCount)},
	{"wrong-type", "one rank has another element type in a collective", inLists(wrongType)},
	{"wrong-collective", "a collective is one of another kind", each(wrongCollective)},
	{"ungroup", "sends and receives of a group are issued one by one", inLists(ungroup)},
	// Memory.
	{"alias-buffers", "two buffers have the same memory", aliasBuffers},
	{"free-early", "the memory of a buffer is given to another one while it is in use", freeEarly},
	{"wrong-place", "a buffer lies in the bytes of another one, in their memory", wrongPlace},
	{"shrink-buffer", "a buffer is an element too short", shrinkBuffer},
	{"wrong-buffer", "an operand is another buffer", wrongBuffer},
	{"wrong-offset", "an operand starts an element further on", wrongOffset},
	{"lost-offset", "an operand starts at the start of its memory", lostOffset},
	{"wrong-size", "an element too little is copied, computed or moved", wrongSize},
	{"wrong-leading-dimension", "rows or batches are an element further apart", wrongStride},
	{"wrong-alignment", "a plan is told of a larger alignment than its operand has", wrongAlignment},
	// Computations and their order.
	{"reorder-calls", "two statements change places", inLists(reorder)},
	{"drop-call", "a copy, GEMM, kernel or transfer is left out", drop(works)},
	{"duplicate-call", "a copy, GEMM, kernel or transfer is issued twice", inLists(duplicate)},
	{"wrong-beta", "a GEMM adds what was in its result, or does not add what it should", wrongBeta},
	{"transpose", "an operand of a GEMM is read transposed, or no longer is", transpose},
	{"swap-operands", "two operands change places", swapOperands},
	{"wrong-function", "a kernel computes another function", wrongFunction},
	{"wrong-branch", "a branch is taken where the other one should be", each(wrongBranch)},
	{"lost-iteration", "a loop lacks its first iteration, or its last one", each(lostIteration)},
	// Allocations before the calls, and frees after them.
	{"alloc-after-use", "memory, events or a stream are made behind the last call", inLife("behind the last call", behindCalls, calls.Allocate, calls.Make)},
	{"never-allocated", "memory, events or a stream are not made", inLife("left out", dropStep, calls.Allocate, calls.Make)},
	{"import-before-export", "a rank imports memory before its peer has exported it", inLife("before the export", beforeFirst(calls.Export), calls.Import)},
	{"drop-exchange", "ranks import memory without waiting for each other's handles", inLife("left out", dropStep, calls.Exchange)},
	{"free-in-use", "the host frees without waiting for the calls", inLife("behind all others", toEnd, calls.Finish)},
	{"free-before-close", "memory is freed while a peer has it open", freeBeforeClose},
	{"drop-close", "memory that a rank has imported is not closed", inLife("left out", dropStep, calls.Close)},
	{"drop-meeting", "ranks do not meet before they free", dropMeetings},
	{"double-free", "something is freed twice", inLife("twice", repeatStep, calls.Free, calls.Destroy)},
	{"never-freed", "something is not freed", inLife("left out", dropStep, calls.Free, calls.Destroy)},
}
