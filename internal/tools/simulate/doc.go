// Package simulate predicts the performance of a program on other clusters. For each number of ranks it predicts the
// time of a call, its computation and its exposed communication, as a table, JSON and a page of curves.
//
// It marks each prediction as measured, if the machine's figures were measured on at least as many ranks, or as not
// validated.
package simulate
