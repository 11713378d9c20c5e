// Package history is the time machine of one operation: its states as they
// became known here, what changed from one to the next, and what differs between
// any two of them.
package history
