// Package history is the screen of one operation's history: its states in the order in which opdeck
// saw them, the changes from one to the next, and the differences between any two of
// them.
//
// Marks choose the two states that are compared. They do not copy or export, because states
// have no ids that another program could use; opdeck operation history prints the whole
// history, also as JSON and CSV.
package history
