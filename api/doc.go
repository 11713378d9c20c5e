// Package api is the client of the payments and compliance service: its records (operation, document, customer, …) as
// Go types that lose nothing of the wire, the client, the Gate that every write passes, and errors whose kind says
// what can be done. It reports the outcome of a write only with proof: docs/outcomes.md, outcome.go.
//
// It imports no screen and no SQL. The session (one token pair for all processes) and the budgets (recommended rates,
// shared by all instances) are in the packages below it.
package api
