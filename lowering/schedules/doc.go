// Package schedules decides the schedule of a program. It chooses unset fields by measurements or
// predictions, and checks the fields that the spec sets against the communications of the program. It also
// decides whether the program gets derived placements.
package schedules
