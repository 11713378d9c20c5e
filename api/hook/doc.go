// Package hook reads, checks and signs the service's webhooks (spec, Events).
//
// Decode turns the bytes of a delivery into an Envelope or says, typed, why
// they are none; nothing is guessed and nothing is lost, because the caller
// keeps the bytes in either case. Its Event is what an
// index of operations can use. A Verifier judges the raw bytes before anything
// reads them; a Signer makes deliveries that a Verifier accepts. Pairs and
// Meanings say what the numeric codes of operations mean, from evidence only.
//
// The spec leaves signing, retries and order open. So every event says how it
// was authenticated and whether its body was bound to that, and an unbound one
// is a hint to read the object again, not a fact.
package hook
