// Package cost predicts how long a program of calls takes, without running it.
//
// A Machine describes one kind of GPU and its links. Predict unrolls a program for all ranks into calls,
// estimates the duration of each call, and simulates their streams. A call starts when the previous call on
// its stream and all calls that it waits for have ended. Calls that run at the same time share SMs, memory
// bandwidth and links. The prediction contains the start and the end of each call, the total time, and which
// part of each communication is hidden by which calls.
//
// Times are in microseconds, sizes in bytes, rates in gigabytes (1e9 bytes) or teraflops a second.
package cost
