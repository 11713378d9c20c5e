// Package api knows the payments and compliance service: its things (operation,
// document, customer, …) as Go types that lose nothing of the wire, a client
// with one method a call, the Gate that every write passes, and errors whose
// kind says what can be done. What became of a write is told with proof only:
// docs/outcomes.md, outcome.go.
//
// It imports no screen and no SQL. The session (one token pair for everybody)
// and the budgets (recommended rates, shared by all instances) are in the
// packages below it.
package api
