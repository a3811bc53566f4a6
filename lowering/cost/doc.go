// Package cost predicts how long a lowered host program takes, without running it.
//
// A Machine says what one GPU and its links can do. Predict unrolls a program for all ranks into
// calls, gives each call a duration of its own, and lets them run on their streams: a call starts
// when the calls before it on its stream, and those that it waits for, have ended; calls that run at
// the same time share SMs, memory bandwidth and links. What comes out says when each call starts and
// ends, how long the whole takes, and which part of each communication is hidden behind what.
//
// Times are in microseconds, sizes in bytes, rates in gigabytes (1e9 bytes) or teraflops a second.
package cost
