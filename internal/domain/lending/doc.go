// Package lending holds the rules of lending the session to scripts: who a borrower is,
// which paths of the service pass and as what act, which headers pass, and how a
// refusal is told over HTTP. A borrower never holds a token; its calls take their
// place in the budgets, and its writes pass the gate like everybody's.
//
// Nothing of a borrower's request is forwarded as bytes: path and body are read here
// and made again by package api, so that no request can be hidden in another.
package lending
