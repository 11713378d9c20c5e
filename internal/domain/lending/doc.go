// Package lending has the rules for lending the session to scripts: who a borrower is, which calls of the service are
// allowed and as which act, which headers are passed on, and how a refusal is returned over HTTP. A borrower never
// gets a token; its calls count in the budgets, and its writes pass the gate like all others.
//
// No bytes of a borrower's request are forwarded: path and body are parsed here and rebuilt by package api, so that
// no request can be hidden in another.
package lending
