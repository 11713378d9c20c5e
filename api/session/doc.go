// Package session keeps the one live token pair of a machine account for all processes and hosts that use it.
//
// The service allows one pair per account: every login and every refresh revokes the earlier pair (spec,
// Authentication rules 3 to 5). So the pair, the right to replace it (a lease with a fence) and the budgets are in
// one row of a shared Store. A rotation is recorded there before its request is sent, and after an unknown outcome
// the next step is a login, never the same refresh token again. Rule names (A1 … L3) are those of the session
// protocol.
package session
