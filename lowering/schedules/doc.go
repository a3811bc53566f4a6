// Package schedules decides on the schedule of a program: it chooses what the spec leaves open, by measurements or
// by predictions, and holds what the spec says against the communications that there are.
package schedules
