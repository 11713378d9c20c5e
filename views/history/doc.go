// Package history is the time machine of one operation: its states as they
// became known here, what changed from one to the next, and what differs between
// any two of them.
//
// Marks choose the two states that are compared. They do not copy or export: states
// are lines of one operation's past and have no ids that another program could use,
// and the past as a whole is opdeck operation history, as JSON and CSV too.
package history
