// Package simulate predicts a program for clusters that are not there: for a list of numbers of ranks the time of a call, what of
// it computes and what communicates alone, as a table, JSON and a page of curves.
//
// It says of every prediction whether the machine's figures were measured on as many ranks.
package simulate
